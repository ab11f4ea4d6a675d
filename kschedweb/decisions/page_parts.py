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
    """One bar of the funnel."""

    # The stage in addresses.
    key: str
    label: str
    # Nodes that remain, nodes that it rejects, and all nodes.
    remaining: int
    lost: int
    total: int
    # Reasons, in words.
    note: str = ""
    # The colour of the bar: "all", "filter", "feasible" or "chosen".
    kind: str = "filter"

    @property
    def counts(self) -> tuple[str, str]:
        """Return the nodes that remain and those that it rejects ("" for none), as text."""
        return f"{self.remaining:,}", f"−{self.lost:,}" if self.lost else ""

    @property
    def left_width(self) -> str:
        return _percent_width(self.remaining, self.total)

    @property
    def lost_width(self) -> str:
        return _percent_width(self.lost, self.total)


class Cell(NamedTuple):
    """One plugin's score on one node."""

    plugin: str
    raw: int
    normalized: int
    weight: int
    weighted: int
    # From -3 (far below the plugin's median) to 3 (far above it).
    step: int


@dataclass(frozen=True)
class Place:
    """A feasible node's place under a policy."""

    # The rank from 1 among ``of`` nodes.
    rank: int
    of: int
    total: int
    # The highest total that the weights allow.
    ceiling: int

    @property
    def share(self) -> float:
        """Return the total as a share of the highest possible one, 0 to 1."""
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
    """One node of the matrix. Rejected nodes have a status and a reading, feasible ones a place and cells."""

    node: str
    place: Place | None = None
    # The total less the highest one, so 0 or less.
    margin: int = 0
    chosen: bool = False
    cells: tuple[Cell, ...] = ()
    status: Status | None = None
    reading: VerdictReading | None = None
    # Its place under the other policy of a comparison.
    other: Place | None = None
    # True if the other policy chose it.
    other_chosen: bool = False

    @property
    def link(self) -> str:
        """Return the node's name, quoted for an address."""
        return quote(self.node, safe="")

    @property
    def behind(self) -> int:
        """Return the distance from the highest total."""
        return -self.margin


@dataclass(frozen=True)
class VerdictGroup:
    """Rejected nodes with the same verdict."""

    # Its name in addresses.
    key: str
    plugin: str
    code: str
    reasons: tuple[str, ...]
    # Plain words that follow a count of nodes, "" if the message says it all.
    words: str
    # Positions of the nodes, and the names of the first of them.
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    # Only for a single node.
    reading: VerdictReading | None = None

    @property
    def count(self) -> int:
        return len(self.nodes)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def hidden(self) -> int:
        """Return how many nodes are not named."""
        return len(self.nodes) - len(self.names)


class ScoreDifference(NamedTuple):
    """The points that a plugin gives to a node and to the node that it is compared with."""

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
    """A feasible node compared with another: the winner, or the runner-up if it is the winner itself."""

    # The other node.
    node: str
    # The lead in points, negative if it is behind.
    ahead: int
    # Plugins that give it fewer points, and those that give it more, the largest difference first.
    costs: tuple[ScoreDifference, ...]
    gains: tuple[ScoreDifference, ...]

    @property
    def behind(self) -> int:
        return -self.ahead


@dataclass(frozen=True)
class FilterVerdict:
    """One filter's verdict on one node."""

    plugin: str
    # "pass", "fail" or "skip".
    state: str
    status: Status | None = None
    decisive: bool = False
    reading: VerdictReading | None = None
    # False if an earlier filter rejected the node: the verdict is then hypothetical.
    is_evaluated: bool = True


@dataclass(frozen=True)
class NearestMiss:
    """The rejected node that comes closest to fitting."""

    node: str
    reading: VerdictReading
    text: str


@dataclass(frozen=True)
class Headline:
    """The answer of a page in one sentence, with details."""

    title: str
    # Gives the colour.
    state: str
    details: list[str] = field(default_factory=list)
    # The scheduler's own words.
    quote: str = ""


@dataclass
class ArithmeticStep:
    """A step of the arithmetic: its label, the formula with numbers, and the result."""

    label: str
    formula: str
    result: str


@dataclass(frozen=True)
class Figure:
    """A measured input of a score."""

    label: str
    # With its unit.
    value: str
    # Seconds; None if it is not known.
    age: float | None = None
    origin: str = ""
    # True if the plugin treats it as too old.
    stale: bool = False


@dataclass
class Arithmetic:
    """The arithmetic of a plugin's score on a node."""

    node: str
    plugin: str
    # What the score depends on, in a sentence.
    about: str
    steps: list[ArithmeticStep] = field(default_factory=list)
    # The result of the steps, None if only the score is known. For a priority it is the mapped score.
    computed: int | None = None
    # The reduced score of a priority.
    reduced: int | None = None
    # Why there is no arithmetic.
    error: str = ""
    # Measured inputs, empty for a plugin that uses none.
    figures: list[Figure] = field(default_factory=list)
    # Which figures were missing or stale, and how the plugin treated them.
    notes: list[str] = field(default_factory=list)


def _percent_width(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "0%"
