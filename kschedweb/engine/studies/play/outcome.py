"""The outcome of a run as columns: where each pod was at any time, what waited, and the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.pricing.node_kinds import NodeKinds
from kschedweb.engine.state.columns import Codes, Floats, Ints
from kschedweb.engine.studies.play import packing
from kschedweb.engine.studies.play.descheduling import NO_EVICTIONS, Evictions
from kschedweb.engine.studies.play.packing import OutcomeError
from kschedweb.engine.studies.play.scaling import NO_LOOKS, NO_SCALINGS, Looks, Scalings
from kschedweb.engine.values import dataclass

__all__ = [
    "Deletions",
    "Measures",
    "MoveKind",
    "NodeLog",
    "NodeState",
    "OutcomeError",
    "PodMoves",
    "RunOutcome",
    "Samples",
    "Tries",
    "UseLog",
]

Shares = NDArray[np.float32]
NOWHERE = -1
KEYFRAME = 4096  # moves between two keyframes


class MoveKind(IntEnum):
    """The kind of a move: a pod came to its node, or left it for one of these reasons.

    COLLECTED is no move: the pod never had a node, since the one it named was not there.
    """

    BOUND = 0
    LEFT = 1
    EVICTED = 2
    PREEMPTED = 3
    NODE_GONE = 4
    FAILED = 5
    COLLECTED = 6


class NodeState(IntEnum):
    """The state of a node: open, cordoned, not ready, or unknown, which is not ready too: its kubelet is silent.

    A tainted one is ready and takes the pods that tolerate it; outcomes of before it was told apart have it as open.
    """

    OPEN = 0
    CORDONED = 1
    NOT_READY = 2
    UNKNOWN = 3
    TAINTED = 4


@dataclass(frozen=True, slots=True, eq=False)
class PodMoves:
    """The moves of pods to and from nodes, in order. Shape [moves].

    ``time`` is in seconds; ``pod`` and ``node`` are positions (``node`` is also the one that is left); ``kind`` is a
    Kind; ``text`` is the index in Outcome.texts of why the pod left.
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
    """Nodes that came, changed and left, in order: ``allocatable`` is f8[entries, resources], nan for a removed node.

    ``state`` is a NodeState.
    """

    time: Floats
    node: Codes
    allocatable: Floats
    state: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The number of nodes, of bound pods, and of waiting pods by queue at ``time`` (seconds). Shape [samples].

    ``unknown`` of the bound pods are on nodes that are silent; runs that were stored earlier do not say.
    """

    time: Floats
    nodes: Codes
    bound: Codes
    active: Codes
    backing_off: Codes
    unschedulable: Codes
    gated: Codes
    unknown: Codes | None = None

    @property
    def running(self) -> Codes:
        """The number of bound pods of which is known that they run."""
        running: Codes = self.bound if self.unknown is None else self.bound - self.unknown
        return running

    @property
    def pending(self) -> Codes:
        """The number of waiting pods in all queues."""
        pending: Codes = self.active + self.backing_off + self.unschedulable + self.gated
        return pending


@dataclass(frozen=True, slots=True, eq=False)
class UseLog:
    """Real use of nodes in percent of allocatable: f4[times, nodes] each, nan where unknown.

    All are empty if nothing was measured. Very many measurements are thinned evenly.
    """

    time: Floats
    cpu: Shares
    memory: Shares


@dataclass(frozen=True, slots=True, eq=False)
class Guards:
    """Evictions of pods with a PodDisruptionBudget, in order. Shape [evictions].

    ``budget`` is an index into Outcome.budgets; ``beyond`` is whether more of its pods were down than it allows.
    """

    time: Floats
    pod: Codes
    budget: Codes
    beyond: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """What is needed to repeat the last try of each pod (see ``rewind``). Shape [pods].

    ``time`` is in seconds, nan for pods that were never tried; ``seen`` is the number of moves before the try, i4;
    ``start`` is the position of the node where the search began, i4, or -1 if the moves do not suffice to repeat the
    try.
    """

    time: Floats
    seen: Codes
    start: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Deletions:
    """Deletions of pods on nodes, where their grace period begins. Shape [deletions].

    ``time`` is in seconds, ``pod`` is a row, ``seen`` the number of moves before.
    """

    time: Floats
    pod: Codes
    seen: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """The times at which use was measured, f8, and the numbers of moves before, i4. Shape [measurements]."""

    time: Floats
    seen: Codes


# Defaults for runs that were stored before these columns existed.
_NO_CODES = np.zeros(0, dtype=np.int32)
NO_TRIES = Tries(np.zeros(0), _NO_CODES, _NO_CODES)
NO_MEASURES = Measures(np.zeros(0), _NO_CODES)
NO_MOVES = PodMoves(np.zeros(0), _NO_CODES, _NO_CODES, np.zeros(0, dtype=np.uint8), _NO_CODES)
NO_KINDS = NodeKinds()
NO_DELETIONS = Deletions(np.zeros(0), _NO_CODES, _NO_CODES)


@dataclass(eq=False)
class RunOutcome:
    """A run's columns over pods, nodes and time. Times are in seconds, nan for never; node -1 is none.

    A row is one life of a pod: a new pod of the same name has another row.

    ``arrived``, ``bound`` (the last time) and ``left`` (the node, or the cluster while waiting) are f8[pods]. ``node``
    is the last node, ``attempts`` the number of tries (0 for pods that had nodes at the beginning), ``priority`` the
    priority; all are i4[pods]. ``shape`` is i4[pods]: pods of one shape have equal requests and may run on the same
    nodes, which are those with 1 in ``eligible``, u1[shapes, nodes], if there is room; it is -1 for pods that came with
    a node and for rare shapes. ``message`` is the index in ``texts`` of the message of the last failed try, -1 for
    none. ``requests`` is i8[resources, pods] in milli-CPU, bytes and whole units. ``ignored`` pods name a scheduler
    that was not simulated; ``refused`` pods did not pass admission. ``told`` counts pods when their forced deletion
    begins: they leave after their grace period, and never leave a node that is silent. ``scaled`` names workloads whose
    number of pods somebody looks after, ``targets`` what is aimed at in percent of requested CPU, nan for nothing.
    ``workload``, i4[pods], is the index in ``workloads`` of a pod's controller as ``namespace/Kind/name``, -1 for none;
    ``first``, i4[pods], is the row of the first of the pods that took one another's place. Both are empty in older
    outcomes. ``prices``, f8[nodes], are what nodes cost an hour where an autoscaler knows, nan elsewhere; empty without
    one. ``deeds`` are what it did: time, launched or removed, node, and as what or why. ``rounds`` are those of the
    descheduler: time, how many evictions there were and how many were refused, and what plugins said; ``movers`` names
    plugins and profiles that ``evictions`` point at. ``kinds`` are kinds of nodes by price, ``kind`` is i4[entries of
    the node log], -1 for a removed node; both are empty where there are no prices.
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
    moves: PodMoves
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
    told: PodMoves = NO_MOVES
    scaled: list[str] = field(default_factory=list)
    targets: Floats = field(default_factory=lambda: np.zeros(0))
    reasons: list[str] = field(default_factory=list)
    looks: Looks = NO_LOOKS
    scalings: Scalings = NO_SCALINGS
    workloads: list[str] = field(default_factory=list)
    workload: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    first: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    prices: Floats = field(default_factory=lambda: np.zeros(0))
    deeds: list[tuple[float, str, str, str]] = field(default_factory=list)
    evictions: Evictions = NO_EVICTIONS
    rounds: list[tuple[float, int, int, str]] = field(default_factory=list)
    movers: list[str] = field(default_factory=list)
    kinds: NodeKinds = NO_KINDS
    kind: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def encode(self) -> bytes:
        """The outcome as bytes; equal outcomes give equal bytes."""
        values = {column.name: getattr(self, column.name) for column in fields(self)}
        # Without prices and descheduler the bytes are those of before there were any.
        left_out = set() if self.kinds.currency else {"kinds", "kind"}
        left_out |= set() if self.rounds else {"evictions", "rounds", "movers"}
        return packing.pack_values({name: values[name] for name in values if name not in left_out})

    @classmethod
    def decode(cls, data: bytes) -> RunOutcome:
        """The outcome in bytes of ``encode``; raises OutcomeError for others."""
        read = packing.unpack_values(data)
        for name, kind in _PARTS.items():
            if name in read or name not in LATER:
                read[name] = packing.build_record(kind, read.get(name), name)
        outcome: RunOutcome = packing.build_record(cls, read, "outcome")
        outcome.refused = [(float(time), str(text)) for time, text in outcome.refused]
        outcome.deeds = [(float(time), str(action), str(node), str(text)) for time, action, node, text in outcome.deeds]
        outcome.rounds = [
            (float(time), int(evicted), int(not_), str(message)) for time, evicted, not_, message in outcome.rounds
        ]
        return outcome

    # Positions.

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of a pod by ``namespace/name``; the last one if several had that name."""
        return {name: row for row, name in enumerate(self.pods)}

    @cached_property
    def forced_moves(self) -> PodMoves:
        """Pods that were preempted, evicted, failed or lost with their node: ``told``; of older outcomes, moves."""
        if len(self.told):
            return self.told
        is_forced = self.moves.kind > MoveKind.LEFT
        return PodMoves(*(getattr(self.moves, column.name)[is_forced] for column in fields(PodMoves)))

    @cached_property
    def unheard_moves(self) -> PodMoves:
        """Those of ``forced`` that nobody heard of: the node was silent, so the pod is terminating there still."""
        log, forced = self.node_log, self.forced_moves
        ever = set(log.node[log.state == NodeState.UNKNOWN].tolist())
        rows = []
        for row in [row for row, node in enumerate(forced.node.tolist()) if node in ever]:
            of_node = log.node == forced.node[row]
            last = np.searchsorted(log.time[of_node], forced.time[row], side="right") - 1
            if last >= 0 and log.state[of_node][last] == NodeState.UNKNOWN and forced.kind[row] != MoveKind.NODE_GONE:
                rows.append(row)
        return PodMoves(*(getattr(self.forced_moves, column.name)[rows] for column in fields(PodMoves)))

    @property
    def pending(self) -> NDArray[np.intp]:
        """The rows of the pods that wait at the end, in the order of arrival."""
        waits = np.isnan(self.bound) & np.isnan(self.left)
        if self.ignored:
            waits[[self.index[name] for name in self.ignored if name in self.index]] = False
        return np.flatnonzero(waits)

    def list_notes(self, limit: int) -> list[str]:
        """What was left out, refused or read differently, each once; after ``limit`` the number of the others."""
        notes = list(dict.fromkeys([*self.notes, *(text for _, text in self.refused)]))
        further = len(notes) - limit
        return notes if further <= 0 else [*notes[:limit], f"and {further:,} further note{'s' * (further > 1)}"]

    @cached_property
    def _keyframes(self) -> Codes:
        """The node of each pod before moves 0, 4,096, and so on. Shape [keyframes, pods]."""
        frames = [np.full(len(self.pods), NOWHERE, dtype=np.int32)]
        for begin in range(0, len(self.moves) - KEYFRAME + 1, KEYFRAME):
            frames.append(self._apply_moves(frames[-1], begin, begin + KEYFRAME))
        return np.stack(frames)

    def _apply_moves(self, places: Codes, begin: int, end: int) -> Codes:
        after = places.copy()
        nodes = np.where(self.moves.kind[begin:end] == MoveKind.BOUND, self.moves.node[begin:end], NOWHERE)
        after[self.moves.pod[begin:end]] = nodes  # the last of several moves of a pod counts
        return after

    def placed(self, time: float) -> Codes:
        """The node of each pod after everything up to and including ``time``, -1 for none. Shape [pods]."""
        moves = int(np.searchsorted(self.moves.time, time, side="right"))
        frame = min(moves // KEYFRAME, len(self._keyframes) - 1)
        return self._apply_moves(self._keyframes[frame], frame * KEYFRAME, moves)

    def requested(self, times: Sequence[float] | Floats, resource: str) -> Floats:
        """The requested amount on each node at each of the ascending times: f8[times, nodes]."""
        amounts = self.requests[self._resource_row(resource)].astype(np.float64)
        steps = np.zeros((len(times), len(self.nodes)))
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.moves.time, side="left")
        in_range = at < len(times)
        deltas = np.where(self.moves.kind == MoveKind.BOUND, 1.0, -1.0) * amounts[self.moves.pod]
        np.add.at(steps, (at[in_range], self.moves.node[in_range]), deltas[in_range])
        return np.cumsum(steps, axis=0)

    def allocatable(self, times: Sequence[float] | Floats, resource: str) -> Floats:
        """The allocatable amount of each node at each of the ascending times; nan for a missing node."""
        row = self._resource_row(resource)
        has = np.full((len(times), len(self.nodes)), np.nan)
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.node_log.time, side="left").tolist()
        entries = zip(at, self.node_log.node.tolist(), self.node_log.allocatable[:, row].tolist(), strict=True)
        for begin, node, amount in entries:
            has[begin:, node] = amount
        return has

    def node_states(self, times: Sequence[float] | Floats) -> NDArray[np.uint8]:
        """The NodeState of each node at each of the ascending times: u1[times, nodes]."""
        states = np.zeros((len(times), len(self.nodes)), dtype=np.uint8)
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.node_log.time, side="left").tolist()
        for begin, node, state in zip(at, self.node_log.node.tolist(), self.node_log.state.tolist(), strict=True):
            states[begin:, node] = state
        return states

    def requested_shares(self, times: Sequence[float] | Floats, resource: str) -> Shares:
        """The requested share of each node, 0 to 1: f4[times, nodes]; nan where a node has none of the resource.

        The times must ascend. Raises ValueError for a resource that no node and no pod has.
        """
        has = self.allocatable(times, resource)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(has > 0.0, self.requested(times, resource) / has, np.nan)
        return shares.astype(np.float32)

    def _resource_row(self, name: str) -> int:
        try:
            return self.resources.index(name)
        except ValueError:
            raise ValueError(f"{name}: no node has it, known are {', '.join(self.resources)}") from None


# Fields that older stored outcomes lack.
LATER = ("tries", "deletions", "measures", "told", "looks", "scalings", "kinds", "evictions")
_PARTS: dict[str, type[Any]] = {
    "moves": PodMoves,
    "node_log": NodeLog,
    "samples": Samples,
    "use": UseLog,
    "guards": Guards,
    "tries": Tries,
    "deletions": Deletions,
    "measures": Measures,
    "told": PodMoves,
    "looks": Looks,
    "scalings": Scalings,
    "evictions": Evictions,
    "kinds": NodeKinds,
}
