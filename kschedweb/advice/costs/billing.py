"""What a snapshot costs an hour: in all, by groups of nodes, and by who asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.dividing import divide
from kschedweb.engine.pricing.table import PriceTable, Weights
from kschedweb.engine.state.columns import Codes, Floats

if TYPE_CHECKING:
    from kschedweb.advice.costs.ground import Nodes, Pods

MONTH = 730  # hours: a twelfth of a year
NODE_HOURS = "node-hours"
OTHERS = "other namespaces"  # of which who looks sees no more than the sum


@dataclass(frozen=True)
class Line:
    """What some nodes or pods cost an hour, in the unit of the bill.

    Of nodes ``hour`` is their price, ``requested`` and ``used`` are parts of it. Of pods ``hour`` is what they request.
    ``used`` and ``idle`` are nan where no use is known; ``of`` is the part of ``hour`` whose use is known. ``unpriced``
    nodes, or pods on such nodes, count nowhere but in ``count``.
    """

    name: str
    count: int
    hour: float
    requested: float
    used: float
    idle: float
    of: float
    unpriced: int = 0

    @property
    def month(self) -> float:
        return self.hour * MONTH

    @property
    def known(self) -> bool:
        """Whether any use is known."""
        return self.idle == self.idle

    @property
    def priced(self) -> bool:
        return self.unpriced < self.count

    @property
    def idle_share(self) -> float:
        """Idle in percent of that whose use is known; nan where none is."""
        return 100 * self.idle / self.of if self.known and self.of else float("nan")

    @property
    def free(self) -> float:
        """What no pod requests."""
        return self.hour - self.requested

    @property
    def requested_share(self) -> float:
        return 100 * self.requested / self.hour if self.hour else float("nan")


@dataclass(frozen=True)
class Uses:
    """What is really used: of nodes in shares of allocatable, of workloads a pod in millicores and bytes; or nan."""

    nodes: Mapping[str, Floats]
    workloads: Mapping[str, Floats]


@dataclass(frozen=True)
class Bill:
    """``unit`` is a currency, or NODE_HOURS; groups of nodes and of pods by what they are grouped by."""

    unit: str
    note: str
    total: Line
    types: list[Line]
    pools: list[Line]
    namespaces: list[Line]
    workloads: list[Line]

    def by(self, what: str) -> list[Line]:
        return {
            "type": self.types, "pool": self.pools, "namespace": self.namespaces, "workload": self.workloads,
        }[what]  # fmt: skip

    @property
    def money(self) -> bool:
        return self.unit != NODE_HOURS


def hourly_of(table: PriceTable | None, nodes: Nodes) -> Floats:
    """What each node costs an hour; without a table one node-hour."""
    return np.ones(len(nodes.names)) if table is None else Rates.of(table, nodes.labels).hourly()


def bill(table: PriceTable | None, hourly: Floats, nodes: Nodes, pods: Pods, uses: Uses) -> Bill:
    """The bill of an hour in which each node costs what ``hourly_of`` says."""
    weights = table.weights if table else Weights()
    used = {name: uses.workloads[name][pods.workload] for name in (CPU, MEMORY)}
    parts = divide(hourly, pods.node, nodes.allocatable, pods.requests, used, weights)
    of_nodes = _Amounts(hourly, hourly - parts.free, hourly - _used_of_nodes(hourly, uses.nodes, weights))
    of_pods = _Amounts(parts.asked, parts.asked, parts.idle)
    return Bill(
        table.currency if table else NODE_HOURS,
        table.note if table else "",
        of_nodes.total(),
        of_nodes.named(nodes.kinds),
        of_nodes.named(nodes.pools),
        of_pods.lines(pods.namespaces, pods.namespace),
        of_pods.lines(pods.workloads, pods.workload),
    )


def summary(table: PriceTable, hourly: Floats, nodes: Nodes, used: Mapping[str, Floats]) -> Line:
    """The total of ``bill``, from nodes alone: what is requested is as their lists have it."""
    requested = np.zeros(len(hourly))
    for name, share in table.weights.shares().items():
        whole = np.maximum(nodes.allocatable[name], nodes.requested[name])
        requested += share * np.divide(nodes.requested[name], whole, out=np.zeros(len(whole)), where=whole > 0)
    return _Amounts(hourly, hourly * requested, hourly - _used_of_nodes(hourly, used, table.weights)).total()


def _used_of_nodes(hourly: Floats, shares: Mapping[str, Floats], weights: Weights) -> Floats:
    """The part of each node's price that is really used, nan where that is not known."""
    used = np.zeros(len(hourly))
    for name, weight in weights.shares().items():
        if weight:
            used += weight * np.clip(shares[name], 0.0, 1.0)
    return used * hourly


@dataclass(frozen=True, eq=False)
class _Amounts:
    """Amounts an hour of nodes or of pods: f8[nodes] or f8[pods], nan where they are not known."""

    hour: Floats
    requested: Floats
    idle: Floats

    def lines(self, names: Sequence[str], codes: Codes) -> list[Line]:
        """A line for each of ``names``, whose members have its position as their code."""
        known = ~np.isnan(self.idle)
        columns = (
            np.ones(len(codes)),
            np.nan_to_num(self.hour),
            np.nan_to_num(self.requested),
            np.where(known, self.hour, 0.0),
            np.where(known, self.idle, 0.0),
            known,
            np.isnan(self.hour),
        )
        sums = [np.bincount(codes, weights=column, minlength=len(names)).tolist() for column in columns]
        return [_line(name, *row) for name, *row in zip(names, *sums, strict=True)]

    def named(self, names: Sequence[str]) -> list[Line]:
        """A line for each distinct name; ``names`` are those of the nodes."""
        known: dict[str, int] = {}
        codes = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int32)
        return self.lines(list(known), codes)

    def total(self) -> Line:
        return self.lines([""], np.zeros(len(self.hour), dtype=np.int32))[0]


def _line(
    name: str, count: float, hour: float, requested: float, of: float, idle: float, known: float, unpriced: float
) -> Line:
    nothing = not known
    used = float("nan") if nothing else of - idle
    return Line(name, int(count), hour, requested, used, float("nan") if nothing else idle, of, int(unpriced))


def others_together(lines: list[Line], seen: Callable[[Line], bool]) -> list[Line]:
    """``lines`` that are ``seen``, and one for all others, where there are any."""
    kept, others = [one for one in lines if seen(one)], [one for one in lines if not seen(one)]
    if not others:
        return kept
    amounts = ("count", "hour", "requested", "used", "idle", "of", "unpriced")
    sums = {name: np.nansum([getattr(one, name) for one in others]).item() for name in amounts}
    if not any(one.known for one in others):
        sums |= {"used": float("nan"), "idle": float("nan")}
    sums |= {name: int(sums[name]) for name in ("count", "unpriced")}
    return [*kept, Line(OTHERS, **sums)]


ORDERS: Mapping[str, Callable[[Line], float | str]] = {
    "name": lambda one: one.name,
    "count": lambda one: one.count,
    "hour": lambda one: one.hour,
    "requested": lambda one: one.requested,
    "used": lambda one: one.used,
    "idle": lambda one: one.idle,
    "idle_share": lambda one: one.idle_share,
    "unpriced": lambda one: one.unpriced,
}


def arranged(lines: list[Line], ordering: str) -> list[Line]:
    """``lines`` sorted by one of ORDERS, descending after a "-"; other texts: the dearest first. Unknown ones last."""
    key = ORDERS.get(ordering.lstrip("-"))
    if key is None:
        key, ordering = ORDERS["hour"], "-hour"
    known = sorted((one for one in lines if key(one) == key(one)), key=lambda one: one.name)
    known.sort(key=key, reverse=ordering.startswith("-"))  # type: ignore[arg-type]  # all of one kind
    return known + [one for one in lines if key(one) != key(one)]
