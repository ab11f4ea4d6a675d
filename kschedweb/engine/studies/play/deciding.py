"""Explains a try of a run: the cluster is restored to what the try saw, and every node is evaluated.

For the last try of a pod, the cluster is restored from the run's moves if they suffice (``rewind.knows``). For every
other try, the run is replayed up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.groupplacement import GroupPlacement
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.simulation import Observer
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.playing import Registry, begin, finish
from kschedweb.engine.studies.play.rewind import Heard, Rewind, Rewinds, knows, nobody
from kschedweb.engine.studies.prepare.prepared import Prepared
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.simulation.life import Life

LAST = -1
RANKS = 5  # best nodes that a decision lists


class NoSuchTryError(LookupError):
    """The pod was never tried, or not so often; the text says which."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Try ``attempt`` (from 1) of the ``attempts`` tries of ``pod`` in the run, at ``time`` (seconds).

    ``snapshot`` is the cluster as the try saw it, without the pod on a node; ``scheduler`` runs over it.
    ``explanation`` covers every node; ``placement`` is the result of the cycle, which may have sampled nodes. If the
    pod was tried with its group, ``group`` says what that came to, and the snapshot has the pods before it.
    """

    snapshot: Snapshot
    pod: Pod
    scheduler: Scheduler
    explanation: Explanation
    placement: Placement
    time: float
    attempt: int
    attempts: int
    group: GroupPlacement | None = None


def decide(
    prepared: Prepared,
    configuration: Configuration,
    pod: str,
    attempt: int = LAST,
    *,
    outcome: Outcome | None = None,
    attempts: int | None = None,
    rewinds: Rewinds | None = None,
    registry: Registry | None = None,
    heard: Heard = nobody,
) -> Decided:
    """Explain try ``attempt`` of the pod ``namespace/name``; -1 is the last.

    ``heard`` is told the virtual time (seconds) now and then on the way to the try, and may raise to end it.

    With ``outcome``, the last try is found without replaying the run. Without it, ``attempts``, the pod's number of
    tries, saves a run that counts them. ``rewinds`` of the run make further decisions faster. If several pods had the
    name, the last one is meant. Raises NoSuchTryError.
    """
    lives = 0
    row = -1 if outcome is None else outcome.index.get(pod, -1)
    if outcome is not None:
        attempts, lives = (int(outcome.attempts[row]), outcome.pods.count(pod)) if row >= 0 else (0, 0)
    elif attempts is None:
        counting = _Counting(pod, heard)
        finish(begin(prepared, configuration, counting, registry=registry), prepared)
        attempts, lives = counting.attempts, counting.lives
    if not attempts:
        raise NoSuchTryError(f"Pod {pod}: was never tried in this run")
    wanted = attempts if attempt == LAST else attempt
    if not 1 <= wanted <= attempts:
        raise NoSuchTryError(f"Pod {pod}: was tried {attempts} times in this run, there is no try {attempt}")
    if outcome is not None and wanted == attempts and knows(outcome, row):
        rewind = rewinds.before(row, heard) if rewinds else Rewind(prepared, configuration, outcome, registry=registry)
        reached = _ReachedError(rewind.to(row, heard), float(outcome.tries.time[row]), int(outcome.tries.start[row]))
        return _looked_at(rewind.scheduler, reached, wanted, attempts)
    until = _Until(pod, wanted, lives, heard)
    simulation = begin(prepared, configuration, until, registry=registry)
    try:
        finish(simulation, prepared)
    except _ReachedError as reached:
        return _looked_at(simulation.loop.scheduler, reached, wanted, attempts)
    raise NoSuchTryError(f"Pod {pod}: was not tried {wanted} times in this run")


def _looked_at(scheduler: Scheduler, reached: _ReachedError, attempt: int, attempts: int) -> Decided:
    group = None
    if reached.group is not None:
        request = SearchRequest(post_filter=True, ranks=RANKS)
        group = scheduler.explain_group(reached.group, reached.members, request)
        scheduler = scheduler.over(scheduler.snapshot.copy())
        scheduler.reserve_group(reached.members, group.before(reached.members, reached.pod.key))
    snapshot, pod = scheduler.snapshot, reached.pod
    explanation = scheduler.explain(pod, preemption=group is None, as_run=True)
    if group is None:
        placement = scheduler.find(pod, SearchRequest(post_filter=True, start=reached.start, ranks=RANKS))
    else:
        placement = next(one for one in group.placements if one.pod == pod.key)
    return Decided(snapshot, pod, scheduler, explanation, placement, reached.time, attempt, attempts, group)


class _ReachedError(Exception):
    """Ends a replay just before the try, whose search begins at the node at position ``start``.

    ``group`` is the one that is tried, with its ``members``, ``None`` where the pod is tried alone.
    """

    def __init__(
        self, pod: Pod, time: float, start: int, group: PodGroup | None = None, members: Sequence[Pod] = ()
    ) -> None:
        super().__init__(pod.key)
        self.pod, self.time, self.start, self.group, self.members = pod, time, start, group, members


class _Counting(Observer):
    def __init__(self, key: str, heard: Heard) -> None:
        self.key, self.lives, self.attempts, self._heard = key, 0, 0, heard

    def arrived(self, life: Life, now: float) -> None:
        if life.pod.key == self.key:
            self.lives, self.attempts = self.lives + 1, 0

    def tries(self, life: Life, attempt: int, start: int, now: float) -> None:
        self._heard(now)
        if life.pod.key == self.key:
            self.attempts = attempt


class _Until(_Counting):
    def __init__(self, key: str, attempt: int, life: int, heard: Heard) -> None:
        super().__init__(key, heard)
        self._attempt, self._life = attempt, life
        self._group: PodGroup | None = None
        self._members: Sequence[Pod] = ()

    def tries_group(self, group: PodGroup, pods: Sequence[Pod], now: float) -> None:
        self._group, self._members = group, pods

    def tries(self, life: Life, attempt: int, start: int, now: float) -> None:
        self._heard(now)
        if life.pod.key == self.key and attempt == self._attempt and self._life in (0, self.lives):
            group = self._group if any(pod.key == self.key for pod in self._members) else None
            raise _ReachedError(life.pod, now, start, group, self._members)
