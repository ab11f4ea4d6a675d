"""Explain a try of a run: restore the cluster as the try saw it, and evaluate every node.

For the last try of a pod, the cluster is restored from the run's moves if they suffice (``rewind.can_rewind``). For
every other try, the run is replayed up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.simulation import Observer
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.rewind import Rewind, RewindProgress, Rewinds, can_rewind, ignore_progress
from kschedweb.engine.studies.play.simulation import Registry, finish_simulation, start_simulation
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.simulation.pod_life import PodLife

# Number that stands for a pod's last try.
LAST = -1
# Best nodes that a decision lists.
RANKS = 5


class NoSuchTryError(LookupError):
    """The pod was never tried, or fewer times than asked for; the message says which."""


@dataclass(frozen=True, slots=True)
class ExplainedTry:
    """A try of a pod in a run, evaluated on every node."""

    # The cluster as the try saw it, without the pod on a node. If the pod was tried with its group, the members before
    # it are on their nodes.
    snapshot: Snapshot
    pod: Pod
    # A scheduler over `snapshot`.
    scheduler: Scheduler
    # Covers every node.
    explanation: Explanation
    # The result of the cycle, which may have sampled nodes.
    placement: Placement
    # Seconds from the beginning of the run.
    time: float
    # Number of the try, from 1.
    attempt: int
    # Number of all tries of the pod in the run.
    attempts: int
    # The result of the group's cycle; None if the pod was tried alone.
    group: GroupPlacement | None = None


def explain_try(
    prepared: PreparedScenario,
    configuration: Configuration,
    pod: str,
    attempt: int = LAST,
    *,
    outcome: RunOutcome | None = None,
    attempts: int | None = None,
    rewinds: Rewinds | None = None,
    registry: Registry | None = None,
    progress: RewindProgress = ignore_progress,
) -> ExplainedTry:
    """Explain try ``attempt`` of the pod ``namespace/name``; -1 is the last.

    ``progress`` gets the virtual time (seconds) now and then on the way to the try, and may raise to end it.

    With ``outcome``, the last try is found without a replay of the run. Without it, ``attempts``, the pod's number of
    tries, saves a run that counts them. ``rewinds`` of the run make further decisions faster. If several pods had the
    name, the last one counts. Raise NoSuchTryError.
    """
    lives = 0
    row = -1 if outcome is None else outcome.index.get(pod, -1)
    if outcome is not None:
        attempts, lives = (int(outcome.attempts[row]), outcome.pods.count(pod)) if row >= 0 else (0, 0)
    elif attempts is None:
        counting = _TryCounter(pod, progress)
        finish_simulation(start_simulation(prepared, configuration, counting, registry=registry), prepared)
        attempts, lives = counting.attempts, counting.lives
    if not attempts:
        raise NoSuchTryError(f"Pod {pod}: was never tried in this run")
    try_number = attempts if attempt == LAST else attempt
    if not 1 <= try_number <= attempts:
        raise NoSuchTryError(f"Pod {pod}: was tried {attempts} times in this run, there is no try {attempt}")
    if outcome is not None and try_number == attempts and can_rewind(outcome, row):
        rewind = (
            rewinds.rewind_before(row, progress)
            if rewinds
            else Rewind(prepared, configuration, outcome, registry=registry)
        )
        reached = _ReachedError(
            rewind.go_to_try(row, progress), float(outcome.tries.time[row]), int(outcome.tries.start[row])
        )
        return _explain_reached(rewind.scheduler, reached, try_number, attempts)
    observer = _StopAtTry(pod, try_number, lives, progress)
    simulation = start_simulation(prepared, configuration, observer, registry=registry)
    try:
        finish_simulation(simulation, prepared)
    except _ReachedError as reached:
        return _explain_reached(simulation.loop.scheduler, reached, try_number, attempts)
    raise NoSuchTryError(f"Pod {pod}: was not tried {try_number} times in this run")


def _explain_reached(scheduler: Scheduler, reached: _ReachedError, attempt: int, attempts: int) -> ExplainedTry:
    group = None
    if reached.group is not None:
        request = SearchRequest(post_filter=True, ranks=RANKS)
        group = scheduler.explain_group(reached.group, reached.members, request)
        # Members before the pod are placed on a copy, since the group's cycle does not keep them.
        scheduler = scheduler.with_snapshot(scheduler.snapshot.copy())
        scheduler.reserve_group(reached.members, group.assignments_before(reached.members, reached.pod.key))
    snapshot, pod = scheduler.snapshot, reached.pod
    explanation = scheduler.explain(pod, preemption=group is None, as_scheduled=True)
    if group is None:
        placement = scheduler.find(pod, SearchRequest(post_filter=True, start=reached.start, ranks=RANKS))
    else:
        placement = next(member_placement for member_placement in group.placements if member_placement.pod == pod.key)
    return ExplainedTry(snapshot, pod, scheduler, explanation, placement, reached.time, attempt, attempts, group)


class _ReachedError(Exception):
    """End a replay just before the try, whose search begins at the node at position ``start``.

    ``group`` is the group that is tried, with its ``members``; ``None`` if the pod is tried alone.
    """

    def __init__(
        self, pod: Pod, time: float, start: int, group: PodGroup | None = None, members: Sequence[Pod] = ()
    ) -> None:
        super().__init__(pod.key)
        self.pod, self.time, self.start, self.group, self.members = pod, time, start, group, members


class _TryCounter(Observer):
    """Count the lives of a name, and the tries of the last of them."""

    def __init__(self, key: str, progress: RewindProgress) -> None:
        self.key, self.lives, self.attempts, self._progress = key, 0, 0, progress

    def arrived(self, life: PodLife, now: float) -> None:
        if life.pod.key == self.key:
            self.lives, self.attempts = self.lives + 1, 0

    def tries(self, life: PodLife, attempt: int, start: int, now: float) -> None:
        self._progress(now)
        if life.pod.key == self.key:
            self.attempts = attempt


class _StopAtTry(_TryCounter):
    """Raise ``_ReachedError`` at a try of a life of the pod; life 0 stands for any."""

    def __init__(self, key: str, attempt: int, life: int, progress: RewindProgress) -> None:
        super().__init__(key, progress)
        self._attempt, self._life = attempt, life
        self._group: PodGroup | None = None
        self._members: Sequence[Pod] = ()

    def tries_group(self, group: PodGroup, pods: Sequence[Pod], now: float) -> None:
        self._group, self._members = group, pods

    def tries(self, life: PodLife, attempt: int, start: int, now: float) -> None:
        self._progress(now)
        if life.pod.key == self.key and attempt == self._attempt and self._life in (0, self.lives):
            group = self._group if any(pod.key == self.key for pod in self._members) else None
            raise _ReachedError(life.pod, now, start, group, self._members)
