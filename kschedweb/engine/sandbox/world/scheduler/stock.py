"""A kube-scheduler without the connection: it hears of changes, and returns what to write.

Its caller calls ``step`` at ``next_time``, carries out the writes in their order, and passes each answer to
``on_response``, which may return further writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kschedweb.engine.config import Configuration
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import (
    BindPod,
    Draw,
    EvictPod,
    FreeDevices,
    Intent,
    LiveLoop,
    NominateNode,
    PodRef,
    ReportPod,
)
from kschedweb.engine.sandbox.requests import ApiResponse, Request, Watch
from kschedweb.engine.sandbox.resources import POD, RESOURCES
from kschedweb.engine.sandbox.store import Store, StoreChange
from kschedweb.engine.sandbox.world.pods import is_pod_terminal
from kschedweb.engine.sandbox.world.resources import CLAIM
from kschedweb.engine.sandbox.world.scheduler import binding_preparations
from kschedweb.engine.sandbox.world.scheduler.binding_preparations import BindingPreparer
from kschedweb.engine.sandbox.world.scheduler.writes import (
    DISRUPTION_TARGET,
    NORMAL,
    SCHEDULED,
    WARNING,
    Write,
    binding_request,
    deletion_request,
    event_request,
    event_series_request,
    pod_status,
)

# Kinds that kube-scheduler does not watch.
NOT_READ = frozenset({
    "Event", "ConfigMap", "Endpoints", "Lease", "Job", "ResourceQuota", "HorizontalPodAutoscaler", "PriorityClass",
    "RuntimeClass", "Clock",
})  # fmt: skip
READ = tuple(resource for resource in RESOURCES if resource.kind not in NOT_READ)
# Seconds for which repetitions of an event are counted, as client-go's recorder does.
SERIES = 360.0


class StockScheduler:
    """Schedules the pods that name one of the profiles of ``configuration``.

    Times are seconds of the epoch that never go back. ``draw`` is as LiveLoop takes it.
    """

    def __init__(
        self, configuration: Configuration, *, extenders: Extenders | None = None, draw: Draw | None = None
    ) -> None:
        self._loop = LiveLoop(configuration, extenders=extenders, holds=frozenset(), draw=draw)
        self._preparing = BindingPreparer(self._on_prepared)
        # (uid, reason, note) -> (event, count, time of the last one)
        self._recent_events: dict[tuple[str, str, str], tuple[Json, int, float]] = {}
        self._writes: deque[Write] = deque()

    def load_store(self, store: Store, now: float) -> None:
        """Take in all objects of a store; ``on_change`` must hear of every later change."""
        for resource in READ:
            items = [raw for raw in store.all(resource) if resource is not POD or not is_pod_terminal(raw)]
            self._queue_intents(self._loop.replace_objects(resource.kind, items, now), now)

    def on_change(self, change: StoreChange, now: float) -> None:
        """Take in a changed object."""
        if change.resource not in READ:
            return
        raw = change.new
        if raw is None or (change.resource is POD and is_pod_terminal(raw)):
            self._queue_intents(self._loop.delete_object(change.resource.kind, change.last, now), now)
            if change.resource is POD:
                self._preparing.remove_pod(change.last["metadata"]["uid"])
        else:
            self._queue_intents(self._loop.apply_object(change.resource.kind, raw, now), now)
            if change.resource is CLAIM:
                self._writes += self._preparing.on_claim(raw, now)

    def step(self, now: float) -> list[Write]:
        """Do what is due, and try at most one pod; returns what to write."""
        self._writes += self._preparing.expire_bindings(now)
        self._queue_intents(self._loop.step(now), now)
        writes = list(self._writes)
        self._writes.clear()
        return writes

    def next_time(self, now: float) -> float | None:
        """Return when to call ``step`` next if nothing changes; ``None`` for only after a change."""
        if self._writes:
            return now
        times = (self._loop.next_time(now), self._preparing.next_deadline)
        return min((time for time in times if time is not None), default=None)

    def on_response(self, write: Write, answer: ApiResponse, now: float) -> list[Write]:
        """Return what to write after this answer."""
        return [] if write.then is None else write.then(answer, now)

    def run(self, call: Callable[[Request], ApiResponse | Watch], now: float) -> None:
        """Run one step, and carry it out by ``call``."""
        writes = deque(self.step(now))
        while writes:
            write = writes.popleft()
            answer = call(write.request)
            if isinstance(answer, ApiResponse):
                # Writes that follow an answer come before the others of the step.
                writes.extendleft(reversed(self.on_response(write, answer, now)))

    # Intents.

    def _queue_intents(self, intents: list[Intent], now: float) -> None:
        for intent in intents:
            self._writes += self._writes_for(intent, now)

    def _writes_for(self, intent: Intent, now: float) -> list[Write]:
        match intent:
            case BindPod():
                return (
                    self._preparing.begin_preparation(intent, now)
                    if intent.preparations
                    else self._bind_pod(intent, now)
                )
            case ReportPod():
                return self._report_failure(intent, now)
            case NominateNode():
                return _as_writes(pod_status(intent.pod, self._raw_pod(intent.pod), now, nominated=intent.node))
            case EvictPod():
                return self._evict_pod(intent, now)
            case FreeDevices():
                return binding_preparations.deallocate_claim(intent.pod, intent.claim)
        return []

    def _on_prepared(self, bind: BindPod, why: str, now: float) -> list[Write]:
        return self._on_bind_failed(bind, why, now) if why else self._bind_pod(bind, now)

    def _bind_pod(self, bind: BindPod, now: float) -> list[Write]:
        try:
            if bind.extender is not None and bind.extender():
                return self._on_bound(bind, now)
        except CycleError as error:
            return self._on_bind_failed(bind, str(error), now)

        def on_response(answer: ApiResponse, at: float) -> list[Write]:
            if answer.code < 300:
                return self._on_bound(bind, at)
            return self._on_bind_failed(bind, str(answer.body.get("message") or answer.code), at)

        return [Write(binding_request(bind.pod, bind.node), on_response)]

    def _on_bound(self, bind: BindPod, now: float) -> list[Write]:
        self._loop.on_bound(bind.pod.uid, now)
        note = f"Successfully assigned {bind.pod.key} to {bind.node}"
        return [self._write_event(bind.pod, bind.decision.profile, NORMAL, "Scheduled", "Binding", note, now)]

    def _on_bind_failed(self, bind: BindPod, why: str, now: float) -> list[Write]:
        intents = self._loop.bind_failed(bind.pod.uid, why, now)
        return [write for intent in intents for write in self._writes_for(intent, now)]

    def _report_failure(self, intent: ReportPod, now: float) -> list[Write]:
        pod = self._loop.find_pod(intent.pod.uid)
        by = "" if pod is None else pod.scheduler_name
        writes = [self._write_event(intent.pod, by, WARNING, "FailedScheduling", "Scheduling", intent.message, now)]
        if intent.reason and intent.status_changes:
            condition = (SCHEDULED, "False", intent.reason, intent.message)
            writes += _as_writes(pod_status(intent.pod, self._raw_pod(intent.pod), now, condition, intent.nominated))
        return writes

    def _evict_pod(self, intent: EvictPod, now: float) -> list[Write]:
        """Write the condition, the deletion and the event; the preemptor is tried again if the deletion fails."""
        message = f"{intent.scheduler}: preempting to accommodate a higher priority {intent.preemptor.kind}"
        condition = (DISRUPTION_TARGET, "True", "PreemptionByScheduler", message)

        def on_response(answer: ApiResponse, at: float) -> list[Write]:
            if answer.code >= 300:
                if answer.code != 404:
                    self._loop.activate_pod(intent.preemptor.uid, at)
                return []
            note = f"Preempted by {intent.preemptor.kind} {intent.preemptor.uid} on node {intent.node}"
            return [self._write_event(intent.pod, intent.scheduler, NORMAL, "Preempted", "Preempting", note, at)]

        marked = pod_status(intent.pod, self._raw_pod(intent.pod), now, condition)
        return [*_as_writes(marked), Write(deletion_request(intent.pod), on_response)]

    # Events.

    def _write_event(
        self, pod: PodRef, by: str, severity: str, reason: str, action: str, note: str, now: float
    ) -> Write:
        """Write an event, or that it was repeated."""
        # The events are forgotten in one go, when there are many, and only the old ones.
        if len(self._recent_events) > 4096:
            self._recent_events = {key: entry for key, entry in self._recent_events.items() if entry[2] > now - SERIES}
        same = (pod.uid, reason, note)
        recorded_event, count, last = self._recent_events.get(same, ({}, 0, 0.0))
        if recorded_event and last > now - SERIES:
            self._recent_events[same] = recorded_event, count + 1, now
            return Write(event_series_request(recorded_event, count + 1, now))
        regarding = {"kind": "Pod", "apiVersion": "v1", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        version = self._raw_pod(pod)["metadata"].get("resourceVersion")
        if version:
            regarding["resourceVersion"] = version
        request = event_request(regarding, severity, reason, action, note, now, by=by or "default-scheduler")
        self._recent_events[same] = request.body, 1, now
        return Write(request)

    def _raw_pod(self, pod: PodRef) -> Json:
        current_pod = self._loop.find_pod(pod.uid)
        return {"metadata": {}} if current_pod is None else current_pod.raw


def _as_writes(request: Request | None) -> list[Write]:
    return [] if request is None else [Write(request)]
