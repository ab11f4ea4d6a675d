"""The pods of a run at a time, as lists whose rows are made on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.studies.play.outcome import Kind, NodeState, Outcome
from kschedweb.playground.runs.rows import Rows, arranged
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
RUNNING, UNKNOWN, WAITING, LEFT, PREEMPTED, EVICTED, LOST, FAILED, COLLECTED, IGNORED, TO_COME = range(len(_NAMES))
_BY_KIND = {
    Kind.LEFT: LEFT,
    Kind.PREEMPTED: PREEMPTED,
    Kind.EVICTED: EVICTED,
    Kind.NODE_GONE: LOST,
    Kind.FAILED: FAILED,
}
ORDERS = ("pod", "state", "node", "arrived", "waited", "tries")
HEAD = ("pod", "state", "node", "arrived", "bound", "waited", "left", "attempts", "message")


@dataclass(frozen=True)
class PodRow:
    """A pod. Times are in seconds, ``None`` for never; ``state`` and ``node`` are those at the list's time."""

    key: str
    state: str
    node: str
    arrived: float | None
    bound: float | None
    left: float | None
    attempts: int
    message: str

    @property
    def waited(self) -> float | None:
        """Seconds from arrival to the last binding; "" for pods that had nodes at the beginning."""
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

    def cells(self) -> tuple[object, ...]:
        return (self.key, self.state, self.node, self.arrived, self.bound, self.waited, self.left, self.attempts,
                self.message)  # fmt: skip


def states(outcome: Outcome, time: float) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """The state of each pod (an index into STATES) and its node (-1: none) after everything up to ``time``."""
    placed = outcome.placed(time)
    found = np.full(len(outcome.pods), WAITING, dtype=np.int8)
    gone = outcome.left <= time  # False for nan
    found[gone] = LEFT
    moves = int(np.searchsorted(outcome.moves.time, time, side="right"))
    why = np.full(len(outcome.pods), -1, dtype=np.int8)
    kinds, pods = outcome.moves.kind[:moves], outcome.moves.pod[:moves]
    for kind, state in _BY_KIND.items():
        why[pods[kinds == kind]] = state
    found[gone & (why >= 0)] = why[gone & (why >= 0)]
    collected = outcome.forced.pod[outcome.forced.kind == Kind.COLLECTED]
    found[collected[gone[collected]]] = COLLECTED
    found[placed >= 0] = RUNNING
    silent = outcome.states([time])[0] == NodeState.UNKNOWN
    found[(placed >= 0) & np.append(silent, False)[placed]] = UNKNOWN  # of no node, -1, the last entry speaks
    found[~(outcome.arrived <= time)] = TO_COME
    ignored = [outcome.index[name] for name in outcome.ignored if name in outcome.index]
    found[ignored] = IGNORED
    return found, placed


class PodList(Rows[PodRow]):
    """The pods in ``state`` ("": any) at ``time`` whose name or node contains ``search``.

    ``ordering`` is one of ORDERS, descending after a "-"; the default is the order of arrival.
    """

    def __init__(
        self, outcome: Outcome, time: float, state: str = "", search: str = "", node: str = "", ordering: str = ""
    ) -> None:
        self.outcome = outcome
        self.states, self.placed = states(outcome, time)
        kept = np.ones(len(outcome.pods), dtype=bool)
        if state:
            kept &= self.states == _NAMES.index(state) if state in STATES else False
        if node:
            kept &= self.placed == (outcome.nodes.index(node) if node in outcome.nodes else -9)
        rows = np.flatnonzero(kept)
        if search:
            rows = np.array([row for row in rows.tolist() if search in outcome.pods[row]], dtype=np.intp)
        self.rows = rows[np.argsort(outcome.arrived[rows], kind="stable")].tolist()
        if (key := ordering.removeprefix("-")) in ORDERS:
            self.rows = arranged(self.rows, lambda row: self._key(key, row), down=ordering.startswith("-"))

    def _key(self, key: str, row: int) -> Any:
        if key == "pod":
            return self.outcome.pods[row]
        if key == "arrived":
            return _time(self.outcome.arrived[row])
        found = self.row(row)
        return {"state": found.words, "node": found.node, "waited": found.waited, "tries": found.attempts}[key]

    def of(self, key: str) -> PodRow:
        """The last pod named ``namespace/name``. Raises KeyError."""
        return self.row(self.outcome.index[key])

    def counts(self) -> dict[str, int]:
        """The number of pods in each state, without empty states."""
        numbers = np.bincount(self.states, minlength=len(_NAMES)).tolist()
        return {name: number for name, number in zip(_NAMES, numbers, strict=True) if number}

    def row(self, row: int) -> PodRow:
        out = self.outcome
        node, said = int(self.placed[row]), int(out.message[row])
        return PodRow(
            out.pods[row],
            _NAMES[int(self.states[row])],
            out.nodes[node] if node >= 0 else "",
            _time(out.arrived[row]),
            _time(out.bound[row]),
            _time(out.left[row]),
            int(out.attempts[row]),
            out.texts[said] if said >= 0 else "",
        )


def _time(value: np.float64) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


MOVE_HEAD = ("time", "pod", "node", "kind", "text")
KINDS = {kind: kind.name.lower().replace("_", "-") for kind in Kind}
TERMINATING = "terminating"  # it had to go, and its node is silent, so that it is there still


@dataclass(frozen=True)
class MoveRow:
    """A pod that comes to a node or leaves it, ``time`` seconds after the beginning."""

    time: float
    pod: str
    node: str
    kind: str
    text: str

    def cells(self) -> tuple[object, ...]:
        return self.time, self.pod, self.node, self.kind, self.text


class MoveList(Rows[MoveRow]):
    """The log of moves in order; ``forced``: only forced deletions, at the time when they began.

    The log of moves has those of which a silent node did not hear too.
    """

    def __init__(self, outcome: Outcome, forced: bool = False) -> None:
        self.outcome, self.moves = outcome, outcome.forced if forced else outcome.moves
        self.rows = range(len(self.moves))
        if not forced and len(outcome.unheard):
            times = np.concatenate([outcome.moves.time, outcome.unheard.time])
            self.rows = np.argsort(times, kind="stable").tolist()

    def row(self, row: int) -> MoveRow:
        out, moves, unheard = self.outcome, self.moves, row >= len(self.moves)
        if unheard:
            moves, row = out.unheard, row - len(moves)
        node, text = int(moves.node[row]), int(moves.text[row])
        return MoveRow(
            round(float(moves.time[row]), 6),
            out.pods[int(moves.pod[row])],
            out.nodes[node] if node >= 0 else "",
            TERMINATING if unheard else KINDS[Kind(int(moves.kind[row]))],
            out.texts[text] if text >= 0 else "",
        )
