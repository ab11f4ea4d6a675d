"""Reads recorded use for pages and REST."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np

from kschedweb.clusters.models import Cluster, NodeRow, PodRow, Snapshot
from kschedweb.clusters.selectors import closed_nodes, snapshot_current
from kschedweb.engine.state.columns import Mask
from kschedweb.engine.state.watermarks.table import NOW_WINDOWS
from kschedweb.engine.studies.moves.balance import LevelSpread
from kschedweb.watermarks import selectors
from kschedweb.watermarks.figures import NODE, WORDS, WORKLOAD
from kschedweb.watermarks.inventory import WITHOUT_OWNER, inventory_of
from kschedweb.watermarks.report_text import origin_words
from kschedweb.watermarks.selectors import Freshness, Table
from kschedweb.watermarks.usage import measures
from kschedweb.watermarks.usage.measures import Floats
from kschedweb.watermarks.usage.query import UsageQuery

# Intervals of the source.
STALE = 3
# Times of a chart, each at most a row of samples.
POINTS = 300
UNFINISHED = ("", "Running", "Pending", "Unknown")


@dataclass(frozen=True)
class RecordedUse:
    """Recorded use of nodes over the requested time."""

    # The query that was answered.
    query: UsageQuery
    # True if the requested time was empty, and an earlier time is shown.
    late: bool
    names: tuple[str, ...]
    times: Floats
    # [times, nodes].
    values: Floats
    origins: tuple[str, ...]
    # Seconds.
    resolution: int
    # Nodes that are left out of the skew.
    closed: frozenset[str] = frozenset()

    @cached_property
    def has_figures(self) -> Mask:
        """True for times with a figure of any node. Shape [times]."""
        return np.asarray(~np.isnan(self.values).all(axis=1), dtype=np.bool_)

    @cached_property
    def compared(self) -> Floats:
        """The use of the nodes that are compared; NaN for others. Shape [times, nodes]."""
        left_out = np.array([name in self.closed for name in self.names], dtype=np.bool_)
        return np.where(left_out, np.nan, self.values)

    @cached_property
    def skew(self) -> measures.Skew:
        return measures.compute_skew(self.compared)

    @cached_property
    def compared_last(self) -> int | None:
        """The newest time with a figure of a node that is compared."""
        return self.skew.last_known()

    @cached_property
    def last(self) -> int | None:
        """The newest time with a figure."""
        positions = np.flatnonzero(self.has_figures)
        return int(positions[-1]) if positions.size else None

    def find_nearest(self, moment: datetime | None) -> int | None:
        """Return the last time with a figure up to ``moment``, or else the first one after it; by default the
        newest.
        """
        if moment is None:
            return self.last
        positions = np.flatnonzero(self.has_figures)
        if not positions.size:
            return None
        before = int(np.searchsorted(self.times[positions], moment.timestamp(), side="right")) - 1
        return int(positions[max(before, 0)])


def load_use(
    cluster: Cluster, query: UsageQuery, freshness: Freshness | None = None, points: int = POINTS
) -> RecordedUse:
    """Return the use of ``cluster``'s nodes for ``query``, at ``points`` times or fewer.

    If a time that ends now is empty but older figures exist, the same length of time up to their end is used.
    """
    use = _load_history(cluster, query, points)
    if use.times.size or freshness is None or freshness.updated is None or query.range == "":
        return use
    if freshness.updated > query.start:
        return use
    return replace(_load_history(cluster, query.ended_at(freshness.updated), points), late=True)


def _load_history(cluster: Cluster, query: UsageQuery, points: int) -> RecordedUse:
    history = selectors.load_history(
        cluster, NODE, query.resource, query.statistic, query.start.timestamp(), query.end.timestamp(), points
    )
    names, values = history.names, history.values.astype(np.float64)
    if query.search:
        part = query.search.lower()
        columns = [column for column, name in enumerate(names) if part in name.lower()]
        names, values = tuple(names[column] for column in columns), values[:, columns]
    # A person who searches for nodes wants to compare those, even closed ones.
    snapshot = None if query.search else snapshot_current(cluster)
    closed = frozenset[str]() if snapshot is None else closed_nodes(snapshot)
    return RecordedUse(query, False, names, history.times, values, history.origins, history.resolution, closed)


# Requests against use ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeUse:
    """Requests and use; CPU in millicores, memory in bytes."""

    name: str
    requested: float
    # NaN: unknown.
    used: float
    # Seconds of the epoch; NaN: unknown.
    updated: float
    # Of a node; 0 for a workload.
    allocatable: float = 0.0
    pods: int = 1
    zone: str = ""
    # Namespace, kind and name of a workload.
    parts: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.used == self.used

    @property
    def idle(self) -> bool:
        return self.used <= 0

    @property
    def ratio(self) -> float:
        """Requests divided by use; NaN if the use is unknown, infinite if it is 0."""
        if not self.is_known:
            return float("nan")
        return self.requested / self.used if self.used > 0 else float("inf")

    @property
    def unused(self) -> float:
        """Requests minus use."""
        return self.requested - self.used

    @property
    def requested_share(self) -> float:
        """Requests in percent of allocatable."""
        return 100 * self.requested / self.allocatable if self.allocatable else float("nan")

    @property
    def used_share(self) -> float:
        return 100 * self.used / self.allocatable if self.allocatable else float("nan")

    @property
    def moment(self) -> datetime | None:
        return None if np.isnan(self.updated) else datetime.fromtimestamp(self.updated, UTC)


ORDERS: Mapping[str, Callable[[NodeUse], float | str]] = {
    "name": lambda use: use.name,
    "requested": lambda use: use.requested,
    "used": lambda use: use.used,
    "ratio": lambda use: use.ratio,
    "unused": lambda use: use.unused,
    "requested_share": lambda use: use.requested_share,
    "used_share": lambda use: use.used_share,
    "pods": lambda use: use.pods,
}


def sort_uses(uses: list[NodeUse], ordering: str) -> list[NodeUse]:
    """Return ``uses`` sorted by one of ORDERS, descending after a "-". Unknown values come last in either case."""
    key = ORDERS[ordering.lstrip("-")]

    def is_unknown(use: NodeUse) -> bool:
        value = key(use)
        return value != value

    sorted_uses = sorted((use for use in uses if not is_unknown(use)), key=lambda use: use.name)
    sorted_uses.sort(key=key, reverse=ordering.startswith("-"))  # type: ignore[arg-type]  # all of one kind
    return sorted_uses + [use for use in uses if is_unknown(use)]


def node_uses(snapshot: Snapshot, query: UsageQuery) -> list[NodeUse]:
    """Return every node of ``snapshot`` with the requests of its pods and its use by the newest figures."""
    resource = query.resource
    rows = NodeRow.objects.filter(snapshot=snapshot)
    if query.search:
        rows = rows.filter(name__icontains=query.search)
    columns = ("name", "zone", f"{resource}_requested", f"{resource}_allocatable", "pods_bound")
    figures = _newest_figures(selectors.load_table(snapshot.cluster, NODE), query)
    uses = []
    for name, zone, requested, allocatable, pods in rows.values_list(*columns):
        percent, updated = figures.get(name, (float("nan"), float("nan")))
        uses.append(NodeUse(name, requested, percent * allocatable / 100, updated, allocatable, pods, zone))
    return uses


def workload_uses(snapshot: Snapshot, query: UsageQuery) -> list[NodeUse]:
    """Return every workload of ``snapshot`` with pods on nodes: their total requests and use."""
    resource = query.resource
    # Converts cores to millicores, the unit of requests.
    unit = 1000 if resource == "cpu" else 1
    figures = _newest_figures(selectors.load_table(snapshot.cluster, WORKLOAD), query)
    rows = PodRow.objects.filter(snapshot=snapshot, phase__in=UNFINISHED).exclude(node="").order_by()
    inventory = inventory_of(snapshot.cluster)
    pods_of, requested_by = np.zeros((2, len(inventory.workloads) + 1))
    for namespace, pod, request in rows.values_list("namespace", "name", f"{resource}_request"):
        # Pods without a workload are counted at the last index, which is dropped.
        place = inventory.owners.get((namespace, pod), WITHOUT_OWNER)
        pods_of[place] += 1
        requested_by[place] += request
    part = query.search.lower()
    uses = []
    totals = zip(pods_of[:-1].tolist(), requested_by[:-1].tolist(), strict=True)
    for name, (pods, requested) in zip(inventory.workloads, totals, strict=True):
        if pods and part in name.lower():
            per_pod, updated = figures.get(name, (float("nan"), float("nan")))
            used = per_pod * pods * unit
            uses.append(NodeUse(name, requested, used, updated, pods=int(pods), parts=tuple(name.split("/", 2))))
    return uses


@dataclass(frozen=True)
class Total:
    """Total requests and use of the nodes or workloads whose use is known."""

    known_count: int
    all: int
    requested: float
    used: float
    allocatable: float
    # The one with most unused requests.
    greediest: NodeUse | None

    @property
    def ratio(self) -> float:
        return self.requested / self.used if self.used > 0 else float("nan")

    @property
    def requested_share(self) -> float:
        """Requests in percent of the nodes' allocatable."""
        return 100 * self.requested / self.allocatable if self.allocatable else float("nan")

    @property
    def used_share(self) -> float:
        return 100 * self.used / self.allocatable if self.allocatable else float("nan")


def compute_total(uses: list[NodeUse]) -> Total:
    measured = [use for use in uses if use.is_known]
    return Total(
        len(measured),
        len(uses),
        sum(use.requested for use in measured),
        sum(use.used for use in measured),
        sum(use.allocatable for use in measured),
        max(measured, key=lambda use: use.unused, default=None),
    )


def _newest_figures(table: Table | None, query: UsageQuery) -> dict[str, tuple[float, float]]:
    """Return value and time of the requested figure by object."""
    key = (query.resource, query.statistic)
    if table is None or key not in table.figures:
        return {}
    return dict(zip(table.names, zip(table.figures[key].tolist(), table.times[key].tolist(), strict=True), strict=True))


# Beside the requests, on other pages ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CurrentUse:
    """The use of nodes by the newest figures, in percent of allocatable."""

    statistic: str
    origin: str
    at: datetime
    stale: bool
    # By node.
    cpu: Mapping[str, float]
    memory: Mapping[str, float]

    def node_levels(self, node: str) -> tuple[float | None, float | None]:
        """Return CPU and memory of a node."""
        return self.cpu.get(node), self.memory.get(node)

    @property
    def words(self) -> str:
        """The statistic in words, such as "average of 1 hour"."""
        return WORDS[self.statistic]

    def compute_skew(self, closed: Collection[str]) -> float | None:
        """Return the skew of CPU use now, without the nodes ``closed``; ``None`` if no other one is known."""
        spread = LevelSpread.from_levels(np.array([level for node, level in self.cpu.items() if node not in closed]))
        return None if spread is None else spread.skew


def stale_before(cluster: Cluster, origin: str, now: datetime) -> datetime | None:
    """Return the time before which figures are stale; ``None`` for the demo's, which no source renews."""
    if origin == "demo":
        return None
    return now - timedelta(seconds=STALE * selectors.source_get(cluster).interval)


def load_current_use(cluster: Cluster, now: datetime) -> CurrentUse | None:
    """Return the use of the nodes of ``cluster``, to show beside requests; ``None`` if nothing was collected."""
    table = selectors.load_table(cluster, NODE)
    if table is None:
        return None
    statistic = next((entry for entry in NOW_WINDOWS if ("cpu", entry) in table.figures), None)
    if statistic is None:
        return None
    at = datetime.fromtimestamp(table.at, UTC)
    limit = stale_before(cluster, table.origin, now)
    cpu, memory = (_by_name(table, (resource, statistic)) for resource in ("cpu", "memory"))
    return CurrentUse(statistic, origin_words(table.origin), at, limit is not None and at < limit, cpu, memory)


def _by_name(table: Table, key: tuple[str, str]) -> dict[str, float]:
    """Return the known values by name."""
    values = table.figures.get(key)
    if values is None:
        return {}
    return {name: value for name, value in zip(table.names, values.tolist(), strict=True) if value == value}
