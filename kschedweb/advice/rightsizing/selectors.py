"""Reads what containers should request, and what their pods used in the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.accounts.reach import sees
from kschedweb.advice.rightsizing import sizing
from kschedweb.advice.rightsizing.past import Past, past
from kschedweb.advice.rightsizing.sizing import VPA, Rates, Size
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import node_rows, snapshot_current
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.costs import Rates as Prices
from kschedweb.engine.pricing.table import INSTANCE_TYPE, Weights
from kschedweb.watermarks.containers import known
from kschedweb.watermarks.figures import CONTAINER, PEAK, Figure
from kschedweb.watermarks.models import Resolution
from kschedweb.watermarks.selectors import samples_matrix
from kschedweb.web.errors import ApplicationError
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.pricing.table import PriceTable
    from kschedweb.engine.state.columns import Floats
    from kschedweb.watermarks.containers import Known

NODE_HOURS = "node-hours"
_sizes: LRU[tuple[Rates, list[Size]]] = LRU(8)


class Unknown(ApplicationError):
    """Nothing was collected of the cluster's containers yet."""

    status = 409


def sizes_of(cluster: Cluster, method: str = VPA) -> tuple[Known, Rates, list[Size]]:
    """What is known, prices, and a line for each container whose namespace is seen, by name.

    Raises ``Unknown`` where nothing was collected.
    """
    found = known(cluster)
    if found is None:
        raise Unknown(
            f"Nothing is known yet of what the containers of {cluster.name} use: set a data source that collects it."
        )
    rates = rates_of(cluster)
    key = (cluster.pk, found.updated, method, rates)
    _, listed = _sizes.get(key, lambda: (rates, sizing.sizes(found.book, found.requested, method, rates)))
    return found, rates, [one for one in listed if sees(cluster.pk, one.namespace)]


def rates_of(cluster: Cluster) -> Rates:
    """What a millicore and a byte cost an hour on average over the priced nodes of the newest snapshot."""
    table = table_of(cluster)
    unit = table.currency if table else NODE_HOURS
    snapshot = snapshot_current(cluster)
    if snapshot is None:
        return Rates(float("nan"), float("nan"), unit, table is not None)
    rows = list(node_rows(snapshot).values_list("labels", "instance_type", "cpu_allocatable", "memory_allocatable"))
    labels = [{INSTANCE_TYPE: kind} if held is None else held for held, kind, *_ in rows]
    hourly = _hourly(table, labels)
    room = np.array([row[2:] for row in rows], dtype=np.float64).reshape(len(rows), 2).T
    shares = (table.weights if table else Weights()).shares()
    priced = ~np.isnan(hourly)
    each = [
        float(np.sum(hourly[priced]) * shares.get(name, 0.0) / whole) if (whole := np.sum(column[priced])) else np.nan
        for name, column in ((CPU, room[0]), (MEMORY, room[1]))
    ]
    return Rates(each[0], each[1], unit, table is not None)


def _hourly(table: PriceTable | None, labels: list[dict[str, str]]) -> Floats:
    return np.ones(len(labels)) if table is None else Prices.of(table, labels).hourly()


def peaks_of(cluster: Cluster, names: Sequence[str], resource: str, end: int, span: int) -> tuple[Floats, Floats, int]:
    """Times, the most that a pod's container used [times, names], and the seconds between samples.

    Five minutes apart where they are kept for ``span`` seconds, else as collected.
    """
    figure = Figure(CONTAINER, resource, PEAK)
    for resolution in (Resolution.FIVE_MINUTES, Resolution.COLLECTED):
        times, values = samples_matrix(cluster, figure, resolution, end - span, end, names)
        if len(times) > 1:
            break
    steps = np.diff(times)
    return times, values, int(min(np.median(steps), float(resolution))) if len(steps) else int(resolution)


def past_of(cluster: Cluster, listed: Sequence[Size], end: int) -> list[Past]:
    """What new requests and limits would have done to ``listed`` in the last seven days of collected use."""
    names = [one.name for one in listed]
    span = 7 * 86_400
    cpu, memory = (peaks_of(cluster, names, resource, end, span) for resource in (CPU, MEMORY))
    return past(listed, cpu, memory)
