"""A kube-scheduler without the connection: it hears of changes, and says what is to be written.

Whoever runs it calls ``step`` when ``next_time`` says, carries out each Write in its order, and passes each answer to
``answered``, which may say what is to be written next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kschedweb.engine.config import Configuration
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.live import Bind, Draw, Evict, Free, Intent, LiveLoop, Nominate, PodRef, Report
from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.requests import Answer, Request, Watch
from kschedweb.engine.sandbox.resources import POD, RESOURCES
from kschedweb.engine.sandbox.store import Change, Store
from kschedweb.engine.sandbox.world.pods import ended
from kschedweb.engine.sandbox.world.resources import CLAIM
from kschedweb.engine.sandbox.world.scheduler import preparing
from kschedweb.engine.sandbox.world.scheduler.preparing import Preparing
from kschedweb.engine.sandbox.world.scheduler.writes import (
    DISRUPTION_TARGET,
    NORMAL,
    SCHEDULED,
    WARNING,
    Write,
    binding,
    deletion,
    event,
    pod_status,
    repeated,
)

NOT_READ = frozenset({
    "Event", "ConfigMap", "Endpoints", "Lease", "Job", "ResourceQuota", "HorizontalPodAutoscaler", "PriorityClass",
    "RuntimeClass", "Clock",
})  # fmt: skip
READ = tuple(one for one in RESOURCES if one.kind not in NOT_READ)
SERIES = 360.0  # seconds for which an event that is repeated is counted


class StockScheduler:
    """Schedules the pods that name one of the profiles of ``configuration``.

    Times are seconds of the epoch that never go back. ``draw`` is as LiveLoop takes it.
    """

    def __init__(
        self, configuration: Configuration, *, extenders: Extenders | None = None, draw: Draw | None = None
    ) -> None:
        self._loop = LiveLoop(configuration, extenders=extenders, holds=frozenset(), draw=draw)
        self._preparing = Preparing(self._prepared)
        self._said: dict[tuple[str, str, str], tuple[Json, int, float]] = {}
        self._writes: deque[Write] = deque()

    def load(self, store: Store, now: float) -> None:
        """Take in all that is there; hear of every later change."""
        for resource in READ:
            items = [raw for raw in store.all(resource) if resource is not POD or not ended(raw)]
            self._take(self._loop.replace(resource.kind, items, now), now)

    def hear(self, change: Change, now: float) -> None:
        """An object changed."""
        if change.resource not in READ:
            return
        raw = change.new
        if raw is None or (change.resource is POD and ended(raw)):
            self._take(self._loop.delete(change.resource.kind, change.last, now), now)
            if change.resource is POD:
                self._preparing.gone(change.last["metadata"]["uid"])
        else:
            self._take(self._loop.apply(change.resource.kind, raw, now), now)
            if change.resource is CLAIM:
                self._writes += self._preparing.heard(raw, now)

    def step(self, now: float) -> list[Write]:
        """Do what is due, and try at most one pod."""
        self._writes += self._preparing.time_out(now)
        self._take(self._loop.step(now), now)
        found = list(self._writes)
        self._writes.clear()
        return found

    def next_time(self, now: float) -> float | None:
        """When to call ``step`` next if nothing changes; ``None``: only after a change."""
        if self._writes:
            return now
        times = (self._loop.next_time(now), self._preparing.next_deadline)
        return min((time for time in times if time is not None), default=None)

    def answered(self, write: Write, answer: Answer, now: float) -> list[Write]:
        """What is to be written after this answer."""
        return [] if write.then is None else write.then(answer, now)

    def run(self, call: Callable[[Request], Answer | Watch], now: float) -> None:
        """One step, carried out by ``call``."""
        writes = deque(self.step(now))
        while writes:
            write = writes.popleft()
            answer = call(write.request)
            if isinstance(answer, Answer):
                writes.extendleft(reversed(self.answered(write, answer, now)))

    # Intents.

    def _take(self, intents: list[Intent], now: float) -> None:
        for intent in intents:
            self._writes += self._written(intent, now)

    def _written(self, intent: Intent, now: float) -> list[Write]:
        match intent:
            case Bind():
                return self._preparing.begin(intent, now) if intent.preparations else self._bind(intent, now)
            case Report():
                return self._report(intent, now)
            case Nominate():
                return _listed(pod_status(intent.pod, self._raw(intent.pod), now, nominated=intent.node))
            case Evict():
                return self._evict(intent, now)
            case Free():
                return preparing.free(intent.pod, intent.claim)
        return []

    def _prepared(self, bind: Bind, why: str, now: float) -> list[Write]:
        return self._failed(bind, why, now) if why else self._bind(bind, now)

    def _bind(self, bind: Bind, now: float) -> list[Write]:
        try:
            if bind.extender is not None and bind.extender():
                return self._bound(bind, now)
        except CycleError as error:
            return self._failed(bind, str(error), now)

        def answered(answer: Answer, at: float) -> list[Write]:
            if answer.code < 300:
                return self._bound(bind, at)
            return self._failed(bind, str(answer.body.get("message") or answer.code), at)

        return [Write(binding(bind.pod, bind.node), answered)]

    def _bound(self, bind: Bind, now: float) -> list[Write]:
        self._loop.bound(bind.pod.uid, now)
        note = f"Successfully assigned {bind.pod.key} to {bind.node}"
        return [self._event(bind.pod, bind.decision.profile, NORMAL, "Scheduled", "Binding", note, now)]

    def _failed(self, bind: Bind, why: str, now: float) -> list[Write]:
        found = self._loop.bind_failed(bind.pod.uid, why, now)
        return [write for intent in found for write in self._written(intent, now)]

    def _report(self, intent: Report, now: float) -> list[Write]:
        pod = self._loop.pod(intent.pod.uid)
        by = "" if pod is None else pod.scheduler_name
        writes = [self._event(intent.pod, by, WARNING, "FailedScheduling", "Scheduling", intent.message, now)]
        if intent.reason and intent.status_changes:
            condition = (SCHEDULED, "False", intent.reason, intent.message)
            writes += _listed(pod_status(intent.pod, self._raw(intent.pod), now, condition, intent.nominated))
        return writes

    def _evict(self, intent: Evict, now: float) -> list[Write]:
        """The condition, then the deletion, then the event; the preemptor is tried again where that fails."""
        message = f"{intent.scheduler}: preempting to accommodate a higher priority {intent.preemptor.kind}"
        condition = (DISRUPTION_TARGET, "True", "PreemptionByScheduler", message)

        def answered(answer: Answer, at: float) -> list[Write]:
            if answer.code >= 300:
                if answer.code != 404:
                    self._loop.activate(intent.preemptor.uid, at)
                return []
            note = f"Preempted by {intent.preemptor.kind} {intent.preemptor.uid} on node {intent.node}"
            return [self._event(intent.pod, intent.scheduler, NORMAL, "Preempted", "Preempting", note, at)]

        marked = pod_status(intent.pod, self._raw(intent.pod), now, condition)
        return [*_listed(marked), Write(deletion(intent.pod), answered)]

    # Events.

    def _event(self, pod: PodRef, by: str, severity: str, reason: str, action: str, note: str, now: float) -> Write:
        """An event, or that one is repeated."""
        if len(self._said) > 4096:
            self._said = {key: known for key, known in self._said.items() if known[2] > now - SERIES}
        same = (pod.uid, reason, note)
        known, count, last = self._said.get(same, ({}, 0, 0.0))
        if known and last > now - SERIES:
            self._said[same] = known, count + 1, now
            return Write(repeated(known, count + 1, now))
        about = {"kind": "Pod", "apiVersion": "v1", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        version = self._raw(pod)["metadata"].get("resourceVersion")
        request = event(about | ({"resourceVersion": version} if version else {}), severity, reason, action, note, now,
                        by=by or "default-scheduler")  # fmt: skip
        self._said[same] = request.body, 1, now
        return Write(request)

    def _raw(self, pod: PodRef) -> Json:
        found = self._loop.pod(pod.uid)
        return {"metadata": {}} if found is None else found.raw


def _listed(request: Request | None) -> list[Write]:
    return [] if request is None else [Write(request)]
