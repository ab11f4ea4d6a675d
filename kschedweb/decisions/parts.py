"""The parts of the decision page, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from kschedweb.decisions.words import Reading
    from kschedweb.engine import Status


@dataclass(frozen=True)
class Stage:
    """One bar of the funnel: it rejects ``lost`` nodes, and ``left`` of ``total`` remain."""

    key: str
    label: str
    left: int
    lost: int
    total: int
    note: str = ""
    kind: str = "filter"

    @property
    def left_width(self) -> str:
        return _width(self.left, self.total)

    @property
    def lost_width(self) -> str:
        return _width(self.lost, self.total)


class Cell(NamedTuple):
    """One plugin's score on one node; ``tint`` 0 (least) to 6 (most) of what the plugin could add."""

    plugin: str
    raw: int
    normalized: int
    weight: int
    weighted: int
    tint: int


@dataclass(frozen=True)
class NodeRow:
    """One node of the matrix. Rejected nodes have a ``status`` and a ``reading``, feasible ones ``cells``."""

    node: str
    rank: int = 0
    total: int = 0
    margin: int = 0
    chosen: bool = False
    cells: tuple[Cell, ...] = ()
    status: Status | None = None
    reading: Reading | None = None
    other: int | None = None
    difference: int | None = None

    @property
    def link(self) -> str:
        """The node's name, quoted for an address."""
        return quote(self.node, safe="")

    @property
    def behind(self) -> int:
        """The distance from the highest total."""
        return -self.margin


@dataclass(frozen=True)
class FilterVerdict:
    """One filter's verdict on one node. ``state`` is "pass", "fail" or "skip".

    ``asked`` is false if an earlier filter rejected the node; then the verdict is what the filter would have said.
    """

    plugin: str
    state: str
    status: Status | None = None
    decisive: bool = False
    reading: Reading | None = None
    asked: bool = True


@dataclass(frozen=True)
class Miss:
    """The rejected node that comes closest to fitting."""

    node: str
    reading: Reading
    text: str


@dataclass(frozen=True)
class Headline:
    """``title`` is the answer in one sentence; ``quote`` the scheduler's own words; ``state`` gives the colour."""

    title: str
    state: str
    details: list[str] = field(default_factory=list)
    quote: str = ""


@dataclass
class Step:
    """A step of the arithmetic: its label, the formula with numbers, and the result."""

    label: str
    formula: str
    result: str


@dataclass(frozen=True)
class Figure:
    """A measured input of a score: its label, its value with unit, its age, and its source.

    ``stale`` is true if the plugin treats it as too old.
    """

    label: str
    value: str
    age: str = ""
    origin: str = ""
    stale: bool = False


@dataclass
class Arithmetic:
    """The arithmetic of ``plugin``'s score on ``node``; ``computed`` is ``None`` if only the result is known.

    For a priority, ``computed`` is the mapped score, and ``reduced`` the reduced one.

    ``figures`` are the measured inputs, empty for a plugin that uses none. ``notes`` say which figures were missing or
    stale, and what the plugin did then.
    """

    node: str
    plugin: str
    about: str
    steps: list[Step] = field(default_factory=list)
    computed: int | None = None
    reduced: int | None = None
    error: str = ""
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _width(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "0%"
