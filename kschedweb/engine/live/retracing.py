"""What became of one pod, told again from what happened in its cluster: its tries, and what changed between them.

The live loop is given every change of the cluster, but of the pods that wait it sees this one alone: where the others
went, the changes say. So a try is made at each moment at which the queue would have made it: at once, and then when an
event may help by the hints of the plugins that said no, after the backoff, or after a long time without any event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.events import ClusterEvent
from kschedweb.engine.live.intents import Bind, Hold, Intent, Report, Wait
from kschedweb.engine.live.loop import LiveLoop
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue.pods import QueuedPod
from kschedweb.engine.values import dataclass

POD = "Pod"
MOST_TRIES, MOST_CHANGES = 200, 20  # that are told; of changes before each try
BY_ITSELF = frozenset({"BackoffComplete", "ScheduleAttemptFailure"})  # no reasons to try again


@dataclass(frozen=True, slots=True)
class Mattered:
    """A change of the object ``kind`` ``key`` of which ``plugins``, that had rejected the pod, say that it may help."""

    at: float
    event: str
    kind: str
    key: str
    plugins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """A try, and the changes since the one before that mattered: the first ones, of so many. The first one woke it.

    ``cause`` is the event that brought the pod to this try, as kube-scheduler names it.
    """

    at: float
    node: str
    message: str
    rejected_by: tuple[str, ...]
    evaluated: int
    feasible: int
    cause: str
    mattered: tuple[Mattered, ...] = ()
    mattered_count: int = 0


@dataclass
class Retrace:
    """The tries of the pod ``key`` under ``configuration``; times are seconds of the epoch.

    With ``given`` tries, oldest first, none is made: what mattered between them is told.
    """

    configuration: Configuration
    key: str
    given: Iterable[Tried] = ()
    tries: list[Tried] = field(default_factory=list)
    capped: bool = False  # whether there were more tries than are told

    def __post_init__(self) -> None:
        self._loop = LiveLoop(self.configuration)
        self._queue = self._loop._queue
        self._queue.listener = self._hear
        self._coming, self._gives = list(self.given)[::-1], bool(self.given)
        self._mattered: list[Mattered] = []
        self._count, self._now = 0, 0.0
        self._rejectors: frozenset[str] | None = None  # None: nothing to wait for yet, or no more
        self._subject = ("", "")
        self._seen = dict(self._loop.incoming)
        self._settled = False

    @property
    def pod(self) -> Pod | None:
        """The pod as it is now."""
        return self._loop._pods.get(self.key)

    @property
    def group(self) -> str:
        """The group that this pod is placed with; such a pod is not tried alone."""
        return self.pod.scheduling_group if self.pod is not None and self.configuration.release.groups else ""

    def begin(self, objects: Iterable[Json], now: float) -> None:
        """The cluster as it is at ``now``."""
        self._now = now
        kinds: dict[str, list[Json]] = {}
        for raw in objects:
            if (seen := self._as_seen(str(raw.get("kind")), raw)) is not None:
                kinds.setdefault(str(raw["kind"]), []).append(seen)
        for kind, items in kinds.items():
            self._loop.replace(kind, items, now)
        self._try(now)

    def change(self, kind: str, key: str, old: Json | None, new: Json | None, at: float) -> None:
        """An object came (``old`` is ``None``), changed, or is gone (``new`` is ``None``)."""
        self.pass_time(at)
        self._now, self._subject = at, (kind, key)
        if new is None:
            self._loop.delete(kind, old or {}, at)
        elif (seen := self._as_seen(kind, new)) is not None:
            self._loop.apply(kind, seen, at)
        self._try(at)

    def pass_time(self, until: float) -> None:
        """Make the tries that are due by time alone."""
        if self._gives:
            self._take_given(until)
            return
        while not self._over and (due := self._loop.next_time(self._now)) is not None and due <= until:
            self._now = max(due, self._now)
            self._step(self._now)

    @property
    def _over(self) -> bool:
        return self._settled or self.capped or bool(self.group)

    def _as_seen(self, kind: str, raw: Json) -> Json | None:
        """The object as the loop is to see it: no other pods that wait, and this one under one of its profiles."""
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

    def _try(self, now: float) -> None:
        if self._gives:
            self._take_given(now)
        while not self._gives and not self._over and self._loop.ready:
            self._step(now)

    def _take_given(self, until: float) -> None:
        while self._coming and self._coming[-1].at <= until:
            tried = self._coming.pop()
            self._add(tried, frozenset() if tried.node else frozenset(tried.rejected_by))

    def _step(self, now: float) -> None:
        cause = self._cause()
        for intent in self._loop.step(now):
            if (decision := _decision(intent)) is not None:
                cause = cause or self._cause()
                self._add(_tried(decision, cause), frozenset(decision.rejected_by))
        self._cause()

    def _cause(self) -> str:
        """The last event that moved the pod since this was last asked."""
        incoming = dict(self._loop.incoming)
        moved = [event for (part, event), count in incoming.items() if count > self._seen.get((part, event), 0)]
        self._seen = incoming
        return next((event for event in moved if event not in BY_ITSELF), "")

    def _add(self, tried: Tried, rejectors: frozenset[str]) -> None:
        if len(self.tries) >= MOST_TRIES:
            self.capped = True
            return
        told = replace(tried, mattered=tuple(self._mattered), mattered_count=self._count)
        if self._mattered and not told.cause:
            told = replace(told, cause=self._mattered[0].event)
        self.tries.append(told)
        self._mattered, self._count, self._rejectors = [], 0, None if tried.node else rejectors

    def _hear(self, event: ClusterEvent, old: Any, new: Any) -> None:
        pod = self.pod
        if self._rejectors is None or pod is None or event.wildcard:
            return
        waiting = QueuedPod(pod, 0.0, rejected_by=self._rejectors)
        if (plugins := self._queue.helpers(waiting, event, old, new)) is not None:
            self._count += 1
            if self._count <= MOST_CHANGES:
                self._mattered.append(Mattered(self._now, event.name, *self._subject, tuple(plugins)))

    @property
    def left(self) -> tuple[tuple[Mattered, ...], int]:
        """What mattered since the last try: the first ones, of so many."""
        return tuple(self._mattered), self._count


def _decision(intent: Intent) -> Decision | None:
    return intent.decision if isinstance(intent, Bind | Hold | Wait | Report) else None


def _tried(decision: Decision, cause: str) -> Tried:
    return Tried(
        decision.time,
        decision.node,
        decision.message,
        decision.rejected_by,
        decision.evaluated,
        decision.feasible,
        cause,
    )
