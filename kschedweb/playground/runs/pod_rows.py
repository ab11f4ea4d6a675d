"""The pods of a run at a time, as lists whose rows are made on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.studies.play.outcome import MoveKind, NodeState, RunOutcome
from kschedweb.playground.runs.rows import LazyRows, sort_rows
from kschedweb.playground.runs.sections import TIME_CELL
from kschedweb.web import messages
from kschedweb.web.durations import format_duration
from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from numpy.typing import NDArray

STATES = {
    "running": _("on a node"),
    "unknown": _("unknown: its node is silent"),
    "waiting": _("waiting"),
    "left": _("ended or deleted"),
    "preempted": _("preempted"),
    "evicted": _("evicted"),
    "lost": _("lost with its node"),
    "failed": _("failed"),
    "collected": _("collected: its node does not exist"),
    "ignored": _("another scheduler's"),
    "to-come": _("not there yet"),
}
_NAMES = list(STATES)
# Indices into STATES, so that the states of all pods fit into a column of int8.
RUNNING, UNKNOWN, WAITING, ENDED, PREEMPTED, EVICTED, LOST, FAILED, COLLECTED, IGNORED, TO_COME = range(len(_NAMES))
# State of a pod after its last departure. COLLECTED is set apart: only forced_moves has those pods.
_BY_KIND = {
    MoveKind.ENDED: ENDED,
    MoveKind.PREEMPTED: PREEMPTED,
    MoveKind.EVICTED: EVICTED,
    MoveKind.NODE_GONE: LOST,
    MoveKind.FAILED: FAILED,
}
ORDERS = ("pod", "state", "node", "arrived", "waited", "tries")


@dataclass(frozen=True)
class PodRow:
    """A pod of a run at the list's time."""

    # namespace/name.
    key: str
    # Key of STATES, at the list's time.
    state: str
    # Its node at the list's time; "" for none.
    node: str
    # Times are seconds in the simulation; None for never.
    arrived: float | None
    bound: float | None
    departed: float | None
    attempts: int
    # Message of its last failed try; "" for none.
    message: str

    @property
    def waited(self) -> float | None:
        """Seconds from arrival to the last binding; ``None`` for pods that had nodes at the beginning."""
        if self.bound is None or self.arrived is None or not self.attempts:
            return None
        return round(self.bound - self.arrived, 6)

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def words(self) -> str:
        return STATES[self.state]


def pod_states(outcome: RunOutcome, time: float) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Return the state of each pod and its node after everything up to ``time``.

    States are indices into STATES, int8[pods]; nodes are positions, int32[pods], -1 for none.
    """
    placed = outcome.placed(time)
    states = np.full(len(outcome.pods), WAITING, dtype=np.int8)
    # A pod that never left has nan, for which the comparison is False.
    ended = outcome.departed <= time
    states[ended] = ENDED
    moves = int(np.searchsorted(outcome.moves.time, time, side="right"))
    why = np.full(len(outcome.pods), -1, dtype=np.int8)
    kinds, pods = outcome.moves.kind[:moves], outcome.moves.pod[:moves]
    # The columns are in the order of time, so the last departure of a pod is the one that stays.
    for kind, state in _BY_KIND.items():
        why[pods[kinds == kind]] = state
    states[ended & (why >= 0)] = why[ended & (why >= 0)]
    collected = outcome.forced_moves.pod[outcome.forced_moves.kind == MoveKind.COLLECTED]
    states[collected[ended[collected]]] = COLLECTED
    states[placed >= 0] = RUNNING
    silent = outcome.node_states([time])[0] == NodeState.UNKNOWN
    # Pods without a node index -1, the appended last entry, which is False.
    states[(placed >= 0) & np.append(silent, False)[placed]] = UNKNOWN
    # Negated, so that nan counts as not yet arrived.
    states[~(outcome.arrived <= time)] = TO_COME
    ignored = [outcome.index[name] for name in outcome.ignored if name in outcome.index]
    states[ignored] = IGNORED
    return states, placed


class PodList(LazyRows[PodRow]):
    """The pods in ``state`` ("": any) at ``time`` whose key contains ``search``, on ``node`` ("": any).

    ``ordering`` is one of ORDERS, descending after a "-"; the default is the order of arrival.
    """

    def __init__(
        self, outcome: RunOutcome, time: float, state: str = "", search: str = "", node: str = "", ordering: str = ""
    ) -> None:
        self.outcome = outcome
        self.states, self.placed = pod_states(outcome, time)
        selected = np.ones(len(outcome.pods), dtype=bool)
        if state:
            selected &= self.states == _NAMES.index(state) if state in STATES else False
        if node:
            # -9 is the position of no node, so an unknown name selects no pod.
            selected &= self.placed == (outcome.nodes.index(node) if node in outcome.nodes else -9)
        rows = np.flatnonzero(selected)
        if search:
            rows = np.array([row for row in rows.tolist() if search in outcome.pods[row]], dtype=np.intp)
        self.rows = rows[np.argsort(outcome.arrived[rows], kind="stable")].tolist()
        if (key := ordering.removeprefix("-")) in ORDERS:
            self.rows = sort_rows(self.rows, lambda row: self._sort_key(key, row), down=ordering.startswith("-"))

    def _sort_key(self, key: str, row: int) -> Any:
        if key == "pod":
            return self.outcome.pods[row]
        if key == "arrived":
            return _round_time(self.outcome.arrived[row])
        pod = self.row(row)
        return {"state": pod.words, "node": pod.node, "waited": pod.waited, "tries": pod.attempts}[key]

    def find_pod(self, key: str) -> PodRow:
        """Return the last pod named ``namespace/name``. Raise KeyError if there is none."""
        return self.row(self.outcome.index[key])

    def count_states(self) -> dict[str, int]:
        """Return the number of pods in each state, without empty states."""
        numbers = np.bincount(self.states, minlength=len(_NAMES)).tolist()
        return {name: number for name, number in zip(_NAMES, numbers, strict=True) if number}

    def row(self, row: int) -> PodRow:
        out = self.outcome
        node, text_index = int(self.placed[row]), int(out.message[row])
        return PodRow(
            out.pods[row],
            _NAMES[int(self.states[row])],
            out.nodes[node] if node >= 0 else "",
            _round_time(out.arrived[row]),
            _round_time(out.bound[row]),
            _round_time(out.departed[row]),
            int(out.attempts[row]),
            out.texts[text_index] if text_index >= 0 else "",
        )


def _round_time(value: np.float64) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


KINDS = {kind: kind.name.lower().replace("_", "-") for kind in MoveKind} | {MoveKind.ENDED: "left"}
# Kind of a move for a pod that had to go and is still there, because its node is silent.
TERMINATING = "terminating"


@dataclass(frozen=True)
class MoveRow:
    """A pod that comes to a node or leaves it."""

    # Seconds in the simulation.
    time: float
    pod: str
    node: str
    # Value of KINDS, or TERMINATING.
    kind: str
    text: str

    @property
    def subject(self) -> str:
        return self.pod


class MoveList(LazyRows[MoveRow]):
    """The log of moves in order; with ``forced`` only forced deletions, at the time when they began.

    The log of moves includes those that a silent node did not hear of.
    """

    def __init__(self, outcome: RunOutcome, forced: bool = False) -> None:
        self.outcome, self.moves = outcome, outcome.forced_moves if forced else outcome.moves
        self.rows = range(len(self.moves))
        if not forced and len(outcome.unheard_moves):
            times = np.concatenate([outcome.moves.time, outcome.unheard_moves.time])
            # Positions beyond the moves stand for unheard ones.
            self.rows = np.argsort(times, kind="stable").tolist()

    def row(self, row: int) -> MoveRow:
        out, moves, unheard = self.outcome, self.moves, row >= len(self.moves)
        if unheard:
            moves, row = out.unheard_moves, row - len(moves)
        node, text = int(moves.node[row]), int(moves.text[row])
        return MoveRow(
            round(float(moves.time[row]), 6),
            out.pods[int(moves.pod[row])],
            out.nodes[node] if node >= 0 else "",
            TERMINATING if unheard else KINDS[MoveKind(int(moves.kind[row]))],
            out.texts[text] if text >= 0 else "",
        )


PODS = RowTable(
    "pods",
    _("Pods"),
    (
        Column("pod", _("Pod"), sort="pod", value="key", cell="playground/runs/cells/pod.html", cell_css="name"),
        Column("state", _("State"), sort="state", cell="playground/runs/cells/state.html"),
        Column("node", _("Node"), sort="node"),
        Column("arrived", _("Arrived"), "number", sort="arrived", cell=lambda row: format_duration(row.arrived)),
        Column("bound"),
        Column("waited", _("Waited"), "number", sort="waited", cell=lambda row: format_duration(row.waited)),
        Column("left", value="departed"),
        Column("attempts", _("Tries"), "number", sort="tries"),
        Column("message", _("Last message"), cell_css="message small"),
    ),
)
MOVES = RowTable(
    "moves",
    _("Pods that had to leave"),
    (
        Column("time", _("Time"), cell=TIME_CELL, cell_css="nowrap"),
        Column("pod", _("Pod")),
        Column("node", _("Node")),
        Column("kind", _("What happened"), cell=lambda row: messages.translate_words(row.kind)),
        Column("text", _("Why"), cell_css="message"),
    ),
)
