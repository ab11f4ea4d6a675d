"""Reads what snapshots cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.accounts.reach import sees
from kschedweb.advice.costs import billing
from kschedweb.advice.costs.billing import Bill, Line, Uses
from kschedweb.advice.costs.ground import Nodes, nodes_of, pods_of
from kschedweb.clusters.prices.selectors import sheet_get, table_in
from kschedweb.clusters.seen import in_part
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.table import CAPACITY_TYPE, PriceTable
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.table import NOW_WINDOWS
from kschedweb.watermarks.selectors import Table, tables
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.watermarks.usage.selectors import Present

NAMED = 5  # nodes without a price that are named, a kind

_prices: LRU[tuple[PriceTable | None, Floats]] = LRU(8)


def bill_of(snapshot: Snapshot, table: PriceTable | None, at: float | None = None) -> Bill:
    """What an hour of ``snapshot`` costs by ``table``, with the use as known at ``at`` (seconds of the epoch; now).

    Namespaces that who looks does not see are one line, and so are their workloads.
    """
    nodes, pods = nodes_of(snapshot), pods_of(snapshot)
    found = billing.bill(table, _hourly(snapshot, table), nodes, pods, _uses(snapshot, nodes, pods.workloads, at))
    if not in_part(snapshot.cluster_id):
        return found
    seen = partial(sees, snapshot.cluster_id)
    return replace(
        found,
        namespaces=billing.others_together(found.namespaces, lambda one: seen(one.name)),
        workloads=billing.others_together(found.workloads, lambda one: seen(one.name.partition("/")[0])),
    )


def _hourly(snapshot: Snapshot, table: PriceTable | None) -> Floats:
    """What each node costs an hour, worked out once: neither a snapshot nor a table that was read ever changes."""
    known = _prices.peek(snapshot.pk)
    if known is None or known[0] is not table:
        known = table, billing.hourly_of(table, nodes_of(snapshot))
        _prices.put(snapshot.pk, known)
    return known[1]


def _uses(snapshot: Snapshot, nodes: Nodes, workloads: list[str], at: float | None) -> Uses:
    of_nodes, of_workloads = tables(snapshot.cluster, at)
    percent = _columns(of_nodes, nodes.names)
    a_pod = _columns(of_workloads, workloads)
    return Uses(
        {name: values / 100.0 for name, values in percent.items()},
        {CPU: a_pod[CPU] * 1000.0, MEMORY: a_pod[MEMORY]},
    )


def _columns(found: Table | None, names: list[str]) -> dict[str, Floats]:
    """The preferred figure of CPU and memory of each of ``names``, nan where there is none."""
    unknown = {name: np.full(len(names), np.nan) for name in (CPU, MEMORY)}
    if found is None:
        return unknown
    statistic = next((one for one in NOW_WINDOWS if (CPU, one) in found.figures), "")
    places = {name: place for place, name in enumerate(found.names)}
    rows = np.array([places.get(name, -1) for name in names], dtype=np.int64)
    for resource, column in unknown.items():
        values = found.figures.get((resource, statistic))
        if values is not None and len(values):
            column[:] = np.where(rows >= 0, values[rows], np.nan)
    return unknown


def brief(snapshot: Snapshot, use: Present | None) -> tuple[str, Line] | None:
    """The currency and the total for the overview, ``None`` without a price table; ``use`` is that of the nodes.

    It reads rows of nodes alone, once a snapshot.
    """
    table = table_in(sheet_get(snapshot.cluster))
    if table is None:
        return None
    nodes = nodes_of(snapshot)
    shares: Mapping[str, Mapping[str, float]] = {CPU: use.cpu, MEMORY: use.memory} if use else {CPU: {}, MEMORY: {}}
    used = {
        name: np.array([found.get(node, np.nan) for node in nodes.names], dtype=np.float64) / 100.0
        for name, found in shares.items()
    }
    return table.currency, billing.summary(table, _hourly(snapshot, table), nodes, used)


@dataclass(frozen=True)
class Unpriced:
    """Nodes of one kind without a price: how many, and the first of them."""

    type: str
    capacity_type: str
    count: int
    names: list[str]


def unpriced(snapshot: Snapshot, table: PriceTable | None) -> list[Unpriced]:
    """The nodes that no entry of ``table`` matches, by instance type; the largest group first."""
    nodes = nodes_of(snapshot)
    rates = Rates.of(table, nodes.labels)
    groups: dict[tuple[str, str], list[str]] = {}
    for place in np.flatnonzero(rates.entry < 0).tolist():
        labels = nodes.labels[place]
        groups.setdefault((nodes.types[place], labels.get(CAPACITY_TYPE, "")), []).append(nodes.names[place])
    found = [Unpriced(*kind, len(names), names[:NAMED]) for kind, names in groups.items()]
    return sorted(found, key=lambda one: (-one.count, one.type))
