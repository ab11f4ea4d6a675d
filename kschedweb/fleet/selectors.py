"""Read many clusters at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, JSONField, OuterRef, Q, Subquery
from django.http import Http404
from django.utils.translation import gettext_noop

from kschedweb.clusters.models import Cluster, NodeRow, PodRow, Snapshot
from kschedweb.clusters.selectors import cluster_list
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import parse_minor
from kschedweb.fleet.models import FleetTrial, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

UNKNOWN_RELEASE = gettext_noop("unknown")


@dataclass(frozen=True)
class ClusterLine:
    """A cluster with its summary. None stands for values that are not known (yet); shares are percentages."""

    # A Cluster of ``fleet_list``, with its ``standing``.
    cluster: Any

    @property
    def name(self) -> str:
        return str(self.cluster.name)

    @property
    def release(self) -> str:
        return parse_minor(self.cluster.server_version) or UNKNOWN_RELEASE

    @property
    def taken_at(self) -> datetime | None:
        taken_at: datetime | None = self.cluster.taken_at
        return taken_at

    @property
    def has_summary(self) -> bool:
        """True if more is known than the counts of the snapshot."""
        return self.cluster.standing is not None

    @property
    def figures_at(self) -> datetime | None:
        """Return when the snapshot of these figures was taken, None if only counts are known."""
        standing_at: datetime | None = self.cluster.standing_at
        return standing_at

    @property
    def stale(self) -> bool:
        """True if the figures are of an earlier snapshot than the newest, whose summary is still to be computed."""
        return self.figures_at is not None and self.taken_at is not None and self.figures_at < self.taken_at

    @cached_property
    def values(self) -> Json:
        return self.cluster.standing or {}

    def count(self, name: str, kind: str) -> int | None:
        """Return a count of the summary, else of the snapshot by its ``kind``."""
        counts = self.cluster.counts
        return self.values.get(name, counts.get(kind, 0) if counts is not None else None)

    @property
    def nodes(self) -> int | None:
        return self.count("nodes", "Node")

    @property
    def pods(self) -> int | None:
        return self.count("pods", "Pod")

    @property
    def pending(self) -> int | None:
        return self.count("pending", "pending")

    @property
    def reasons(self) -> list[tuple[str, int]]:
        return [(reason, pods) for reason, pods in self.values.get("reasons", ())]

    @property
    def reason_counts(self) -> list[Json]:
        """Return the reasons by name, for REST."""
        return [{"reason": reason, "pods": pods} for reason, pods in self.reasons]

    @property
    def requested(self) -> float | None:
        """Return the requested percentage of the CPU of nodes that take pods."""
        share: float | None = self.values.get("cpu", {}).get("requested")
        return share

    @property
    def used(self) -> float | None:
        share: float | None = self.values.get("cpu", {}).get("used")
        return share

    @property
    def skew(self) -> float | None:
        points: float | None = self.values.get("skew")
        return points

    @property
    def unit(self) -> str:
        return (self.values.get("cost") or {}).get("unit", "")

    @property
    def hour(self) -> float | None:
        """Return the hourly cost in ``unit``, None without a price table."""
        price: float | None = (self.values.get("cost") or {}).get("hour")
        return price


ORDERS: dict[str, Callable[[ClusterLine], Any]] = {
    "name": lambda line: line.name,
    "release": lambda line: _in_order(line.release),
    "nodes": lambda line: line.nodes,
    "pods": lambda line: line.pods,
    "pending": lambda line: line.pending,
    "requested": lambda line: line.requested,
    "used": lambda line: line.used,
    "skew": lambda line: line.skew,
    "hour": lambda line: line.hour,
    "read": lambda line: line.taken_at,
}
ORDER = "-pending"


def fleet_list() -> QuerySet[Cluster]:
    """Return all clusters with their newest summary and its time, None if there is no summary.

    A summary stays until that of a newer snapshot is computed; otherwise the page would be empty for part of every
    minute.
    """
    newest = _cluster_snapshots().filter(standing__isnull=False)
    values_subquery = Subquery(newest.values("standing__values")[:1], output_field=JSONField())
    return cluster_list().annotate(standing=values_subquery, standing_at=Subquery(newest.values("taken_at")[:1]))


def _cluster_snapshots() -> QuerySet[Snapshot]:
    """Return the snapshots of the outer query's cluster, the newest first."""
    return Snapshot.objects.filter(cluster=OuterRef("pk"), complete=True, moment=None).order_by("-taken_at", "-id")


def list_lines(clusters: Iterable[Cluster], *, reason: str = "", ordering: str = ORDER) -> list[ClusterLine]:
    """Return ``clusters`` of ``fleet_list`` by one of ORDERS, descending after a "-"; unknown values come last."""
    key, backwards = ORDERS[ordering.lstrip("-")], ordering.startswith("-")
    matching = [line for line in map(ClusterLine, clusters) if not reason or reason in dict(line.reasons)]
    sortable = [line for line in matching if key(line) is not None]
    # Sorting is stable, so equal values stay in the order of names.
    sortable.sort(key=lambda line: line.name)
    sortable.sort(key=key, reverse=backwards)
    return sortable + [line for line in matching if key(line) is None]


@dataclass(frozen=True)
class Totals:
    """The sums of some clusters."""

    clusters: int
    nodes: int
    pods: int
    pending: int
    # Clusters that were read, of which only counts are known.
    unknown: int
    # Clusters whose summary is older than their newest snapshot.
    stale: int
    # Hourly cost by unit.
    hour: dict[str, float]


def compute_totals(lines: Iterable[ClusterLine]) -> Totals:
    listed = list(lines)
    hour: dict[str, float] = defaultdict(float)
    for line in listed:
        if line.hour is not None:
            hour[line.unit] += line.hour
    return Totals(
        clusters=len(listed),
        nodes=sum(line.nodes or 0 for line in listed),
        pods=sum(line.pods or 0 for line in listed),
        pending=sum(line.pending or 0 for line in listed),
        unknown=sum(line.taken_at is not None and not line.has_summary for line in listed),
        stale=sum(line.stale for line in listed),
        hour=dict(sorted(hour.items())),
    )


@dataclass(frozen=True)
class Reason:
    """A reason why pods are pending, with the numbers of pods and clusters."""

    text: str
    pods: int
    clusters: int


def count_reasons(lines: Iterable[ClusterLine]) -> list[Reason]:
    """Count why pods are pending under the default policy, most frequent first; a pod counts under each reason."""
    pods, clusters = Counter[str](), Counter[str]()
    for line in lines:
        for text, count in line.reasons:
            pods[text] += count
            clusters[text] += 1
    return [Reason(text, count, clusters[text]) for text, count in pods.most_common()]


def count_releases(lines: Iterable[ClusterLine]) -> list[tuple[str, int]]:
    """Return the minor releases, the newest first, with the number of clusters that run each."""
    counted = Counter(line.release for line in lines)
    return sorted(counted.items(), key=lambda entry: _in_order(entry[0]), reverse=True)


def _in_order(release: str) -> list[int]:
    """Return the sort key of a release; an unknown one comes first."""
    return [int(part) if part.isdecimal() else -1 for part in release.split(".")]


def list_unknown() -> list[Cluster]:
    """Return the clusters whose newest snapshot has no summary, the longest unread first."""
    clusters = Cluster.objects.annotate(newest=Subquery(_cluster_snapshots().values("pk")[:1]))
    standings = Standing.objects.filter(snapshot=OuterRef("newest"))
    return list(clusters.exclude(newest=None).exclude(Exists(standings)).order_by("refreshed_at"))


def newest_snapshots() -> QuerySet[Snapshot]:
    """Return the newest snapshot of each cluster."""
    later = Snapshot.objects.filter(
        cluster=OuterRef("cluster"), complete=True, moment=None, taken_at__gt=OuterRef("taken_at")
    )
    return Snapshot.objects.filter(complete=True, moment=None).exclude(Exists(later))


def pods_everywhere(words: str) -> QuerySet[PodRow]:
    """Return the pods in the newest snapshots of all clusters whose name contains ``words``, or "namespace/part".

    Names in Kubernetes are lower case. A comparison that respects case takes the database a fraction of the time.
    """
    namespace, _, name = words.lower().rpartition("/")
    rows = PodRow.objects.filter(snapshot__in=newest_snapshots(), name__contains=name)
    rows = rows.filter(namespace__startswith=namespace) if namespace else rows
    return (
        rows.select_related("snapshot__cluster").defer(*_LARGE).order_by("snapshot__cluster__name", "namespace", "name")
    )


def nodes_everywhere(words: str) -> QuerySet[NodeRow]:
    """Return the nodes in the newest snapshots of all clusters whose name or instance type matches ``words``."""
    rows = NodeRow.objects.filter(snapshot__in=newest_snapshots())
    rows = rows.filter(Q(name__contains=words.lower()) | Q(instance_type__iexact=words))
    return rows.select_related("snapshot__cluster").defer(*_LARGE, "labels").order_by("snapshot__cluster__name", "name")


_LARGE = ("snapshot__content", "snapshot__resource_versions", "snapshot__problems")


def trial_list() -> QuerySet[FleetTrial]:
    """Return the trials on many clusters, newest first."""
    return FleetTrial.objects.select_related("job", "created_by", "base__policy", "changed__policy").defer(
        "base__document", "changed__document"
    )


def trial_get(trial_id: UUID | str) -> FleetTrial:
    trial = trial_list().filter(pk=trial_id).first()
    if trial is None:
        raise Http404("There is no such trial.")
    return trial


def choose_clusters(names: Iterable[str]) -> list[Cluster]:
    """Return the clusters of these ``names`` that have been read, all of them for no names."""
    requested = set(names)
    read = Cluster.objects.filter(Exists(Snapshot.objects.filter(cluster=OuterRef("pk"), complete=True, moment=None)))
    return list(read.filter(name__in=requested) if requested else read)
