"""Write events (events.k8s.io) as kube-scheduler's recorder does: in the background, repeated ones as a series.

Like client-go's recorder, this one holds at most 1,000 events and drops further ones. It tries each one up to twelve
times, ten seconds apart, and drops those that the server refuses. It has its own rate limit, as kube-scheduler's.
"""

from __future__ import annotations

import queue
import random
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from kschedweb.clusters.connecting.client import STRATEGIC, Client, ClusterError
from kschedweb.clusters.following.facts import KnownPods, NamedObject, Preemptor
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import GroupRef
from kschedweb.live.schedulers.writing.limits import TokenBucket

log = structlog.get_logger(__name__)

# client-go's limits: events in the queue, tries, seconds between tries, and the jitter of these.
QUEUED = 1000
# SOON is ours: seconds until a series is tried again whose first event is still on its way.
TRIES, SLEEP, JITTER, SOON = 12, 10.0, 0.25, 0.1
# Seconds, client-go's finishTime and refreshTime: a series ends after the first, and is rewritten after the second.
FINISH_SECONDS, REFRESH_SECONDS = 6 * 60.0, 30 * 60.0
# Bytes that the API server accepts as a note.
LONGEST_NOTE = 1024
# Seconds.
ANSWER_SECONDS = 10.0
THREADS = 4
NORMAL, WARNING = "Normal", "Warning"
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", re.ASCII)
Key = tuple[str, ...]


def micro_time(at: float) -> str:
    """Return ``at`` (seconds of the epoch) as a MicroTime of Kubernetes."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def truncate_note(note: str) -> str:
    """Return ``note`` cut to the bytes that an event may hold, with kube-scheduler's mark of a cut."""
    data = note.encode()
    if len(data) <= LONGEST_NOTE:
        return note
    suffix = " ..."
    return data[: LONGEST_NOTE - len(suffix)].decode(errors="ignore") + suffix


def event_name(regarding: str, at: float) -> str:
    """Return client-go's name of an event: the object's name and the time in nanoseconds, else a random one."""
    name = f"{regarding}.{int(at * 1e9):x}"
    return name if len(name) <= 253 and NAME.fullmatch(name) else str(uuid.uuid4())


@dataclass
class _CachedEvent:
    """An event that was written or is being written."""

    body: Json
    # Seconds of the epoch, of the first and the last occurrence.
    at: float
    # Occurrences; 1 until it is repeated.
    count: int = 1
    last: float = 0.0


@dataclass(order=True)
class _Job:
    # Monotonic seconds; 0 for at once. Jobs are ordered by this, then by number.
    due: float
    number: int
    event: _CachedEvent = field(compare=False)
    series: bool = field(compare=False)
    tries: int = field(compare=False, default=0)


class EventRecorder:
    """Writes events in threads until ``close``. ``dropped`` counts the events that found the queue full."""

    def __init__(
        self,
        client: Client,
        pods: KnownPods,
        *,
        controller: str,
        limit: TokenBucket | None = None,
        clock: Callable[[], float] = time.time,
        threads: int = THREADS,
        sleep: float = SLEEP,
    ) -> None:
        self.dropped = self.failed = self.written = 0
        self._client, self._pods, self._limit, self._clock = client, pods, limit, clock
        self._sleep = sleep
        self._controller, self._instance = controller, f"{controller}-{socket.gethostname()}"
        self._jobs: queue.PriorityQueue[_Job] = queue.PriorityQueue()
        self._cache: dict[Key, _CachedEvent] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._number = 0
        self._tidied = self._refreshed = clock()
        self._threads = [
            threading.Thread(target=self._run, name=f"events-{index}", daemon=True) for index in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    # What kube-scheduler says, in its words.

    def record_scheduled(self, pod: NamedObject, node: str) -> None:
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self.record_pod_event(pod, NORMAL, "Scheduled", "Binding", note)

    def failed_scheduling(self, pod: NamedObject, message: str) -> None:
        self.record_pod_event(pod, WARNING, "FailedScheduling", "Scheduling", truncate_note(message))

    def record_preempted(
        self, victim: NamedObject, preemptor: Preemptor, node: str, *, in_memory: bool = False
    ) -> None:
        """Record a preemption. ``in_memory``: the victim waited at Permit and was put back, not deleted."""
        note = (
            f"Preempted by {preemptor.kind} {preemptor.uid} on node {node}" + in_memory * " (in kube-scheduler memory)."
        )
        # kube-scheduler's event names a preempting pod only in its note, but a preempting group as related object too.
        related = _group_reference(preemptor) if isinstance(preemptor, GroupRef) else None
        self.record_pod_event(victim, NORMAL, "Preempted", "Preempting", note, related)

    def record_pod_event(
        self, pod: NamedObject, severity: str, reason: str, action: str, note: str, related: Json | None = None
    ) -> None:
        """Queue an event about ``pod``; it is dropped if the queue is full."""
        now = self._clock()
        body: Json = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": event_name(pod.name, now), "namespace": pod.namespace},
            "eventTime": micro_time(now),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "type": severity,
            "reason": reason,
            "action": action,
            "note": note,
            "regarding": self._pod_reference(pod),
            **({"related": related} if related is not None else {}),
        }
        self._take_event(body, now)

    def _pod_reference(self, pod: NamedObject) -> Json:
        reference = {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        }
        version = self._pods.facts_of(pod.uid).resource_version
        return reference | {"resourceVersion": version} if version else reference

    def _take_event(self, body: Json, now: float) -> None:
        """Queue ``body``, or count it if it repeats an event about the same state of the same object."""
        key = _event_key(body)
        with self._lock:
            self._tidy_cache(now)
            cached = self._cache.get(key)
            if cached is not None:
                cached.count, cached.last = cached.count + 1, now
                # Only the second occurrence writes: it turns the event into a series. `_tidy_cache` writes later
                # counts.
                if cached.count == 2:
                    self._put_job(cached, series=True)
            elif self._jobs.qsize() >= QUEUED:
                self.dropped += 1
            else:
                self._cache[key] = cached = _CachedEvent(body, now)
                self._put_job(cached, series=False)

    def _put_job(self, event: _CachedEvent, *, series: bool, due: float = 0.0) -> None:
        self._number += 1
        self._jobs.put(_Job(due, self._number, event, series))

    def _tidy_cache(self, now: float) -> None:
        """Write the count of series that ended or go on for long, and forget single events, as `finishSeries` does."""
        if now - self._tidied < FINISH_SECONDS:
            return
        refresh = now - self._refreshed >= REFRESH_SECONDS
        self._tidied, self._refreshed = now, now if refresh else self._refreshed
        for key, event in list(self._cache.items()):
            ended = (event.last or event.at) < now - FINISH_SECONDS
            if event.count > 1 and (ended or refresh):
                self._put_job(event, series=True)
            if ended:
                del self._cache[key]

    # Writing.

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                job = self._jobs.get(timeout=0.5)
            except queue.Empty:
                continue
            try:
                self._run_job(job)
            finally:
                self._jobs.task_done()

    def _run_job(self, job: _Job) -> None:
        if job.due and (delay := job.due - time.monotonic()) > 0:
            # A due job sorts behind all new ones, so nothing else in the queue can be due before it.
            self._jobs.put(job)
            self._stop.wait(min(delay, 0.2))
        elif self._limit is None or self._limit.wait_turn(self._stop):
            try:
                self._write_event(job)
            except ClusterError:
                self._retry_later(job)

    def _write_event(self, job: _Job) -> None:
        event, path = job.event, events_path(job.event.body["metadata"]["namespace"])
        if job.series:
            series = {"count": event.count, "lastObservedTime": micro_time(event.last)}
            answer = self._client.send(
                "PATCH",
                f"{path}/{event.body['metadata']['name']}",
                {"series": series},
                content=STRATEGIC,
                seconds=ANSWER_SECONDS,
            )
            if answer.code == 404:
                answer = self._client.send("POST", path, event.body | {"series": series}, seconds=ANSWER_SECONDS)
        else:
            answer = self._client.send("POST", path, event.body, seconds=ANSWER_SECONDS)
        if answer.code < 300 or (answer.code == 409 and not job.series):
            # A single event that exists already comes from an earlier try whose answer was lost.
            self.written += 1
        elif answer.code == 409 or answer.code == 429 or answer.code >= 500:
            # The event itself was still on its way: the patch did not find it, and the creation did.
            self._retry_later(job, SOON if answer.code == 409 else answer.wait)
        else:
            self.failed += 1
            log.warning("event refused", code=answer.code, reason=event.body["reason"])

    def _retry_later(self, job: _Job, wait: float = 0.0) -> None:
        job.tries += 1
        if job.tries >= TRIES:
            self.failed += 1
            return
        job.due = time.monotonic() + (wait or self._sleep * (1 + JITTER * random.random()))  # noqa: S311
        self._jobs.put(job)

    @property
    def waiting(self) -> int:
        """Return how many events are still to be written."""
        return self._jobs.qsize()

    def close(self, seconds: float = 2.0) -> None:
        """Write the queued events for at most ``seconds``, then end the threads."""
        deadline = time.monotonic() + seconds
        while self._jobs.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.02)
        self._stop.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))


def _event_key(body: Json) -> Key:
    """Return the key by which events are equal: all fields but note and times, with the state of the object."""
    fields = (body["type"], body["action"], body["reason"], body["reportingController"], body["reportingInstance"])
    regarding = body["regarding"]
    return (*fields, regarding["uid"], regarding.get("resourceVersion", ""))


def _group_reference(group: GroupRef) -> Json:
    return {
        "kind": group.object_kind,
        "apiVersion": BY_NAME[group.object_kind].api_version,
        "namespace": group.namespace,
        "name": group.name,
        "uid": group.uid,
    }


def events_path(namespace: str) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


def election_event(lease: Json, identity: str, action: str, component: str, now: float) -> Json:
    """Return the event of a change of leadership, in the older API, as client-go's elector writes it about its lock."""
    metadata, at = lease["metadata"], datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name(metadata["name"], now), "namespace": metadata["namespace"]},
        "involvedObject": {
            "kind": lease["kind"],
            "apiVersion": lease["apiVersion"],
            **{name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion") if name in metadata},
        },
        "reason": "LeaderElection",
        "message": f"{identity} {action}",
        "source": {"component": component},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "type": NORMAL,
        "reportingComponent": component,
        "reportingInstance": "",
    }
