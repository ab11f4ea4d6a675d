"""Retrace the tries of one pod from the history of its cluster, and the changes that mattered between them.

The live loop is given every change of the cluster, but of the waiting pods it sees this one alone, since the changes
tell where the others went. A try is made at each moment at which the queue would have made it: at once, and then when
an event may help by the hints of the plugins that rejected the pod, after the backoff, or after a long time without any
event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.events import ClusterEvent
from kschedweb.engine.json_types import Json
from kschedweb.engine.live.intents import BindPod, HoldPod, Intent, ReportPod, WaitAtPermit
from kschedweb.engine.live.loop import LiveLoop
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue.queued_pods import QueuedPod
from kschedweb.engine.values import dataclass

POD = "Pod"
# Limits of an answer: tries in all, and changes before each try.
MOST_TRIES, MOST_CHANGES = 200, 20
# Causes that are no reason of their own to try the pod again.
BY_ITSELF = frozenset({"BackoffComplete", "PopFromBackoffQ", "ScheduleAttemptFailure"})


@dataclass(frozen=True, slots=True)
class RelevantChange:
    """A change of an object that may help the pod, by the hints of ``plugins``, which had rejected it."""

    # Seconds of the epoch.
    at: float
    event: str
    kind: str
    # ``namespace/name`` of the object.
    key: str
    plugins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetracedTry:
    """A try of the pod, with the changes that mattered since the one before."""

    # Seconds of the epoch.
    at: float
    node: str
    message: str
    rejected_by: tuple[str, ...]
    # Number of nodes that were filtered.
    evaluated: int
    # Number of nodes that passed every filter.
    feasible: int
    # The event that brought the pod to this try, as kube-scheduler names it.
    cause: str
    # The first ``MOST_CHANGES`` of them; the first one woke the pod.
    mattered: tuple[RelevantChange, ...] = ()
    # Number of all changes that mattered.
    mattered_count: int = 0


@dataclass
class Retrace:
    """The tries of the pod ``key`` under ``configuration``; times are seconds of the epoch."""

    configuration: Configuration
    key: str
    # Tries that are known, oldest first: with any, no try is made, and only the changes between them are found.
    recorded_tries: Iterable[RetracedTry] = ()
    tries: list[RetracedTry] = field(default_factory=list)
    # True if there were more tries than ``MOST_TRIES``.
    capped: bool = False

    def __post_init__(self) -> None:
        self._loop = LiveLoop(self.configuration)
        self._queue = self._loop._queue
        self._queue.listener = self._on_event
        # Reversed, so that the oldest try can be popped from the end.
        self._coming, self._gives = list(self.recorded_tries)[::-1], bool(self.recorded_tries)
        self._mattered: list[RelevantChange] = []
        self._count, self._now = 0, 0.0
        # The plugins that rejected the last try; ``None`` while the pod waits for nothing.
        self._rejectors: frozenset[str] | None = None
        # Kind and key of the object that is changing.
        self._subject = ("", "")
        self._seen = dict(self._loop.incoming)
        self._settled = False

    @property
    def pod(self) -> Pod | None:
        """The pod as it is now; ``None`` if it is unknown."""
        return self._loop._pods.get(self.key)

    @property
    def group(self) -> str:
        """The group that the pod is placed with, "" for none; such a pod is not tried alone."""
        return (
            self.pod.scheduling_group
            if self.pod is not None and self.configuration.release.has_group_scheduling
            else ""
        )

    def start_at(self, objects: Iterable[Json], now: float) -> None:
        """Take in the cluster as it is at ``now``."""
        self._now = now
        kinds: dict[str, list[Json]] = {}
        for raw in objects:
            if (visible := self._make_visible(str(raw.get("kind")), raw)) is not None:
                kinds.setdefault(str(raw["kind"]), []).append(visible)
        for kind, items in kinds.items():
            self._loop.replace_objects(kind, items, now)
        self._try_pod(now)

    def apply_change(self, kind: str, key: str, old: Json | None, new: Json | None, at: float) -> None:
        """Take in that an object was created (``old`` is ``None``), changed, or deleted (``new`` is ``None``)."""
        # Tries that are due before the change must not see it.
        self.pass_time(at)
        self._now, self._subject = at, (kind, key)
        if new is None:
            self._loop.delete_object(kind, old or {}, at)
        elif (visible := self._make_visible(kind, new)) is not None:
            self._loop.apply_object(kind, visible, at)
        self._try_pod(at)

    def pass_time(self, end_time: float) -> None:
        """Make the tries that are due by ``end_time`` by time alone."""
        if self._gives:
            self._replay_tries(end_time)
            return
        while not self._is_over and (due := self._loop.next_time(self._now)) is not None and due <= end_time:
            self._now = max(due, self._now)
            self._run_step(self._now)

    @property
    def _is_over(self) -> bool:
        return self._settled or self.capped or bool(self.group)

    def _make_visible(self, kind: str, raw: Json) -> Json | None:
        """Return the object as the loop is to see it; ``None`` for another pod that waits.

        The pod itself gets the scheduler name of a profile of the configuration.
        """
        if kind != POD:
            return raw
        spec, metadata = raw.get("spec") or {}, raw.get("metadata") or {}
        if f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}" != self.key:
            return raw if spec.get("nodeName") else None
        self._settled = bool(spec.get("nodeName"))
        if self._settled:
            self._rejectors = None
        names = self._loop._scheduler.frameworks
        if spec.get("schedulerName") in names:
            return raw
        return {**raw, "spec": {**spec, "schedulerName": next(iter(names))}}

    def _try_pod(self, now: float) -> None:
        if self._gives:
            self._replay_tries(now)
        while not self._gives and not self._is_over and self._loop.is_ready:
            self._run_step(now)

    def _replay_tries(self, end_time: float) -> None:
        while self._coming and self._coming[-1].at <= end_time:
            recorded_try = self._coming.pop()
            self._add_try(recorded_try, frozenset() if recorded_try.node else frozenset(recorded_try.rejected_by))

    def _run_step(self, now: float) -> None:
        cause = self._take_cause()
        for intent in self._loop.step(now):
            if (decision := _intent_decision(intent)) is not None:
                # A wake-up by time happens inside of ``step``, after the first look.
                cause = cause or self._take_cause()
                self._add_try(_make_try(decision, cause), frozenset(decision.rejected_by))
        self._take_cause()

    def _take_cause(self) -> str:
        """Return the last event that moved the pod since the last call."""
        incoming = dict(self._loop.incoming)
        moved = [event for (part, event), count in incoming.items() if count > self._seen.get((part, event), 0)]
        self._seen = incoming
        return next((event for event in moved if event not in BY_ITSELF), "")

    def _add_try(self, retraced: RetracedTry, rejectors: frozenset[str]) -> None:
        if len(self.tries) >= MOST_TRIES:
            self.capped = True
            return
        full_try = replace(retraced, mattered=tuple(self._mattered), mattered_count=self._count)
        if self._mattered and not full_try.cause:
            full_try = replace(full_try, cause=self._mattered[0].event)
        self.tries.append(full_try)
        self._mattered, self._count, self._rejectors = [], 0, None if retraced.node else rejectors

    def _on_event(self, event: ClusterEvent, old: Any, new: Any) -> None:
        pod = self.pod
        if self._rejectors is None or pod is None or event.is_wildcard:
            return
        waiting = QueuedPod(pod, 0.0, rejected_by=self._rejectors)
        if (plugins := self._queue.helping_plugins(waiting, event, old, new)) is not None:
            self._count += 1
            if self._count <= MOST_CHANGES:
                self._mattered.append(RelevantChange(self._now, event.name, *self._subject, tuple(plugins)))

    @property
    def last_changes(self) -> tuple[tuple[RelevantChange, ...], int]:
        """The first changes that mattered since the last try, and the number of all."""
        return tuple(self._mattered), self._count


def _intent_decision(intent: Intent) -> Decision | None:
    return intent.decision if isinstance(intent, BindPod | HoldPod | WaitAtPermit | ReportPod) else None


def _make_try(decision: Decision, cause: str) -> RetracedTry:
    return RetracedTry(
        decision.time,
        decision.node,
        decision.message,
        decision.rejected_by,
        decision.evaluated,
        decision.feasible,
        cause,
    )
