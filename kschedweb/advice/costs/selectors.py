"""Read what snapshots cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.accounts.reach import can_see_namespace
from kschedweb.advice.costs import billing
from kschedweb.advice.costs.billing import Bill, CostLine, UsageShares
from kschedweb.advice.costs.columns import NodeColumns, nodes_of, pods_of
from kschedweb.clusters.prices.selectors import sheet_get, table_in
from kschedweb.clusters.redaction import in_part
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import CAPACITY_TYPE, PriceTable
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.table import NOW_WINDOWS
from kschedweb.watermarks.selectors import Table, load_tables
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.watermarks.usage.selectors import CurrentUse

# Nodes without a price that are named, per kind.
MAX_NAMED_NODES = 5

_prices: LRU[tuple[PriceTable | None, Floats]] = LRU(8)


def bill_of(snapshot: Snapshot, table: PriceTable | None, at: float | None = None) -> Bill:
    """Return the bill of an hour of ``snapshot`` by ``table``, with usage as of ``at`` (seconds of the epoch; now).

    Namespaces that the user may not view are one line, and so are their workloads.
    """
    nodes, pods = nodes_of(snapshot), pods_of(snapshot)
    cluster_bill = billing.compute_bill(
        table, _hourly_prices(snapshot, table), nodes, pods, _read_uses(snapshot, nodes, pods.workloads, at)
    )
    if not in_part(snapshot.cluster_id):
        return cluster_bill
    is_visible = partial(can_see_namespace, snapshot.cluster_id)
    return replace(
        cluster_bill,
        namespaces=billing.merge_hidden_lines(cluster_bill.namespaces, lambda line: is_visible(line.name)),
        workloads=billing.merge_hidden_lines(
            cluster_bill.workloads, lambda line: is_visible(line.name.partition("/")[0])
        ),
    )


def _hourly_prices(snapshot: Snapshot, table: PriceTable | None) -> Floats:
    """Return the hourly price of each node. It is cached, since neither a snapshot nor a table object changes."""
    cached = _prices.peek(snapshot.pk)
    if cached is None or cached[0] is not table:
        cached = table, billing.hourly_of(table, nodes_of(snapshot))
        _prices.put(snapshot.pk, cached)
    return cached[1]


def _read_uses(snapshot: Snapshot, nodes: NodeColumns, workloads: list[str], at: float | None) -> UsageShares:
    of_nodes, of_workloads = load_tables(snapshot.cluster, at)
    percent = _preferred_figures(of_nodes, nodes.names)
    a_pod = _preferred_figures(of_workloads, workloads)
    return UsageShares(
        {name: values / 100.0 for name, values in percent.items()},
        {CPU: a_pod[CPU] * 1000.0, MEMORY: a_pod[MEMORY]},
    )


def _preferred_figures(table: Table | None, names: list[str]) -> dict[str, Floats]:
    """Return the preferred figure of CPU and memory of each of ``names``, NaN if there is none."""
    unknown = {name: np.full(len(names), np.nan) for name in (CPU, MEMORY)}
    if table is None:
        return unknown
    statistic = next((window for window in NOW_WINDOWS if (CPU, window) in table.figures), "")
    places = {name: place for place, name in enumerate(table.names)}
    rows = np.array([places.get(name, -1) for name in names], dtype=np.int64)
    for resource, column in unknown.items():
        values = table.figures.get((resource, statistic))
        if values is not None and len(values):
            column[:] = np.where(rows >= 0, values[rows], np.nan)
    return unknown


def summarize_cost(snapshot: Snapshot, use: CurrentUse | None) -> tuple[str, CostLine] | None:
    """Return the currency and the total for the overview, None without a price table; ``use`` is that of the nodes.

    It reads only rows of nodes, once per snapshot.
    """
    table = table_in(sheet_get(snapshot.cluster))
    if table is None:
        return None
    nodes = nodes_of(snapshot)
    shares: Mapping[str, Mapping[str, float]] = {CPU: use.cpu, MEMORY: use.memory} if use else {CPU: {}, MEMORY: {}}
    used = {
        name: np.array([share_by_node.get(node, np.nan) for node in nodes.names], dtype=np.float64) / 100.0
        for name, share_by_node in shares.items()
    }
    return table.currency, billing.compute_total(table, _hourly_prices(snapshot, table), nodes, used)


@dataclass(frozen=True)
class UnpricedNodes:
    """Nodes of one kind without a price."""

    type: str
    capacity_type: str
    count: int
    # The first of them.
    names: list[str]


def list_unpriced(snapshot: Snapshot, table: PriceTable | None) -> list[UnpricedNodes]:
    """Return the nodes that no entry of ``table`` matches, by instance type, the largest group first."""
    nodes = nodes_of(snapshot)
    rates = Rates.from_table(table, nodes.labels)
    groups: dict[tuple[str, str], list[str]] = {}
    for place in np.flatnonzero(rates.entry < 0).tolist():
        labels = nodes.labels[place]
        groups.setdefault((nodes.types[place], labels.get(CAPACITY_TYPE, "")), []).append(nodes.names[place])
    unpriced_groups = [UnpricedNodes(*kind, len(names), names[:MAX_NAMED_NODES]) for kind, names in groups.items()]
    return sorted(unpriced_groups, key=lambda group: (-group.count, group.type))
