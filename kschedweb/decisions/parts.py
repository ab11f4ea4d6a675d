"""What the decision page is made of, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from kschedweb.decisions.words import Reading
    from kschedweb.engine import Status


@dataclass(frozen=True)
class Stage:
    """One bar of the funnel: ``left`` of ``total`` nodes remain after it, ``lost`` of them fell here."""

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
        """The node's name as part of an address."""
        return quote(self.node, safe="")

    @property
    def behind(self) -> int:
        """How far from the highest total."""
        return -self.margin


@dataclass(frozen=True)
class FilterVerdict:
    """One filter's word on one node. ``state`` is "pass", "fail" or "skip".

    ``asked`` is false where an earlier one had ended the trial of the node: then it is what it would have said.
    """

    plugin: str
    state: str
    status: Status | None = None
    decisive: bool = False
    reading: Reading | None = None
    asked: bool = True


@dataclass(frozen=True)
class Miss:
    """The rejected node that lacks least."""

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
    """What is worked out, the formula with its numbers, and what it comes to."""

    label: str
    formula: str
    result: str


@dataclass(frozen=True)
class Figure:
    """A number that a score is worked out from: what it is of, its value with its unit, how old it is, and its origin.

    ``stale`` where the plugin takes it for too old.
    """

    label: str
    value: str
    age: str = ""
    origin: str = ""
    stale: bool = False


@dataclass
class Arithmetic:
    """How ``plugin`` came to its score on ``node``; ``computed`` is ``None`` where only the result is known.

    For a priority ``computed`` is what it mapped, and ``reduced`` what that was reduced to.

    ``figures`` are the measured inputs, empty for a plugin that goes by the snapshot alone; ``notes`` say in words
    what was missing or stale and what became of that.
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
