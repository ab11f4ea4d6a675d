"""Restore the cluster that a try of a run saw from the run's moves, without repeating other tries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers.admission import admit_pod
from kschedweb.engine.controllers.claims import create_claims
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import Observer, PodArrives
from kschedweb.engine.simulation.metering import Metering
from kschedweb.engine.simulation.pods import mark_terminating, with_start_time
from kschedweb.engine.simulation.use import InstantUse
from kschedweb.engine.studies.play.outcome import Deletions, Measures, MoveKind, RunOutcome
from kschedweb.engine.studies.play.simulation import Registry, start_simulation
from kschedweb.engine.studies.prepare.prepared import PreparedScenario

# Most stops of a run, which each hold a copy of the cluster, and the least number of moves between two of them.
MAX_STOPS, MIN_MOVES_BETWEEN = 8, 512
# Gets the virtual time in seconds, and may raise to end the work.
RewindProgress = Callable[[float], object]


def ignore_progress(time: float) -> None:
    """Ignore the progress."""


def can_rewind(outcome: RunOutcome, row: int) -> bool:
    """Return whether the moves suffice to restore what the last try of the pod in ``row`` saw.

    They suffice until a pod is nominated, updated or evicted, has volumes or resource claims, or loses its node, or a
    node changes. They never suffice if pods may wait at Permit, or if equal nodes are taken in turn.
    """
    return row < len(outcome.tries.start) and int(outcome.tries.start[row]) >= 0


class Rewind:
    """Go from try to try of the run of ``prepared`` under ``configuration`` with ``outcome``.

    ``scheduler`` sees the restored cluster. ``can_rewind`` must be true for the tries, and they must come in order.
    """

    def __init__(
        self,
        prepared: PreparedScenario,
        configuration: Configuration,
        outcome: RunOutcome,
        *,
        registry: Registry | None = None,
    ) -> None:
        simulation = start_simulation(prepared, configuration, Observer(), registry=registry, events=False)
        self._registry = registry
        self.scheduler: Scheduler = simulation.loop.scheduler
        metering = simulation.find_actor(Metering)
        self._world, self._use = simulation.world, None if metering is None else metering.use
        self._outcome = outcome
        # The pods that exist, by row.
        self._pods: dict[int, Pod] = dict(enumerate(self._world.all_pods()))
        # Number of moves so far. The initial pods are the first moves.
        self._moved = len(self._pods)
        # Numbers of measurements and of deletions so far.
        self._measured = self._deleted = 0
        coming: list[tuple[float, Json | Pod]] = [(0.0, raw) for raw in prepared.objects if raw.get("kind") == "Pod"]
        coming += [(event.time, event.pod) for event in prepared.events if isinstance(event, PodArrives)]
        self._plugins = prepared.settings.admission
        # Times and pods by key, in order.
        self._arrivals: dict[str, list[tuple[float, Json | Pod]]] = {}
        for time, pod in sorted(coming, key=lambda entry: entry[0]):
            self._arrivals.setdefault(_pod_key(pod), []).append((time, pod))

    def copy(self) -> Rewind | None:
        """Return an independent copy; ``None`` if real use depends on everything that ran before."""
        if not (self._use is None or isinstance(self._use, InstantUse)):
            return None
        other = copy.copy(self)
        other._world, other._pods = self._world.copy(), dict(self._pods)
        other._use = None if self._use is None else self._use.copy()
        other.scheduler = Scheduler.from_configuration(
            other._world.snapshot, self.scheduler.configuration, self._registry
        )
        return other

    def in_order(self, rows: Iterable[int]) -> list[int]:
        """Return ``rows`` in the order of their tries."""
        tries = self._outcome.tries
        return sorted(rows, key=lambda row: (int(tries.moves_before[row]), float(tries.time[row])))

    def go_to_try(self, row: int, progress: RewindProgress = ignore_progress) -> Pod:
        """Go to the last try of the pod in ``row``, and return the pod without a node.

        ``progress`` gets the time of each move; after it raised, the rewind must not be used any more.
        """
        tries = self._outcome.tries
        return self.go_to(row, float(tries.time[row]), int(tries.moves_before[row]), progress)

    def go_to(self, row: int, time: float, move_count: int, progress: RewindProgress = ignore_progress) -> Pod:
        """Go to the try of the pod in ``row`` at ``time``, after ``move_count`` moves, as ``go_to_try`` does."""
        if move_count < self._moved:
            raise ValueError("tries must come in their order")
        self._advance_to(time, move_count, progress)
        snapshot = self._world.snapshot
        snapshot.now = time
        self.scheduler.use_snapshot(snapshot)
        return self._pod_of_row(row)

    @property
    def moves_applied(self) -> int:
        """The number of moves so far."""
        return self._moved

    def reach(self, moved: int, progress: RewindProgress = ignore_progress) -> None:
        """Apply the first ``moved`` moves of the run; ``progress`` as in ``go_to_try``."""
        self._advance_to(float(self._outcome.moves.time[moved - 1]), moved, progress)

    def _last_measured(self, time: float, move_count: int) -> int:
        """Return the index of the last measurement that is due, since earlier ones have no effect on `InstantUse`."""
        log = self._outcome.measures
        due_by_time = np.searchsorted(log.time, time, side="right")
        due_by_moves = np.searchsorted(log.moves_before, move_count, side="right")
        return max(int(min(due_by_time, due_by_moves)) - 1, 0)

    def _advance_to(self, time: float, move_count: int, progress: RewindProgress) -> None:
        """Apply everything up to ``time``, including the first ``move_count`` moves."""
        if isinstance(self._use, InstantUse):
            self._measured = max(self._measured, self._last_measured(time, move_count))
        # Deletions and measurements come between the moves, as they did in the run.
        while True:
            moved = self._moved
            while _is_due(self._outcome.deletions, self._deleted, moved, time):
                self._apply_deletion(self._deleted)
                self._deleted += 1
            while self._use is not None and _is_due(self._outcome.measures, self._measured, moved, time):
                self._world.set_watermarks(self._use.measured(float(self._outcome.measures.time[self._measured])))
                self._measured += 1
            if moved == move_count:
                return
            progress(float(self._outcome.moves.time[moved]))
            self._apply_move(moved)
            self._moved += 1

    def _apply_deletion(self, place: int) -> None:
        deletions = self._outcome.deletions
        row, time = int(deletions.pod[place]), float(deletions.time[place])
        old = self._pods[row]
        new = self._pods[row] = mark_terminating(old, time)
        self._world.update_pod(old, new)

    def _apply_move(self, place: int) -> None:
        moves = self._outcome.moves
        row, time = int(moves.pod[place]), float(moves.time[place])
        if moves.kind[place] == MoveKind.BOUND:
            pod = self._pods[row] = self._bind_pod(self._pod_of_row(row), self._outcome.nodes[moves.node[place]], time)
            if self._use is not None:
                self._use.add_pod(pod, time)
            return
        pod = self._pods.pop(row)
        self._world.remove_pod(pod)
        if self._use is not None:
            self._use.remove_pod(pod, time)

    def _bind_pod(self, pod: Pod, node: str, time: float) -> Pod:
        """Bind the pod to its node as the run did, unless it came with that node."""
        if pod.node_name:
            self._world.add_pod(pod)
            return pod
        snapshot = self._world.snapshot
        snapshot.now = time
        snapshot.place_pod(with_start_time(pod, time), node)
        bound = snapshot.get_pod(pod.key)
        self._world.assume_pod(bound)
        return bound

    def _pod_of_row(self, row: int) -> Pod:
        """Return the pod as it is on its node, or as it arrived."""
        if row not in self._pods:
            arrived = float(self._outcome.arrived[row])
            # The last pod of the name that came until then: a quota may have kept it out for a while.
            arrived_pod = [pod for time, pod in self._arrivals[self._outcome.pods[row]] if time <= arrived][-1]
            pod = (
                arrived_pod
                if isinstance(arrived_pod, Pod)
                else Pod.from_json(admit_pod(arrived_pod, self._world.cluster, self._plugins))
            )
            self._pods[row], _ = create_claims(pod, self._world.cluster, self._world.claims)
        return self._pods[row]


class Rewinds:
    """Rewinds of one run for tries in any order: each starts from the last stop before it.

    A stop is a copy of the restored cluster, which shares nodes and pods with other stops. There are at most MAX_STOPS.
    """

    def __init__(
        self,
        prepared: PreparedScenario,
        configuration: Configuration,
        outcome: RunOutcome,
        *,
        registry: Registry | None = None,
    ) -> None:
        self._create_rewind = partial(Rewind, prepared, configuration, outcome, registry=registry)
        self._outcome = outcome
        self._moves_between_stops = max(MIN_MOVES_BETWEEN, -(-len(outcome.moves) // MAX_STOPS))
        self._stops: list[Rewind] = []

    def rewind_before(self, row: int, progress: RewindProgress = ignore_progress) -> Rewind:
        """Return a rewind before the last try of the pod in ``row``, which the caller owns.

        ``progress`` is as in ``Rewind.go_to_try``.
        """
        if not self._stops:
            self._stops.append(self._create_rewind())
        move_count, first = int(self._outcome.tries.moves_before[row]), self._stops[0].moves_applied
        place = max(move_count - first, 0) // self._moves_between_stops
        while len(self._stops) <= place:
            further = self._stops[-1].copy()
            if further is None:
                return self._create_rewind()
            further.reach(first + len(self._stops) * self._moves_between_stops, progress)
            self._stops.append(further)
        return self._stops[place].copy() or self._create_rewind()


def _is_due(log: Deletions | Measures, place: int, moved: int, time: float) -> bool:
    """Return whether entry ``place`` of ``log`` is due: up to ``time`` and after at most ``moved`` moves."""
    return place < len(log.moves_before) and bool(log.moves_before[place] <= moved) and bool(log.time[place] <= time)


def _pod_key(pod: Json | Pod) -> str:
    if isinstance(pod, Pod):
        return pod.key
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
