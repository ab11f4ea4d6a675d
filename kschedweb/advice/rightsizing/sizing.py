"""What containers request, what they should request, and the difference: lines of the list, made of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.rightsizing.histogram import Histograms, Ints
from kschedweb.engine.rightsizing.recommender import DAY, Bounds

if TYPE_CHECKING:
    from kschedweb.engine.rightsizing.aggregate_states import AggregateContainerStates
    from kschedweb.watermarks.container_requests import Requested

VPA = "vpa"
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
METHODS = (VPA, *SHARES)
MONTH = 730
ORDERS = ("hour", "cpu", "memory", "name", "days", "pods")
UNBOUNDED = 10**13  # millicores or bytes; an upper bound from here on says only that there is too little history
SURE = 1.0  # days of history from which on a recommendation is sure


@dataclass(frozen=True, slots=True)
class SizeAmount:
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
class ContainerSize:
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
    cpu: SizeAmount
    memory: SizeAmount
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
    def is_sure(self) -> bool:
        return self.days >= SURE

    @property
    def changes(self) -> bool:
        """Whether another amount is recommended than is requested."""
        return self.known and any(amount.target != amount.requested for amount in (self.cpu, self.memory))


@dataclass(frozen=True, slots=True)
class HourlyRates:
    """What an hour of a millicore and of a byte costs; nan where nothing has a price."""

    cpu: float
    memory: float
    unit: str
    money: bool


@dataclass(frozen=True, slots=True)
class SizeTotals:
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


def compute_sizes(
    book: AggregateContainerStates, requested: Sequence[Requested], method: str, rates: HourlyRates
) -> list[ContainerSize]:
    """A line for each of ``requested``, in their order."""
    rows = {name: row for row, name in enumerate(book.names)}
    siblings = {container.name: container.siblings for container in requested}
    cpu, memory = _recommend(book, np.array([siblings.get(name, 1) for name in book.names], np.int64), method)
    usage = book.usage
    span = np.where(usage.samples > 0, usage.last - usage.first, 0) / DAY
    sizes = []
    for container in requested:
        row = rows.get(container.name, -1)
        has_history = row >= 0 and usage.samples[row] > 0
        amounts = (
            _build_amount(cpu, row if has_history else -1, container.cpu, container.cpu_limit, container.pods),
            _build_amount(memory, row if has_history else -1, container.memory, container.memory_limit, container.pods),
        )
        hour = amounts[0].saved * rates.cpu + amounts[1].saved * rates.memory if has_history else 0.0
        history = (float(span[row]), int(usage.samples[row]), int(book.killed[row])) if has_history else (0.0, 0, 0)
        sizes.append(
            ContainerSize(
                container.name, container.pods, container.sidecar, bool(has_history), *history, *amounts, hour
            )
        )
    return sizes


def _recommend(book: AggregateContainerStates, siblings: Ints, method: str) -> tuple[Bounds, Bounds]:
    """By the vertical pod autoscaler, or a plain percentile without margin, minimum and confidence."""
    if not book.names:
        none = np.zeros(0, np.int64)
        return Bounds(none, none, none), Bounds(none, none, none)
    if method == VPA:
        return book.compute_bounds(siblings)
    return _plain_percentiles(book.usage.cpu, SHARES[method], 1000.0), _plain_percentiles(
        book.usage.memory, SHARES[method], 1.0
    )


def _plain_percentiles(used: Histograms, share: float, unit: float) -> Bounds:
    shares = (share, 0.5, 0.95)
    return Bounds(*(np.ceil(used.percentile(quantile) * unit).astype(np.int64) for quantile in shares))


def _build_amount(bounds: Bounds, row: int, total: int, limits: int, pods: int) -> SizeAmount:
    requested, limit = round(total / pods), round(limits / pods)
    if row < 0:
        return SizeAmount(requested, requested, 0, 0, limit, limit, 0)
    target = int(bounds.target[row])
    return SizeAmount(
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


def sum_sizes(listed: Iterable[ContainerSize]) -> SizeTotals:
    """The sums over ``listed``; ``days`` is the longest history."""
    sizes = list(listed)
    known_sizes = [size for size in sizes if size.known]
    return SizeTotals(
        len(sizes),
        len(sizes) - len(known_sizes),
        sum(size.cpu.saved for size in known_sizes),
        sum(size.memory.saved for size in known_sizes),
        sum(size.hour for size in known_sizes),
        max((size.days for size in known_sizes), default=0.0),
    )


def sort_sizes(listed: Iterable[ContainerSize], ordering: str) -> list[ContainerSize]:
    """In the order ``ordering`` of ORDERS, "-" before it turns it round; by default what saves most comes first."""
    order = ordering.removeprefix("-") if ordering.removeprefix("-") in ORDERS else "hour"
    turned = ordering.startswith("-") or not ordering
    by_name = sorted(listed, key=lambda size: size.name)
    keys = {
        "hour": lambda size: size.hour if size.hour == size.hour else -np.inf,
        "cpu": lambda size: size.cpu.saved,
        "memory": lambda size: size.memory.saved,
        "name": lambda size: size.name,
        "days": lambda size: size.days,
        "pods": lambda size: size.pods,
    }
    return sorted(by_name, key=keys[order], reverse=turned)
