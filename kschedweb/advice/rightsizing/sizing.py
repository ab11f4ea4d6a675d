"""What containers request, what they should request, and the difference: lines of the list, made of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.rightsizing.histogram import Histograms, Ints
from kschedweb.engine.rightsizing.recommender import DAY, Bounds

if TYPE_CHECKING:
    from kschedweb.engine.rightsizing.book import Book
    from kschedweb.watermarks.asked import Requested

VPA = "vpa"
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
METHODS = (VPA, *SHARES)
MONTH = 730
ORDERS = ("hour", "cpu", "memory", "name", "days", "pods")
UNBOUNDED = 10**13  # millicores or bytes; an upper bound from here on says only that there is too little history
SURE = 1.0  # days of history from which on a recommendation is sure


@dataclass(frozen=True, slots=True)
class Amount:
    """CPU in millicores or memory in bytes, of one pod. ``saved`` is what all pods request too much."""

    requested: int
    target: int
    lower: int
    upper: int
    limit: int
    new_limit: int
    saved: int

    @property
    def bounded(self) -> bool:
        """Whether there is enough history for an upper bound."""
        return self.upper < UNBOUNDED


@dataclass(frozen=True, slots=True)
class Size:
    """A container of a workload; ``hour`` is what an hour costs less, nan without any price.

    Without history (``known`` is false) nothing is recommended: targets are what is requested.
    """

    name: str
    pods: int
    sidecar: bool
    known: bool
    days: float
    samples: int
    killed: int
    cpu: Amount
    memory: Amount
    hour: float

    @property
    def namespace(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def workload(self) -> str:
        return self.name.rsplit("/", 1)[0]

    @property
    def container(self) -> str:
        return self.name.rsplit("/", 1)[1]

    @property
    def month(self) -> float:
        return self.hour * MONTH

    @property
    def sure(self) -> bool:
        return self.days >= SURE

    @property
    def changes(self) -> bool:
        """Whether another amount is recommended than is requested."""
        return self.known and any(one.target != one.requested for one in (self.cpu, self.memory))


@dataclass(frozen=True, slots=True)
class Rates:
    """What an hour of a millicore and of a byte costs; nan where nothing has a price."""

    cpu: float
    memory: float
    unit: str
    money: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over containers with history: what is requested too much in all, and how many are not known."""

    containers: int
    unknown: int
    cpu: int
    memory: int
    hour: float
    days: float

    @property
    def month(self) -> float:
        return self.hour * MONTH


def sizes(book: Book, requested: Sequence[Requested], method: str, rates: Rates) -> list[Size]:
    """A line for each of ``requested``, in their order."""
    rows = {name: row for row, name in enumerate(book.names)}
    siblings = {one.name: one.siblings for one in requested}
    cpu, memory = _recommended(book, np.array([siblings.get(name, 1) for name in book.names], np.int64), method)
    usage = book.usage
    span = np.where(usage.samples > 0, usage.last - usage.first, 0) / DAY
    found = []
    for one in requested:
        row = rows.get(one.name, -1)
        known = row >= 0 and usage.samples[row] > 0
        amounts = (
            _amount(cpu, row if known else -1, one.cpu, one.cpu_limit, one.pods),
            _amount(memory, row if known else -1, one.memory, one.memory_limit, one.pods),
        )
        hour = amounts[0].saved * rates.cpu + amounts[1].saved * rates.memory if known else 0.0
        about = (float(span[row]), int(usage.samples[row]), int(book.killed[row])) if known else (0.0, 0, 0)
        found.append(Size(one.name, one.pods, one.sidecar, bool(known), *about, *amounts, hour))
    return found


def _recommended(book: Book, siblings: Ints, method: str) -> tuple[Bounds, Bounds]:
    """By the vertical pod autoscaler, or a plain percentile without margin, minimum and confidence."""
    if not book.names:
        none = np.zeros(0, np.int64)
        return Bounds(none, none, none), Bounds(none, none, none)
    if method == VPA:
        return book.recommended(siblings)
    return _plain(book.usage.cpu, SHARES[method], 1000.0), _plain(book.usage.memory, SHARES[method], 1.0)


def _plain(used: Histograms, share: float, unit: float) -> Bounds:
    shares = (share, 0.5, 0.95)
    return Bounds(*(np.ceil(used.percentile(one) * unit).astype(np.int64) for one in shares))


def _amount(bounds: Bounds, row: int, total: int, limits: int, pods: int) -> Amount:
    requested, limit = round(total / pods), round(limits / pods)
    if row < 0:
        return Amount(requested, requested, 0, 0, limit, limit, 0)
    target = int(bounds.target[row])
    return Amount(
        requested,
        target,
        int(bounds.lower[row]),
        int(bounds.upper[row]),
        limit,
        limit_after(limit, requested, target),
        total - target * pods,
    )


def limit_after(limit: int, requested: int, target: int) -> int:
    """The limit that keeps its ratio to the request, as the vertical pod autoscaler sets it; 0 stays none."""
    if not limit:
        return 0
    return max(target, -(-limit * target // requested) if requested else limit)


def totals(listed: Iterable[Size]) -> Totals:
    """The sums over ``listed``; ``days`` is the longest history."""
    found = list(listed)
    known = [one for one in found if one.known]
    return Totals(
        len(found),
        len(found) - len(known),
        sum(one.cpu.saved for one in known),
        sum(one.memory.saved for one in known),
        sum(one.hour for one in known),
        max((one.days for one in known), default=0.0),
    )


def arranged(listed: Iterable[Size], ordering: str) -> list[Size]:
    """In the order ``ordering`` of ORDERS, "-" before it turns it round; by default what saves most comes first."""
    order = ordering.removeprefix("-") if ordering.removeprefix("-") in ORDERS else "hour"
    turned = ordering.startswith("-") or not ordering
    by_name = sorted(listed, key=lambda one: one.name)
    keys = {
        "hour": lambda one: one.hour if one.hour == one.hour else -np.inf,
        "cpu": lambda one: one.cpu.saved,
        "memory": lambda one: one.memory.saved,
        "name": lambda one: one.name,
        "days": lambda one: one.days,
        "pods": lambda one: one.pods,
    }
    return sorted(by_name, key=keys[order], reverse=turned)
