"""Restores the cluster that a try of a run saw from the run's moves, without repeating other tries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers.admission import admit
from kschedweb.engine.controllers.claims import create_claims
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import Observer, PodArrives
from kschedweb.engine.simulation.pods import started, terminating
from kschedweb.engine.simulation.use import InstantUse
from kschedweb.engine.studies.play.outcome import Deletions, Kind, Measures, Outcome
from kschedweb.engine.studies.play.playing import Registry, begin
from kschedweb.engine.studies.prepare.prepared import Prepared

STOPS, LEAST_APART = 8, 512  # most stops of a run, and least moves between two of them
Heard = Callable[[float], object]  # is told the virtual time in seconds, and may raise


def nobody(time: float) -> None:
    """Hear nothing."""


def knows(outcome: Outcome, row: int) -> bool:
    """Whether the moves suffice to restore what the last try of the pod in ``row`` saw.

    They suffice until a pod is nominated, updated or evicted, has volumes or resource claims, or loses its node, or a
    node changes. They never suffice if pods may wait at Permit, or if equal nodes are taken in turn.
    """
    return row < len(outcome.tries.start) and int(outcome.tries.start[row]) >= 0


class Rewind:
    """Goes from try to try of the run of ``prepared`` under ``configuration`` with ``outcome``.

    ``scheduler`` sees the restored cluster. ``knows`` must be true for the tries, and they must come in order.
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
        self._moved = len(self._pods)  # the initial pods are the first moves
        self._measured = self._deleted = 0
        coming: list[tuple[float, Json | Pod]] = [(0.0, raw) for raw in prepared.objects if raw.get("kind") == "Pod"]
        coming += [(event.time, event.pod) for event in prepared.events if isinstance(event, PodArrives)]
        self._plugins = prepared.settings.admission
        self._came: dict[str, list[tuple[float, Json | Pod]]] = {}
        for time, pod in sorted(coming, key=lambda one: one[0]):
            self._came.setdefault(_key(pod), []).append((time, pod))

    def copy(self) -> Rewind | None:
        """An independent copy; ``None`` if real use depends on everything that ran before."""
        if not (self._use is None or isinstance(self._use, InstantUse)):
            return None
        other = copy.copy(self)
        other._world, other._pods = self._world.copy(), dict(self._pods)
        other._use = None if self._use is None else self._use.copy()
        other.scheduler = Scheduler.of(other._world.snapshot, self.scheduler.configuration, self._registry)
        return other

    def in_order(self, rows: Iterable[int]) -> list[int]:
        """``rows`` in the order of their tries."""
        tries = self._outcome.tries
        return sorted(rows, key=lambda row: (int(tries.seen[row]), float(tries.time[row])))

    def to(self, row: int, heard: Heard = nobody) -> Pod:
        """Go to the last try of the pod in ``row``; returns the pod, without a node.

        ``heard`` is told of the way; once it has raised, the rewind is of no use any more.
        """
        tries = self._outcome.tries
        return self.at(row, float(tries.time[row]), int(tries.seen[row]), heard)

    def at(self, row: int, time: float, seen: int, heard: Heard = nobody) -> Pod:
        """As ``to``, for the try of the pod in ``row`` at ``time``, after ``seen`` moves."""
        if seen < self._moved:
            raise ValueError("tries must come in their order")
        self._advance(time, seen, heard)
        snapshot = self._world.snapshot
        snapshot.now = time
        self.scheduler.use(snapshot)
        return self._pod(row)

    @property
    def moved(self) -> int:
        """The number of moves so far."""
        return self._moved

    def reach(self, moved: int, heard: Heard = nobody) -> None:
        """Apply the first ``moved`` moves of the run; ``heard`` as in ``to``."""
        self._advance(float(self._outcome.moves.time[moved - 1]), moved, heard)

    def _last_measured(self, time: float, seen: int) -> int:
        """The index of the last measurement; earlier ones do not matter if only running pods count."""
        log = self._outcome.measures
        by = min(np.searchsorted(log.time, time, side="right"), np.searchsorted(log.seen, seen, side="right"))
        return max(int(by) - 1, 0)

    def _advance(self, time: float, seen: int, heard: Heard) -> None:
        """Apply everything up to ``time``, including the first ``seen`` moves."""
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
            heard(float(self._outcome.moves.time[moved]))
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
        """Bind the pod to its node as the run did; it may have come with that node."""
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
        """The pod as it arrived, or as it is on its node."""
        if row not in self._pods:
            arrived = float(self._outcome.arrived[row])
            # A quota may have kept it out until then.
            came = [pod for time, pod in self._came[self._outcome.pods[row]] if time <= arrived][-1]
            pod = came if isinstance(came, Pod) else Pod.read(admit(came, self._world.cluster, self._plugins))
            self._pods[row], _ = create_claims(pod, self._world.cluster, self._world.claims)
        return self._pods[row]


class Rewinds:
    """Rewinds of one run for decisions in any order: each starts from the last stop before it.

    A stop is a copy of the restored cluster, which shares nodes and pods with other stops. There are at most STOPS.
    """

    def __init__(
        self, prepared: Prepared, configuration: Configuration, outcome: Outcome, *, registry: Registry | None = None
    ) -> None:
        self._make = partial(Rewind, prepared, configuration, outcome, registry=registry)
        self._outcome = outcome
        self._apart = max(LEAST_APART, -(-len(outcome.moves) // STOPS))
        self._stops: list[Rewind] = []

    def before(self, row: int, heard: Heard = nobody) -> Rewind:
        """A rewind before the last try of the pod in ``row``, which the caller owns; ``heard`` as in ``Rewind.to``."""
        if not self._stops:
            self._stops.append(self._make())
        seen, first = int(self._outcome.tries.seen[row]), self._stops[0].moved
        place = max(seen - first, 0) // self._apart
        while len(self._stops) <= place:
            further = self._stops[-1].copy()
            if further is None:
                return self._make()
            further.reach(first + len(self._stops) * self._apart, heard)
            self._stops.append(further)
        return self._stops[place].copy() or self._make()


def _due(log: Deletions | Measures, place: int, moved: int, time: float) -> bool:
    """Whether entry ``place`` of ``log`` is due: up to ``time`` and after at most ``moved`` moves."""
    return place < len(log.seen) and bool(log.seen[place] <= moved) and bool(log.time[place] <= time)


def _key(pod: Json | Pod) -> str:
    if isinstance(pod, Pod):
        return pod.key
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
