"""The parts of the decision page, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from django.utils.translation import gettext

if TYPE_CHECKING:
    from kschedweb.decisions.words import VerdictReading
    from kschedweb.engine import Status


@dataclass(frozen=True)
class Stage:
    """One bar of the funnel: it rejects ``lost`` nodes, and ``remaining`` of ``total`` remain."""

    key: str
    label: str
    remaining: int
    lost: int
    total: int
    note: str = ""
    kind: str = "filter"

    @property
    def counts(self) -> tuple[str, str]:
        """The nodes that remain and those that it rejects ("" for none), as text."""
        return f"{self.remaining:,}", f"−{self.lost:,}" if self.lost else ""

    @property
    def left_width(self) -> str:
        return _percent_width(self.remaining, self.total)

    @property
    def lost_width(self) -> str:
        return _percent_width(self.lost, self.total)


class Cell(NamedTuple):
    """One plugin's score on one node; ``step`` -3 (far below the plugin's median) to 3 (far above it)."""

    plugin: str
    raw: int
    normalized: int
    weight: int
    weighted: int
    step: int


@dataclass(frozen=True)
class Place:
    """A feasible node's place under a policy: its rank among ``of`` nodes, its total, and the highest possible one."""

    rank: int
    of: int
    total: int
    ceiling: int

    @property
    def share(self) -> float:
        """The total as a share of the highest possible one, 0 to 1."""
        return self.total / self.ceiling if self.ceiling else 0.0

    @property
    def percent(self) -> str:
        return f"{100 * self.share:.1f} %"

    @property
    def words(self) -> str:
        return gettext("rank %(rank)s of %(of)s, %(percent)s of the maximum") % {
            "rank": f"{self.rank:,}",
            "of": f"{self.of:,}",
            "percent": self.percent,
        }


@dataclass(frozen=True)
class NodeRow:
    """One node of the matrix. Rejected nodes have a ``status`` and a ``reading``, feasible ones a ``place`` and cells.

    ``other`` is its place under the other policy of a comparison, which chose it if ``other_chosen``.
    """

    node: str
    place: Place | None = None
    margin: int = 0
    chosen: bool = False
    cells: tuple[Cell, ...] = ()
    status: Status | None = None
    reading: VerdictReading | None = None
    other: Place | None = None
    other_chosen: bool = False

    @property
    def link(self) -> str:
        """The node's name, quoted for an address."""
        return quote(self.node, safe="")

    @property
    def behind(self) -> int:
        """The distance from the highest total."""
        return -self.margin


@dataclass(frozen=True)
class VerdictGroup:
    """Rejected nodes with the same verdict: ``nodes`` are their positions, ``names`` the first of their names.

    ``key`` names the group in addresses. ``words`` are plain ones, which follow a count of nodes; "" if the message
    says it all. A single node has its ``reading``.
    """

    key: str
    plugin: str
    code: str
    reasons: tuple[str, ...]
    words: str
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    reading: VerdictReading | None = None

    @property
    def count(self) -> int:
        return len(self.nodes)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def hidden(self) -> int:
        """How many nodes are not named."""
        return len(self.nodes) - len(self.names)


class ScoreDifference(NamedTuple):
    """The points that a plugin gives a node, those that it gives the node it is compared with, and the difference."""

    plugin: str
    points: int
    other_points: int

    @property
    def difference(self) -> int:
        return self.points - self.other_points

    @property
    def distance(self) -> int:
        return abs(self.difference)


@dataclass(frozen=True)
class WinnerComparison:
    """A feasible node against ``node``: the winner, or the runner-up if it is the winner itself.

    ``ahead`` is its lead in points, negative if it is behind. ``costs`` are the plugins that tell the two apart, what
    costs it most first; ``gains`` those that give it more.
    """

    node: str
    ahead: int
    costs: tuple[ScoreDifference, ...]
    gains: tuple[ScoreDifference, ...]

    @property
    def behind(self) -> int:
        return -self.ahead


@dataclass(frozen=True)
class FilterVerdict:
    """One filter's verdict on one node. ``state`` is "pass", "fail" or "skip".

    ``is_evaluated`` is false if an earlier filter rejected the node; then the verdict is what the filter would have
    said.
    """

    plugin: str
    state: str
    status: Status | None = None
    decisive: bool = False
    reading: VerdictReading | None = None
    is_evaluated: bool = True


@dataclass(frozen=True)
class NearestMiss:
    """The rejected node that comes closest to fitting."""

    node: str
    reading: VerdictReading
    text: str


@dataclass(frozen=True)
class Headline:
    """``title`` is the answer in one sentence; ``quote`` the scheduler's own words; ``state`` gives the colour."""

    title: str
    state: str
    details: list[str] = field(default_factory=list)
    quote: str = ""


@dataclass
class ArithmeticStep:
    """A step of the arithmetic: its label, the formula with numbers, and the result."""

    label: str
    formula: str
    result: str


@dataclass(frozen=True)
class Figure:
    """A measured input of a score: its label, its value with unit, its age in seconds, and its source.

    ``stale`` is true if the plugin treats it as too old.
    """

    label: str
    value: str
    age: float | None = None
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
    steps: list[ArithmeticStep] = field(default_factory=list)
    computed: int | None = None
    reduced: int | None = None
    error: str = ""
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _percent_width(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "0%"
