"""What came of a run, as columns: where each pod was at any time, what waited, and what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Codes, Floats, Ints
from kschedweb.engine.studies.play import packing
from kschedweb.engine.studies.play.packing import OutcomeError

__all__ = [
    "Deletions",
    "Kind",
    "Measures",
    "Moves",
    "NodeLog",
    "NodeState",
    "Outcome",
    "OutcomeError",
    "Samples",
    "Tries",
    "UseLog",
]

Shares = NDArray[np.float32]
NOWHERE = -1
KEYFRAME = 4096  # moves between two keyframes


class Kind(IntEnum):
    """What a move is: a pod came to its node, or left it for one of four reasons."""

    BOUND = 0
    LEFT = 1
    EVICTED = 2
    PREEMPTED = 3
    NODE_GONE = 4


class NodeState(IntEnum):
    """What a node's object says: it takes pods, it is cordoned, or its kubelet is not ready (or silent)."""

    OPEN = 0
    CORDONED = 1
    NOT_READY = 2


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Pods coming to nodes and leaving them, in the order in which they did. Shape [moves].

    ``time`` is seconds, ``pod`` and ``node`` are positions (the node that is left, where it is left), ``kind`` a Kind,
    ``text`` the place in Outcome.texts of what made the pod leave.
    """

    time: Floats
    pod: Codes
    node: Codes
    kind: NDArray[np.uint8]
    text: Codes

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True, eq=False)
class NodeLog:
    """Nodes coming, changing and going, in their order: ``allocatable`` is f8[entries, resources], nan: gone.

    ``state`` is a NodeState.
    """

    time: Floats
    node: Codes
    allocatable: Floats
    state: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """How many nodes, bound pods, and waiting pods by queue there were at ``time`` (seconds). Shape [samples]."""

    time: Floats
    nodes: Codes
    bound: Codes
    active: Codes
    backing_off: Codes
    unschedulable: Codes
    gated: Codes

    @property
    def pending(self) -> Codes:
        """All that wait, in whatever queue."""
        pending: Codes = self.active + self.backing_off + self.unschedulable + self.gated
        return pending


@dataclass(frozen=True, slots=True, eq=False)
class UseLog:
    """What nodes really used, in percent of allocatable: f4[times, nodes] each, nan where nobody knows.

    All are empty where nothing was measured. Of very many measurements only some are kept, evenly.
    """

    time: Floats
    cpu: Shares
    memory: Shares


@dataclass(frozen=True, slots=True, eq=False)
class Guards:
    """Evictions of pods that a PodDisruptionBudget guards, in their order. Shape [evictions].

    ``budget`` is a place in Outcome.budgets; ``beyond`` tells whether more of its pods were down than it allows.
    """

    time: Floats
    pod: Codes
    budget: Codes
    beyond: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """The last try of each pod, shape [pods]: all that is needed to make it again (see whatif.rewind).

    ``time`` is seconds, nan for pods that were never tried; ``seen`` how many moves there had been, i4; ``start`` the
    position of the node where the search began, i4, and -1 where the moves do not tell all that the try saw.
    """

    time: Floats
    seen: Codes
    start: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Deletions:
    """Pods that were deleted while they were on their nodes, where they have their grace period. Shape [deletions].

    ``time`` is seconds, ``pod`` a row, ``seen`` how many moves there had been.
    """

    time: Floats
    pod: Codes
    seen: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """When use was measured, f8, and how many moves there had been, i4. Shape [measurements]."""

    time: Floats
    seen: Codes


# Of runs that were stored before these were.
NO_TRIES = Tries(np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))
NO_MEASURES = Measures(np.zeros(0), np.zeros(0, dtype=np.int32))
NO_MOVES = Moves(
    np.zeros(0),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=np.uint8),
    np.zeros(0, dtype=np.int32),
)
NO_DELETIONS = Deletions(np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


@dataclass(eq=False)
class Outcome:
    """A run's columns over pods, nodes and time. Times are seconds, nan where it never happened; nodes -1 for none.

    A pod's row is one life of it: who comes back under the same name has another row. ``arrived``, ``bound`` (for the
    last time) and ``left`` (its node, or the cluster while it waited) are f8[pods]; ``node`` is the last node it was
    on, ``attempts`` how often it was tried, 0 for pods that were there on their nodes from the beginning, ``priority``
    its priority; all i4[pods]. ``shape`` says which pods ask for the same and may go to the same nodes, which are those
    with 1 in ``eligible``, u1[shapes, nodes], whatever room they have; i4[pods], -1 for pods that came with a node,
    and for those of rare shapes. ``message`` is the place in ``texts`` of what was said when a try failed last, -1 for
    never. ``requests`` is i8[resources, pods] in milli-CPU, bytes and whole units. ``ignored`` pods name a scheduler
    that was not simulated; ``refused`` are those that admission did not take in. ``told`` are the pods that had to go,
    when they were told so: they leave after their grace period, and from a node that is silent never.
    """

    pods: list[str]
    nodes: list[str]
    resources: list[str]
    texts: list[str]
    arrived: Floats
    bound: Floats
    left: Floats
    node: Codes
    attempts: Codes
    message: Codes
    priority: Codes
    requests: Ints
    shape: Codes
    eligible: NDArray[np.uint8]
    moves: Moves
    node_log: NodeLog
    samples: Samples
    use: UseLog
    guards: Guards
    budgets: list[str]
    seed: int
    end: float
    refused: list[tuple[float, str]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tries: Tries = NO_TRIES
    deletions: Deletions = NO_DELETIONS
    measures: Measures = NO_MEASURES
    told: Moves = NO_MOVES

    def encode(self) -> bytes:
        """The whole outcome as bytes, the same for the same outcome."""
        return packing.pack({one.name: getattr(self, one.name) for one in fields(self)})

    @classmethod
    def decode(cls, data: bytes) -> Outcome:
        """What ``encode`` made; raises OutcomeError where it did not."""
        read = packing.unpack(data)
        for name, kind in _PARTS.items():
            if name in read or name not in LATER:
                read[name] = packing.record(kind, read.get(name), name)
        outcome: Outcome = packing.record(cls, read, "outcome")
        outcome.refused = [(float(time), str(text)) for time, text in outcome.refused]
        return outcome

    # Where things are.

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of a pod by ``namespace/name``: of the last, where several were called so."""
        return {name: row for row, name in enumerate(self.pods)}

    @cached_property
    def forced(self) -> Moves:
        """Preemptions, evictions and pods lost with their node, as ``told``; of an earlier run, when they had left."""
        if len(self.told):
            return self.told
        kept = self.moves.kind > Kind.LEFT
        return Moves(*(getattr(self.moves, one.name)[kept] for one in fields(Moves)))

    @property
    def pending(self) -> NDArray[np.intp]:
        """The rows of the pods that wait at the end, in the order in which they came."""
        waits = np.isnan(self.bound) & np.isnan(self.left)
        if self.ignored:
            waits[[self.index[name] for name in self.ignored if name in self.index]] = False
        return np.flatnonzero(waits)

    @cached_property
    def _keyframes(self) -> Codes:
        """Where each pod is before moves 0, 4,096, and so on. Shape [keyframes, pods]."""
        frames = [np.full(len(self.pods), NOWHERE, dtype=np.int32)]
        for begin in range(0, len(self.moves) - KEYFRAME + 1, KEYFRAME):
            frames.append(self._moved(frames[-1], begin, begin + KEYFRAME))
        return np.stack(frames)

    def _moved(self, places: Codes, begin: int, end: int) -> Codes:
        after = places.copy()
        nodes = np.where(self.moves.kind[begin:end] == Kind.BOUND, self.moves.node[begin:end], NOWHERE)
        after[self.moves.pod[begin:end]] = nodes  # of several moves of a pod the last one counts
        return after

    def placed(self, time: float) -> Codes:
        """The node of each pod when all has happened that happens by ``time``, -1 for none. Shape [pods]."""
        moves = int(np.searchsorted(self.moves.time, time, side="right"))
        frame = min(moves // KEYFRAME, len(self._keyframes) - 1)
        return self._moved(self._keyframes[frame], frame * KEYFRAME, moves)

    def requested(self, times: Sequence[float] | Floats, resource: str) -> Floats:
        """What is requested of each node by each of the times, which must not go back: f8[times, nodes]."""
        amounts = self.requests[self._resource(resource)].astype(np.float64)
        asked = np.zeros((len(times), len(self.nodes)))
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.moves.time, side="left")
        within = at < len(times)
        deltas = np.where(self.moves.kind == Kind.BOUND, 1.0, -1.0) * amounts[self.moves.pod]
        np.add.at(asked, (at[within], self.moves.node[within]), deltas[within])
        return np.cumsum(asked, axis=0)

    def allocatable(self, times: Sequence[float] | Floats, resource: str) -> Floats:
        """What each node has at each of the times, which must not go back; nan where it is not there."""
        row = self._resource(resource)
        has = np.full((len(times), len(self.nodes)), np.nan)
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.node_log.time, side="left").tolist()
        entries = zip(at, self.node_log.node.tolist(), self.node_log.allocatable[:, row].tolist(), strict=True)
        for begin, node, amount in entries:
            has[begin:, node] = amount
        return has

    def states(self, times: Sequence[float] | Floats) -> NDArray[np.uint8]:
        """The NodeState of each node at each of the times, which must not go back: u1[times, nodes]."""
        found = np.zeros((len(times), len(self.nodes)), dtype=np.uint8)
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.node_log.time, side="left").tolist()
        for begin, node, state in zip(at, self.node_log.node.tolist(), self.node_log.state.tolist(), strict=True):
            found[begin:, node] = state
        return found

    def loads(self, times: Sequence[float] | Floats, resource: str) -> Shares:
        """The requested share of what each node has, 0 to 1: f4[times, nodes]; nan where a node has nothing of it.

        The times must not go back; raises ValueError for a resource that no node and no pod has.
        """
        has = self.allocatable(times, resource)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(has > 0.0, self.requested(times, resource) / has, np.nan)
        return shares.astype(np.float32)

    def _resource(self, name: str) -> int:
        try:
            return self.resources.index(name)
        except ValueError:
            raise ValueError(f"{name}: no node has it, known are {', '.join(self.resources)}") from None


LATER = ("tries", "deletions", "measures", "told")  # which outcomes that were stored earlier do not have
_PARTS: dict[str, type[Any]] = {
    "moves": Moves,
    "node_log": NodeLog,
    "samples": Samples,
    "use": UseLog,
    "guards": Guards,
    "tries": Tries,
    "deletions": Deletions,
    "measures": Measures,
    "told": Moves,
}
