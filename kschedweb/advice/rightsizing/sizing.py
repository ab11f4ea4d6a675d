"""The sizes of containers: what they request, what they should request, and the difference. Computed by columns."""

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
# Hours: a twelfth of a year.
MONTH = 730
ORDERS = ("hour", "cpu", "memory", "name", "days", "pods")
# Millicores or bytes. A higher upper bound only means that there is too little history.
UNBOUNDED = 10**13
# Days of history from which on a recommendation is reliable.
SURE = 1.0


@dataclass(frozen=True, slots=True)
class SizeAmount:
    """CPU in millicores or memory in bytes, of one pod."""

    requested: int
    target: int
    lower: int
    upper: int
    limit: int
    new_limit: int
    # What all pods together request too much; negative if they request too little.
    saved: int

    @property
    def bounded(self) -> bool:
        """True if there is enough history for an upper bound."""
        return self.upper < UNBOUNDED


@dataclass(frozen=True, slots=True)
class ContainerSize:
    """The size of a workload's container."""

    # "namespace/Kind/name/container".
    name: str
    pods: int
    sidecar: bool
    # False without history: nothing is recommended then, and targets are the present requests.
    has_history: bool
    # Of history.
    days: float
    samples: int
    # Kills for want of memory.
    killed: int
    cpu: SizeAmount
    memory: SizeAmount
    # The hourly saving, NaN without any price.
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
        """True if the recommendation differs from the requests."""
        return self.has_history and any(amount.target != amount.requested for amount in (self.cpu, self.memory))


@dataclass(frozen=True, slots=True)
class HourlyRates:
    """The hourly cost of a millicore and of a byte, NaN if nothing has a price."""

    cpu: float
    memory: float
    # A currency, or node-hours.
    unit: str
    money: bool


@dataclass(frozen=True, slots=True)
class SizeTotals:
    """The sums over containers with history."""

    containers: int
    # Containers without history.
    unknown: int
    # What is requested too much.
    cpu: int
    memory: int
    hour: float
    # The longest history.
    days: float

    @property
    def month(self) -> float:
        return self.hour * MONTH


def compute_sizes(
    book: AggregateContainerStates, requested: Sequence[Requested], method: str, rates: HourlyRates
) -> list[ContainerSize]:
    """Return the size of each of ``requested``, in their order."""
    rows = {name: row for row, name in enumerate(book.names)}
    siblings = {container.name: container.siblings for container in requested}
    cpu, memory = _recommend_bounds(book, np.array([siblings.get(name, 1) for name in book.names], np.int64), method)
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


def _recommend_bounds(book: AggregateContainerStates, siblings: Ints, method: str) -> tuple[Bounds, Bounds]:
    """Return the bounds by VPA's recommender, or plain percentiles without margin, minimum and confidence."""
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
    """Return the limit that keeps its ratio to the request, as VPA sets it; 0 stays no limit."""
    if not limit:
        return 0
    # The double negation rounds up.
    return max(target, -(-limit * target // requested) if requested else limit)


def sum_sizes(listed: Iterable[ContainerSize]) -> SizeTotals:
    """Return the sums over ``listed``."""
    sizes = list(listed)
    known_sizes = [size for size in sizes if size.has_history]
    return SizeTotals(
        len(sizes),
        len(sizes) - len(known_sizes),
        sum(size.cpu.saved for size in known_sizes),
        sum(size.memory.saved for size in known_sizes),
        sum(size.hour for size in known_sizes),
        max((size.days for size in known_sizes), default=0.0),
    )


def sort_sizes(listed: Iterable[ContainerSize], ordering: str) -> list[ContainerSize]:
    """Return sizes by ``ordering`` of ORDERS, descending after a "-"; by default the largest saving comes first."""
    order = ordering.removeprefix("-") if ordering.removeprefix("-") in ORDERS else "hour"
    turned = ordering.startswith("-") or not ordering
    by_name = sorted(listed, key=lambda size: size.name)
    keys = {
        # NaN cannot be sorted; unknown costs come last.
        "hour": lambda size: size.hour if size.hour == size.hour else -np.inf,
        "cpu": lambda size: size.cpu.saved,
        "memory": lambda size: size.memory.saved,
        "name": lambda size: size.name,
        "days": lambda size: size.days,
        "pods": lambda size: size.pods,
    }
    return sorted(by_name, key=keys[order], reverse=turned)
