"""The hourly cost of a snapshot: in all, by groups of nodes, and by the pods that request resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.cost_division import divide_costs
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import PriceTable, Weights
from kschedweb.engine.state.columns import Codes, Floats

if TYPE_CHECKING:
    from kschedweb.advice.costs.columns import NodeColumns, PodColumns

# Hours: a twelfth of a year.
MONTH = 730
NODE_HOURS = "node-hours"
# The line of all namespaces that the user may not view.
OTHER_NAMESPACES = "other namespaces"


@dataclass(frozen=True)
class CostLine:
    """The hourly cost of some nodes or pods, in the unit of the bill. Amounts that are not known are NaN."""

    name: str
    # Nodes or pods.
    count: int
    # The price of nodes, or of the requests of pods.
    hour: float
    # The requested part of it.
    requested: float
    # The parts of it that are used and not used; NaN if no usage is known.
    used: float
    idle: float
    # The part of ``hour`` whose usage is known.
    hour_with_use: float
    # Nodes without a price, or pods on such nodes. Only ``count`` includes them.
    unpriced: int = 0

    @property
    def month(self) -> float:
        return self.hour * MONTH

    @property
    def has_use(self) -> bool:
        """True if any usage is known."""
        # Only NaN differs from itself.
        return self.idle == self.idle

    @property
    def has_price(self) -> bool:
        return self.unpriced < self.count

    @property
    def idle_share(self) -> float:
        """Return the idle part in percent of that with known usage, NaN if none is known."""
        return 100 * self.idle / self.hour_with_use if self.has_use and self.hour_with_use else float("nan")

    @property
    def free(self) -> float:
        """Return the part that no pod requests."""
        return self.hour - self.requested

    @property
    def requested_share(self) -> float:
        return 100 * self.requested / self.hour if self.hour else float("nan")


@dataclass(frozen=True)
class UsageShares:
    """The measured usage, NaN if it is not known."""

    # Shares of allocatable, by resource.
    nodes: Mapping[str, Floats]
    # Per pod of a workload: millicores and bytes, by resource.
    workloads: Mapping[str, Floats]


@dataclass(frozen=True)
class Bill:
    """A bill: the total, and lines by groups of nodes and of pods."""

    # A currency, or NODE_HOURS.
    unit: str
    note: str
    total: CostLine
    types: list[CostLine]
    pools: list[CostLine]
    namespaces: list[CostLine]
    workloads: list[CostLine]
    # By node, the percentage of its price that no pod requests, and that is not used; nodes are left out where it is
    # not known.
    unrequested: dict[str, float]
    unused: dict[str, float]

    def lines_by(self, grouping: str) -> list[CostLine]:
        return {
            "type": self.types, "pool": self.pools, "namespace": self.namespaces, "workload": self.workloads,
        }[grouping]  # fmt: skip

    @property
    def money(self) -> bool:
        return self.unit != NODE_HOURS


def hourly_of(table: PriceTable | None, nodes: NodeColumns) -> Floats:
    """Return the hourly price of each node, 1 node-hour without a table."""
    return np.ones(len(nodes.names)) if table is None else Rates.from_table(table, nodes.labels).price_per_node()


def compute_bill(
    table: PriceTable | None, hourly: Floats, nodes: NodeColumns, pods: PodColumns, uses: UsageShares
) -> Bill:
    """Compute the bill of an hour in which nodes cost ``hourly``, as from ``hourly_of``."""
    weights = table.weights if table else Weights()
    used = {name: uses.workloads[name][pods.workload] for name in (CPU, MEMORY)}
    parts = divide_costs(hourly, pods.node, nodes.allocatable, pods.requests, used, weights)
    of_nodes = _Amounts(hourly, hourly - parts.free, hourly - _used_of_nodes(hourly, uses.nodes, weights))
    of_pods = _Amounts(parts.requested_cost, parts.requested_cost, parts.idle)
    return Bill(
        table.currency if table else NODE_HOURS,
        table.note if table else "",
        of_nodes.sum_all(),
        of_nodes.sum_by_name(nodes.kinds),
        of_nodes.sum_by_name(nodes.pools),
        of_pods.sum_by_code(pods.namespaces, pods.namespace),
        of_pods.sum_by_code(pods.workloads, pods.workload),
        _percentages(nodes.names, parts.free, hourly),
        _percentages(nodes.names, of_nodes.idle, hourly),
    )


def _percentages(names: Sequence[str], part: Floats, whole: Floats) -> dict[str, float]:
    """Return ``part`` in percent of ``whole`` by name, without those of which it is not known."""
    shares = np.divide(100.0 * part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return {name: share for name, share in zip(names, shares.tolist(), strict=True) if share == share}


def compute_total(table: PriceTable, hourly: Floats, nodes: NodeColumns, used: Mapping[str, Floats]) -> CostLine:
    """Compute the total of ``compute_bill`` from nodes alone, with the requests that their rows have."""
    requested = np.zeros(len(hourly))
    for name, share in table.weights.compute_shares().items():
        # Requests may exceed allocatable on an overcommitted node: then they are the whole.
        whole = np.maximum(nodes.allocatable[name], nodes.requested[name])
        requested += share * np.divide(nodes.requested[name], whole, out=np.zeros(len(whole)), where=whole > 0)
    return _Amounts(hourly, hourly * requested, hourly - _used_of_nodes(hourly, used, table.weights)).sum_all()


def _used_of_nodes(hourly: Floats, shares: Mapping[str, Floats], weights: Weights) -> Floats:
    """Return the used part of each node's price, NaN if it is not known."""
    used = np.zeros(len(hourly))
    for name, weight in weights.compute_shares().items():
        if weight:
            used += weight * np.clip(shares[name], 0.0, 1.0)
    return used * hourly


@dataclass(frozen=True, eq=False)
class _Amounts:
    """Hourly amounts of nodes or of pods: f8[nodes] or f8[pods], NaN if not known."""

    hour: Floats
    requested: Floats
    idle: Floats

    def sum_by_code(self, names: Sequence[str], codes: Codes) -> list[CostLine]:
        """Return a line for each of ``names``, whose members have its position as their code."""
        is_known = ~np.isnan(self.idle)
        columns = (
            np.ones(len(codes)),
            np.nan_to_num(self.hour),
            np.nan_to_num(self.requested),
            np.where(is_known, self.hour, 0.0),
            np.where(is_known, self.idle, 0.0),
            is_known,
            np.isnan(self.hour),
        )
        # One bincount per column sums all groups in one pass.
        sums = [np.bincount(codes, weights=column, minlength=len(names)).tolist() for column in columns]
        return [_build_line(name, *row) for name, *row in zip(names, *sums, strict=True)]

    def sum_by_name(self, names: Sequence[str]) -> list[CostLine]:
        """Return a line for each distinct name; ``names`` are those of the nodes."""
        code_by_name: dict[str, int] = {}
        codes = np.array([code_by_name.setdefault(name, len(code_by_name)) for name in names], dtype=np.int32)
        return self.sum_by_code(list(code_by_name), codes)

    def sum_all(self) -> CostLine:
        return self.sum_by_code([""], np.zeros(len(self.hour), dtype=np.int32))[0]


def _build_line(
    name: str,
    count: float,
    hour: float,
    requested: float,
    hour_with_use: float,
    idle: float,
    known_count: float,
    unpriced: float,
) -> CostLine:
    nothing = not known_count
    used = float("nan") if nothing else hour_with_use - idle
    return CostLine(
        name, int(count), hour, requested, used, float("nan") if nothing else idle, hour_with_use, int(unpriced)
    )


def merge_hidden_lines(lines: list[CostLine], is_visible: Callable[[CostLine], bool]) -> list[CostLine]:
    """Return the ``lines`` that are ``is_visible``, and one line for all others if there are any."""
    visible_lines, hidden_lines = (
        [line for line in lines if is_visible(line)],
        [line for line in lines if not is_visible(line)],
    )
    if not hidden_lines:
        return visible_lines
    amounts = ("count", "hour", "requested", "used", "idle", "hour_with_use", "unpriced")
    sums = {name: np.nansum([getattr(line, name) for line in hidden_lines]).item() for name in amounts}
    if not any(line.has_use for line in hidden_lines):
        sums |= {"used": float("nan"), "idle": float("nan")}
    sums |= {name: int(sums[name]) for name in ("count", "unpriced")}
    return [*visible_lines, CostLine(OTHER_NAMESPACES, **sums)]


ORDERS: Mapping[str, Callable[[CostLine], float | str]] = {
    "name": lambda line: line.name,
    "count": lambda line: line.count,
    "hour": lambda line: line.hour,
    "requested": lambda line: line.requested,
    "used": lambda line: line.used,
    "idle": lambda line: line.idle,
    "idle_share": lambda line: line.idle_share,
    "unpriced": lambda line: line.unpriced,
}


def sort_lines(lines: list[CostLine], ordering: str) -> list[CostLine]:
    """Return ``lines`` by one of ORDERS, descending after a "-", else the dearest first. Unknown values come last."""
    key = ORDERS.get(ordering.lstrip("-"))
    if key is None:
        key, ordering = ORDERS["hour"], "-hour"
    sorted_lines = sorted((line for line in lines if key(line) == key(line)), key=lambda line: line.name)
    sorted_lines.sort(key=key, reverse=ordering.startswith("-"))  # type: ignore[arg-type]  # all of one kind
    return sorted_lines + [line for line in lines if key(line) != key(line)]
