"""The outcome of a run as columns: where each pod was at any time, which pods waited, and the messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from enum import IntEnum
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.pricing.node_kinds import NodeKinds
from kschedweb.engine.state.columns import Codes, Floats, Ints
from kschedweb.engine.studies.actors import list_modules
from kschedweb.engine.studies.actors.descheduler.columns import NO_EVICTIONS, Evictions
from kschedweb.engine.studies.actors.recording import ActorRecorder
from kschedweb.engine.studies.actors.scaling.columns import NO_LOOKS, NO_SCALINGS, Looks, Scalings
from kschedweb.engine.studies.play import packing
from kschedweb.engine.studies.play.packing import OutcomeError, stored_as, stored_name
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
# Code for no node.
NOWHERE = -1
# Moves between two keyframes: a lookup in time applies at most so many moves to a keyframe.
KEYFRAME = 4096


class MoveKind(IntEnum):
    """The kind of a move: a pod came to its node, or left it for one of these reasons."""

    BOUND = 0
    ENDED = 1
    EVICTED = 2
    PREEMPTED = 3
    NODE_GONE = 4
    FAILED = 5
    # Not a move: the pod named a node that did not exist, and was collected as garbage without having run.
    COLLECTED = 6


class NodeState(IntEnum):
    """The state of a node."""

    # Ready, and open to any pod. Older outcomes have tainted nodes as open.
    OPEN = 0
    CORDONED = 1
    # Its kubelet reports that it is not ready.
    NOT_READY = 2
    # Its kubelet is silent, so it is not ready either.
    UNKNOWN = 3
    # Ready, and open to pods that tolerate its taints.
    TAINTED = 4


@dataclass(frozen=True, slots=True, eq=False)
class PodMoves:
    """The moves of pods to and from nodes, in order. Shape [moves] each."""

    # Seconds from the beginning.
    time: Floats
    # Row of the pod.
    pod: Codes
    # Position of the node to which the pod came, or that it left.
    node: Codes
    # A `MoveKind`.
    kind: NDArray[np.uint8]
    # Index in `RunOutcome.texts` of the reason why the pod left.
    text: Codes

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, slots=True, eq=False)
class NodeLog:
    """Nodes that came, changed and left, in order. Shape [entries] each."""

    time: Floats
    node: Codes
    # f8[entries, resources], NaN for a removed node.
    allocatable: Floats
    # A `NodeState`.
    state: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The number of nodes, of bound pods, and of waiting pods by queue. Shape [samples] each."""

    # Seconds from the beginning.
    time: Floats
    nodes: Codes
    bound: Codes
    active: Codes
    backing_off: Codes
    unschedulable: Codes
    gated: Codes
    # Bound pods on silent nodes; None for older outcomes.
    unknown: Codes | None = None

    @property
    def running(self) -> Codes:
        """The number of bound pods that are known to run."""
        running: Codes = self.bound if self.unknown is None else self.bound - self.unknown
        return running

    @property
    def pending(self) -> Codes:
        """The number of waiting pods in all queues."""
        pending: Codes = self.active + self.backing_off + self.unschedulable + self.gated
        return pending


@dataclass(frozen=True, slots=True, eq=False)
class UseLog:
    """Real use of nodes in percent of allocatable: f4[times, nodes] each, NaN where it is unknown.

    All are empty if nothing was measured. Very many measurements are thinned evenly.
    """

    time: Floats
    cpu: Shares
    memory: Shares


@dataclass(frozen=True, slots=True, eq=False)
class Guards:
    """Evictions of pods with a PodDisruptionBudget, in order. Shape [evictions] each."""

    time: Floats
    pod: Codes
    # Index in `RunOutcome.budgets`.
    budget: Codes
    # 1 if more of the budget's pods were down than it allows.
    beyond: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """The data from which the last try of each pod is repeated (see ``rewind``). Shape [pods] each."""

    # Seconds; NaN for pods that were never tried.
    time: Floats
    # Number of moves before the try.
    moves_before: Codes = field(metadata=stored_as("seen"))
    # Position of the node where the search began; -1 if the moves do not suffice to repeat the try.
    start: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Deletions:
    """Deletions of pods on nodes, where their grace period begins. Shape [deletions] each."""

    # Seconds from the beginning.
    time: Floats
    # Row of the pod.
    pod: Codes
    # Number of moves before.
    moves_before: Codes = field(metadata=stored_as("seen"))


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Measurements of use. Shape [measurements] each."""

    # Seconds from the beginning.
    time: Floats
    # Number of moves before.
    moves_before: Codes = field(metadata=stored_as("seen"))


# Defaults for runs that were stored before these columns existed.
_NO_CODES = np.zeros(0, dtype=np.int32)
NO_TRIES = Tries(np.zeros(0), _NO_CODES, _NO_CODES)
NO_MEASURES = Measures(np.zeros(0), _NO_CODES)
NO_MOVES = PodMoves(np.zeros(0), _NO_CODES, _NO_CODES, np.zeros(0, dtype=np.uint8), _NO_CODES)
NO_KINDS = NodeKinds()
NO_DELETIONS = Deletions(np.zeros(0), _NO_CODES, _NO_CODES)


@dataclass(eq=False)
class RunOutcome:
    """A run's columns over pods, nodes and time.

    Times are in seconds from the beginning, NaN for never. A row is one life of a pod: a new pod of the same name has
    another row. Each field is stored by its name, or by an older one (``stored_as``), so that old outcomes can be read.
    """

    # Names of pods ("namespace/name") by row, nodes by position, and resources.
    pods: list[str]
    nodes: list[str]
    resources: list[str]
    # Messages, once each.
    texts: list[str]
    # f8[pods]: when pods arrived, when they were bound last, and when they left their node, or the cluster while
    # waiting.
    arrived: Floats
    bound: Floats
    departed: Floats = field(metadata=stored_as("left"))
    # i4[pods]: the last node, -1 for none.
    node: Codes
    # i4[pods]: number of tries; 0 for pods that were on nodes at the beginning.
    attempts: Codes
    # i4[pods]: index in `texts` of the message of the last failed try; -1 for none.
    message: Codes
    # i4[pods].
    priority: Codes
    # i8[resources, pods] in milli-CPU, bytes and whole units.
    requests: Ints
    # i4[pods]: pods of one shape have equal requests and may run on the same nodes; -1 for pods that came with a node
    # and for rare shapes.
    shape: Codes
    # u1[shapes, nodes]: 1 if pods of the shape may run on the node if there is room.
    eligible: NDArray[np.uint8]
    moves: PodMoves
    node_log: NodeLog
    samples: Samples
    use: UseLog
    guards: Guards
    # Names of PodDisruptionBudgets.
    budgets: list[str]
    seed: int
    end: float
    # Times and messages of pods that did not pass admission.
    refused: list[tuple[float, str]] = field(default_factory=list)
    # Pods that name a scheduler that was not simulated.
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tries: Tries = NO_TRIES
    deletions: Deletions = NO_DELETIONS
    measures: Measures = NO_MEASURES
    # Forced departures, at the time when the deletion begins. Pods leave after their grace period, and never leave a
    # silent node.
    recorded_forced_moves: PodMoves = field(default=NO_MOVES, metadata=stored_as("told"))
    # Workloads whose number of pods a scaler sets.
    scaled: list[str] = field(default_factory=list)
    # f8[scaled]: its target in percent of requested CPU; NaN for none.
    targets: Floats = field(default_factory=lambda: np.zeros(0))
    # Reasons of `scalings`, once each.
    reasons: list[str] = field(default_factory=list)
    looks: Looks = NO_LOOKS
    scalings: Scalings = NO_SCALINGS
    # Controllers of pods as "namespace/Kind/name".
    workloads: list[str] = field(default_factory=list)
    # i4[pods]: index in `workloads`, -1 for none; empty in older outcomes.
    workload: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    # i4[pods]: row of the first pod in a chain of replacements; empty in older outcomes.
    first: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    # f8[nodes]: price of an hour by the autoscaler's offerings, NaN if it is unknown; empty without an autoscaler.
    prices: Floats = field(default_factory=lambda: np.zeros(0))
    # Actions of the autoscaler: time, launched or removed, node, and instance type or reason.
    autoscaler_actions: list[tuple[float, str, str, str]] = field(default_factory=list, metadata=stored_as("deeds"))
    evictions: Evictions = NO_EVICTIONS
    # Rounds of the descheduler: time, number of evictions and of refused ones, and what plugins reported.
    rounds: list[tuple[float, int, int, str]] = field(default_factory=list)
    # Names of plugins and profiles, to which `evictions` points.
    eviction_names: list[str] = field(default_factory=list, metadata=stored_as("movers"))
    # Records of columns of other actors (see ``studies.actors``) by name.
    further: dict[str, Any] = field(default_factory=dict)
    # Kinds of nodes by price; empty without prices.
    kinds: NodeKinds = NO_KINDS
    # i4[entries of the node log]: index in `kinds`, -1 for a removed node; empty without prices.
    kind: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def encode(self) -> bytes:
        """Encode the outcome as bytes; equal outcomes give equal bytes."""
        values = {stored_name(column): getattr(self, column.name) for column in fields(self)}
        # Outcomes without prices or descheduler keep the bytes that they had before these existed.
        left_out = set() if self.kinds.currency else {"kinds", "kind"}
        left_out |= set() if self.rounds else {"evictions", "rounds", "movers"}
        further = values.pop("further")
        return packing.pack_values({name: values[name] for name in values if name not in left_out} | further)

    @classmethod
    def decode(cls, data: bytes) -> RunOutcome:
        """Decode the outcome in bytes of ``encode``; raise OutcomeError for others."""
        read = packing.unpack_values(data)
        records = [recorder.records for recorder in list_recorders().values()]
        for name, kind in [*_PARTS.items(), *(entry for parts in records for entry in parts.items())]:
            if name in read or (name in _PARTS and name not in LATER):
                read[name] = packing.build_record(kind, read.get(name), name)
        own = set(map(stored_name, fields(cls)))
        further = {name: read.pop(name) for parts in records for name in parts if name in read and name not in own}
        outcome: RunOutcome = packing.build_record(cls, read | ({"further": further} if further else {}), "outcome")
        # JSON has lists in place of tuples.
        outcome.refused = [(float(time), str(text)) for time, text in outcome.refused]
        outcome.autoscaler_actions = [
            (float(time), str(action), str(node), str(text)) for time, action, node, text in outcome.autoscaler_actions
        ]
        outcome.rounds = [
            (float(time), int(evicted), int(not_), str(message)) for time, evicted, not_, message in outcome.rounds
        ]
        return outcome

    # Positions.

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of a pod by "namespace/name"; the last row if several pods had the name."""
        return {name: row for row, name in enumerate(self.pods)}

    @cached_property
    def forced_moves(self) -> PodMoves:
        """Pods that were preempted, evicted, failed or lost with their node.

        These are the ``recorded_forced_moves``; older outcomes have them among all moves.
        """
        if len(self.recorded_forced_moves):
            return self.recorded_forced_moves
        is_forced = self.moves.kind > MoveKind.ENDED
        return PodMoves(*(getattr(self.moves, column.name)[is_forced] for column in fields(PodMoves)))

    @cached_property
    def unheard_moves(self) -> PodMoves:
        """The ``forced_moves`` that a silent node does not learn of, so that the pod is terminating there still."""
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
        waits = np.isnan(self.bound) & np.isnan(self.departed)
        if self.ignored:
            waits[[self.index[name] for name in self.ignored if name in self.index]] = False
        return np.flatnonzero(waits)

    def list_notes(self, limit: int) -> list[str]:
        """Return each note and refusal once; after ``limit``, the number of the others."""
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
        # The last of several moves of a pod counts, as numpy assigns in order.
        after[self.moves.pod[begin:end]] = nodes
        return after

    def placed(self, time: float) -> Codes:
        """Return the node of each pod after everything up to and including ``time``, -1 for none. Shape [pods]."""
        moves = int(np.searchsorted(self.moves.time, time, side="right"))
        frame = min(moves // KEYFRAME, len(self._keyframes) - 1)
        return self._apply_moves(self._keyframes[frame], frame * KEYFRAME, moves)

    def requested(self, times: Sequence[float] | Floats, resource: str) -> Floats:
        """Return the requested amount on each node at each of the ascending times: f8[times, nodes]."""
        amounts = self.requests[self._resource_row(resource)].astype(np.float64)
        steps = np.zeros((len(times), len(self.nodes)))
        # Each move is added at the first time that sees it; the running sum carries it on.
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.moves.time, side="left")
        in_range = at < len(times)
        deltas = np.where(self.moves.kind == MoveKind.BOUND, 1.0, -1.0) * amounts[self.moves.pod]
        np.add.at(steps, (at[in_range], self.moves.node[in_range]), deltas[in_range])
        return np.cumsum(steps, axis=0)

    def allocatable(self, times: Sequence[float] | Floats, resource: str) -> Floats:
        """Return the allocatable amount of each node at each of the ascending times; NaN for a missing node."""
        row = self._resource_row(resource)
        has = np.full((len(times), len(self.nodes)), np.nan)
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.node_log.time, side="left").tolist()
        entries = zip(at, self.node_log.node.tolist(), self.node_log.allocatable[:, row].tolist(), strict=True)
        for begin, node, amount in entries:
            has[begin:, node] = amount
        return has

    def node_states(self, times: Sequence[float] | Floats) -> NDArray[np.uint8]:
        """Return the NodeState of each node at each of the ascending times: u1[times, nodes]."""
        states = np.zeros((len(times), len(self.nodes)), dtype=np.uint8)
        at = np.searchsorted(np.asarray(times, dtype=np.float64), self.node_log.time, side="left").tolist()
        for begin, node, state in zip(at, self.node_log.node.tolist(), self.node_log.state.tolist(), strict=True):
            states[begin:, node] = state
        return states

    def requested_shares(self, times: Sequence[float] | Floats, resource: str) -> Shares:
        """Return the requested share of each node, 0 to 1: f4[times, nodes]; NaN if a node has none of the resource.

        The times must ascend. Raise ValueError for a resource that no node and no pod has.
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


# Stored names of fields that older outcomes lack.
LATER = ("tries", "deletions", "measures", "told", "kinds")
# Stored names of fields that are records of columns, and their types.
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
    "kinds": NodeKinds,
}


@cache
def list_recorders() -> dict[str, type[ActorRecorder]]:
    """Return the recorders of actors by their room."""
    return {module.__name__.split(".")[-2]: module.RECORDER for module in list_modules("columns")}


def split_columns(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of actors as arguments of `RunOutcome`: those without a field of their own are ``further``."""
    columns = {name: column for part in parts for name, column in part.items()}
    own = {column.name for column in fields(RunOutcome)}
    further = {name: columns.pop(name) for name in columns.keys() - own}
    return {**columns, "further": dict(sorted(further.items()))}
