"""Read what containers should request, and what their pods used in the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.accounts.reach import can_see_namespace
from kschedweb.advice.rightsizing import sizing
from kschedweb.advice.rightsizing.past_effects import SizePast, estimate_past
from kschedweb.advice.rightsizing.sizing import VPA, ContainerSize, HourlyRates
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import node_rows, snapshot_current
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.costs import Rates as Prices
from kschedweb.engine.pricing.price_table import INSTANCE_TYPE, Weights
from kschedweb.watermarks.container_book import load_known_containers
from kschedweb.watermarks.figures import CONTAINER, PEAK, Figure
from kschedweb.watermarks.models import Resolution
from kschedweb.watermarks.selectors import samples_matrix
from kschedweb.web.errors import ApplicationError
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.pricing.price_table import PriceTable
    from kschedweb.engine.state.columns import Floats
    from kschedweb.watermarks.container_book import KnownContainers

NODE_HOURS = "node-hours"
_sizes: LRU[tuple[HourlyRates, list[ContainerSize]]] = LRU(8)


class NoUsageCollected(ApplicationError):
    """No usage of the cluster's containers has been collected yet."""

    status = 409


def sizes_of(cluster: Cluster, method: str = VPA) -> tuple[KnownContainers, HourlyRates, list[ContainerSize]]:
    """Return the known usage, the rates, and the size of each container whose namespace the user may view, by name.

    Raises ``NoUsageCollected`` if nothing was collected.
    """
    usage = load_known_containers(cluster)
    if usage is None:
        raise NoUsageCollected(
            f"Nothing is known yet of what the containers of {cluster.name} use: set a data source that collects it."
        )
    rates = rates_of(cluster)
    key = (cluster.pk, usage.updated, method, rates)
    _, listed = _sizes.get(key, lambda: (rates, sizing.compute_sizes(usage.book, usage.requested, method, rates)))
    return usage, rates, [size for size in listed if can_see_namespace(cluster.pk, size.namespace)]


def rates_of(cluster: Cluster) -> HourlyRates:
    """Return the average hourly cost of a millicore and a byte on the priced nodes of the newest snapshot."""
    table = table_of(cluster)
    unit = table.currency if table else NODE_HOURS
    snapshot = snapshot_current(cluster)
    if snapshot is None:
        return HourlyRates(float("nan"), float("nan"), unit, table is not None)
    rows = list(node_rows(snapshot).values_list("labels", "instance_type", "cpu_allocatable", "memory_allocatable"))
    labels = [{INSTANCE_TYPE: kind} if node_labels is None else node_labels for node_labels, kind, *_ in rows]
    hourly = _hourly_prices(table, labels)
    room = np.array([row[2:] for row in rows], dtype=np.float64).reshape(len(rows), 2).T
    shares = (table.weights if table else Weights()).compute_shares()
    priced = ~np.isnan(hourly)
    hourly_rates = [
        float(np.sum(hourly[priced]) * shares.get(name, 0.0) / whole) if (whole := np.sum(column[priced])) else np.nan
        for name, column in ((CPU, room[0]), (MEMORY, room[1]))
    ]
    return HourlyRates(hourly_rates[0], hourly_rates[1], unit, table is not None)


def _hourly_prices(table: PriceTable | None, labels: list[dict[str, str]]) -> Floats:
    return np.ones(len(labels)) if table is None else Prices.from_table(table, labels).price_per_node()


def peaks_of(cluster: Cluster, names: Sequence[str], resource: str, end: int, span: int) -> tuple[Floats, Floats, int]:
    """Return times, the peak of any pod's container [times, names], and the seconds between samples.

    The samples are five minutes apart if such are stored for ``span`` seconds, else as collected.
    """
    figure = Figure(CONTAINER, resource, PEAK)
    for resolution in (Resolution.FIVE_MINUTES, Resolution.COLLECTED):
        times, values = samples_matrix(cluster, figure, resolution, end - span, end, names)
        if len(times) > 1:
            break
    steps = np.diff(times)
    return times, values, int(min(np.median(steps), float(resolution))) if len(steps) else int(resolution)


def past_of(cluster: Cluster, listed: Sequence[ContainerSize], end: int) -> list[SizePast]:
    """Return what new requests and limits would have done to ``listed`` in the last seven days of collected usage."""
    names = [size.name for size in listed]
    span = 7 * 86_400
    cpu, memory = (peaks_of(cluster, names, resource, end, span) for resource in (CPU, MEMORY))
    return estimate_past(listed, cpu, memory)
