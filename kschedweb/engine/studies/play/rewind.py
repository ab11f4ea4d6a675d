"""The cluster as a try of a run saw it, put together from the run's moves: no other try is made again for that."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers.admission import admit
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import Observer, PodArrives
from kschedweb.engine.simulation.pods import started, terminating
from kschedweb.engine.simulation.use import InstantUse
from kschedweb.engine.studies.play.outcome import Deletions, Kind, Measures, Outcome
from kschedweb.engine.studies.play.playing import Registry, begin
from kschedweb.engine.studies.prepare.prepared import Prepared

STOPS, LEAST_APART = 8, 512  # stops on the way of a run, and moves between two of them at least


def knows(outcome: Outcome, row: int) -> bool:
    """Whether the moves tell all that the last try of the pod in ``row`` saw.

    They do until the first pod that was nominated, written or evicted, has volumes or resource claims, or lost its
    node, and the first node that changed; not at all where pods may wait at Permit.
    """
    return row < len(outcome.tries.start) and int(outcome.tries.start[row]) >= 0


class Rewind:
    """Goes from try to try of the run of ``prepared`` under ``configuration`` that came to ``outcome``.

    ``scheduler`` sees the cluster as it was. Tries must be ones that ``knows`` knows, and come in their order.
    """

    def __init__(
        self, prepared: Prepared, configuration: Configuration, outcome: Outcome, *, registry: Registry | None = None
    ) -> None:
        simulation = begin(prepared, configuration, Observer(), registry=registry, events=False)
        self._registry = registry
        self.scheduler: Scheduler = simulation.loop.scheduler
        self._world, self._use = simulation.world, simulation.pods.use
        self._outcome = outcome
        self._pods: dict[int, Pod] = dict(enumerate(self._world.all_pods()))
        self._moved = len(self._pods)  # those that are there from the beginning are the first moves
        self._measured = self._deleted = 0
        coming: list[tuple[float, Json | Pod]] = [(0.0, raw) for raw in prepared.objects if raw.get("kind") == "Pod"]
        coming += [(event.time, event.pod) for event in prepared.events if isinstance(event, PodArrives)]
        self._came = {(_key(pod), time): pod for time, pod in coming}

    def copy(self) -> Rewind | None:
        """One that goes on from here on its own; ``None`` where real use depends on all that ran before."""
        if not (self._use is None or isinstance(self._use, InstantUse)):
            return None
        other = copy.copy(self)
        other._world, other._pods = self._world.copy(), dict(self._pods)
        other._use = None if self._use is None else self._use.copy()
        other.scheduler = Scheduler(other._world.snapshot, self.scheduler.configuration, self._registry)
        return other

    def in_order(self, rows: Iterable[int]) -> list[int]:
        """``rows`` in the order of their tries."""
        tries = self._outcome.tries
        return sorted(rows, key=lambda row: (int(tries.seen[row]), float(tries.time[row])))

    def to(self, row: int) -> Pod:
        """Let the scheduler see what the last try of the pod in ``row`` saw; returns the pod, which is on no node."""
        tries = self._outcome.tries
        return self.at(row, float(tries.time[row]), int(tries.seen[row]))

    def at(self, row: int, time: float, seen: int) -> Pod:
        """As ``to``, of any try of the pod in ``row``: that at ``time``, before which there were ``seen`` moves."""
        if seen < self._moved:
            raise ValueError("tries must come in their order")
        self._advance(time, seen)
        snapshot = self._world.snapshot
        snapshot.now = time
        self.scheduler.use(snapshot)
        return self._pod(row)

    @property
    def moved(self) -> int:
        """How many moves there have been where it is."""
        return self._moved

    def reach(self, moved: int) -> None:
        """Let the first ``moved`` moves of the run happen."""
        self._advance(float(self._outcome.moves.time[moved - 1]), moved)

    def _last_measured(self, time: float, seen: int) -> int:
        """The place of what was measured last: where only what runs counts, what was measured before is of no use."""
        log = self._outcome.measures
        by = min(np.searchsorted(log.time, time, side="right"), np.searchsorted(log.seen, seen, side="right"))
        return max(int(by) - 1, 0)

    def _advance(self, time: float, seen: int) -> None:
        """Let happen what had happened by ``time``, of which ``seen`` were moves."""
        if isinstance(self._use, InstantUse):
            self._measured = max(self._measured, self._last_measured(time, seen))
        while True:
            moved = self._moved
            while _due(self._outcome.deletions, self._deleted, moved, time):
                self._delete(self._deleted)
                self._deleted += 1
            while self._use is not None and _due(self._outcome.measures, self._measured, moved, time):
                self._world.measured(self._use.measured(float(self._outcome.measures.time[self._measured])))
                self._measured += 1
            if moved == seen:
                return
            self._move(moved)
            self._moved += 1

    def _delete(self, place: int) -> None:
        deletions = self._outcome.deletions
        row, time = int(deletions.pod[place]), float(deletions.time[place])
        old = self._pods[row]
        new = self._pods[row] = terminating(old, time)
        self._world.replace(old, new)

    def _move(self, place: int) -> None:
        moves = self._outcome.moves
        row, time = int(moves.pod[place]), float(moves.time[place])
        if moves.kind[place] == Kind.BOUND:
            pod = self._pods[row] = self._bound(self._pod(row), self._outcome.nodes[moves.node[place]], time)
            if self._use is not None:
                self._use.came(pod, time)
            return
        pod = self._pods.pop(row)
        self._world.remove(pod)
        if self._use is not None:
            self._use.left(pod, time)

    def _bound(self, pod: Pod, node: str, time: float) -> Pod:
        """Put the pod on its node as the run did; it may have come with it."""
        if pod.node_name:
            self._world.add(pod)
            return pod
        snapshot = self._world.snapshot
        snapshot.now = time
        snapshot.place_pod(started(pod, time), node)
        bound = snapshot.pod(pod.key)
        self._world.assumed(bound)
        return bound

    def _pod(self, row: int) -> Pod:
        """The pod as it came, or as it is on its node."""
        if row not in self._pods:
            came = self._came[self._outcome.pods[row], float(self._outcome.arrived[row])]
            self._pods[row] = came if isinstance(came, Pod) else Pod.read(admit(came, self._world.cluster))
        return self._pods[row]


class Rewinds:
    """Rewinds of one run, for decisions in any order: each goes on from the last of STOPS stops before it.

    A stop is a copy of the cluster as it was; it shares nodes and pods with the others.
    """

    def __init__(
        self, prepared: Prepared, configuration: Configuration, outcome: Outcome, *, registry: Registry | None = None
    ) -> None:
        self._make = partial(Rewind, prepared, configuration, outcome, registry=registry)
        self._outcome = outcome
        self._apart = max(LEAST_APART, -(-len(outcome.moves) // STOPS))
        self._stops: list[Rewind] = []

    def before(self, row: int) -> Rewind:
        """One that has yet to come to the last try of the pod in ``row``, and is the caller's."""
        if not self._stops:
            self._stops.append(self._make())
        seen, first = int(self._outcome.tries.seen[row]), self._stops[0].moved
        place = max(seen - first, 0) // self._apart
        while len(self._stops) <= place:
            further = self._stops[-1].copy()
            if further is None:
                return self._make()
            further.reach(first + len(self._stops) * self._apart)
            self._stops.append(further)
        return self._stops[place].copy() or self._make()


def _due(log: Deletions | Measures, place: int, moved: int, time: float) -> bool:
    """Whether the entry of ``log`` at ``place`` is the next thing that happened by ``time``, after so many moves."""
    return place < len(log.seen) and bool(log.seen[place] <= moved) and bool(log.time[place] <= time)


def _key(pod: Json | Pod) -> str:
    if isinstance(pod, Pod):
        return pod.key
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
