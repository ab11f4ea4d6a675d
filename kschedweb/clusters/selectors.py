"""Reads clusters and snapshots: those within the grants of whose request it is (accounts/reach.py)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404

from kschedweb.accounts.grant_targets import ClusterRef
from kschedweb.accounts.reach import withheld_namespaces
from kschedweb.clusters import storage
from kschedweb.clusters.flight.rebuilding import format_moment_param, moment_read, snapshot_at
from kschedweb.clusters.models import Cluster, NodeRow, PodRow, Snapshot
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE
from kschedweb.engine.releases import find_nearest_release, parse_minor
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.web.errors import Forbidden
from kschedweb.web.moments import read_moment


def cluster_grounds() -> list[ClusterRef]:
    """What grants know of each cluster."""
    return [ClusterRef(*row) for row in Cluster.objects.values_list("pk", "name", "labels")]


def cluster_list() -> QuerySet[Cluster]:
    """All clusters by name, each with the time and counts of its newest snapshot (``taken_at``, ``counts``)."""
    newest = Snapshot.objects.filter(cluster=OuterRef("pk"), complete=True, moment=None).order_by("-taken_at", "-id")
    return Cluster.objects.annotate(
        taken_at=Subquery(newest.values("taken_at")[:1]), counts=Subquery(newest.values("counts")[:1])
    )


def cluster_get(name: str) -> Cluster:
    """The cluster called ``name``. Raises ``Http404``, or Forbidden as ``in_whole``."""
    try:
        return cluster_list().get(name=name)
    except Cluster.DoesNotExist:
        in_whole(name)
        raise Http404(f"There is no cluster {name}.") from None


def in_whole(name: str) -> None:
    """Raise Forbidden where who looks sees some namespaces of the cluster ``name``, and this shows whole ones only."""
    if spaces := withheld_namespaces(name):
        raise Forbidden(
            f"Your grants in {name} are for the namespaces {', '.join(sorted(spaces))}. "
            "This shows the whole cluster, so it needs a grant for all of it."
        )


def release_remark(cluster: Cluster) -> str:
    """What has to be told where kube-scheduler's release in ``cluster`` is not known, else ""."""
    runs, answers = parse_minor(cluster.server_version), find_nearest_release(cluster.server_version)
    if runs == answers:
        return ""
    return f"This cluster runs {runs}; kschedweb answers as {answers}, the nearest release that it knows."


def snapshot_list(cluster: Cluster) -> QuerySet[Snapshot]:
    """The complete snapshots that were read of ``cluster``, newest first, without their content."""
    return cluster.snapshots.filter(complete=True, moment=None).defer("content", "resource_versions")


def snapshot_current(cluster: Cluster) -> Snapshot | None:
    """The newest complete snapshot of ``cluster``, without its content."""
    return snapshot_list(cluster).first()


def snapshot_get(cluster: Cluster, id: str | UUID) -> Snapshot:
    """One complete snapshot of ``cluster``, by its id, or by a moment for the cluster as of then.

    Raises ``Http404``, or NotFound for a moment that is not known.
    """
    if isinstance(id, str) and isinstance(moment := read_moment(id), datetime):
        return snapshot_at(cluster, moment)
    try:
        return cluster.snapshots.filter(complete=True).defer("content", "resource_versions").get(pk=UUID(str(id)))
    except (ValueError, Snapshot.DoesNotExist):
        text = f"Cluster {cluster.name} has no snapshot {id}. Only the newest are kept: without it you see the latest."
        raise Http404(text) from None


def snapshot_objects(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The raw Kubernetes objects of ``snapshot``; a new list each time."""
    return storage.unpack_objects(Snapshot.objects.values_list("content", flat=True).get(pk=snapshot.pk))


def snapshot_named(params: Mapping[str, str]) -> str:
    """What a query says of the snapshot: its id or a moment (``snapshot``), or a moment (``at``); "" for the newest."""
    if at := params.get("at", ""):
        return format_moment_param(moment_read(at))
    return params.get("snapshot", "")


def snapshot_of(cluster: Cluster, params: Mapping[str, str]) -> Snapshot | None:
    """The snapshot of ``cluster`` that a query names, or the newest. Raises as ``snapshot_get``."""
    name = snapshot_named(params)
    return snapshot_get(cluster, name) if name else snapshot_current(cluster)


def closed_nodes(snapshot: Snapshot) -> frozenset[str]:
    """The nodes that are not ready, cordoned or tainted: not ``Node.is_open`` of the engine, and in no skew of use."""
    closed = ~Q(ready=True, unschedulable=False) | ~Q(taints=[])
    rows = node_rows(snapshot).filter(closed).values_list("name", "ready", "unschedulable", "taints")
    return frozenset(
        name for name, ready, cordoned, taints in rows if cordoned or not ready or any(map(_bars_pods, taints))
    )


def _bars_pods(taint: str) -> bool:
    return taint.endswith((f":{NO_SCHEDULE}", f":{NO_EXECUTE}"))


def node_rows(snapshot: Snapshot) -> QuerySet[NodeRow]:
    return NodeRow.objects.filter(snapshot=snapshot)


def pod_rows(snapshot: Snapshot) -> QuerySet[PodRow]:
    """The pods of ``snapshot``, pending ones first."""
    return PodRow.objects.filter(snapshot=snapshot)


def workload_named(owner: str) -> str:
    """The workload of pods with the controller ``owner``, both as Kind/name; a ReplicaSet counts as its Deployment."""
    kind, _, name = owner.partition("/")
    if kind == "ReplicaSet" and "-" in name:
        return f"Deployment/{name.rpartition('-')[0]}"
    return owner


class PodRef(NamedTuple):
    """What tells a pod of a snapshot from others (its row, "namespace/name", uid), and the scheduler that it names."""

    row: int
    key: str
    scheduler_name: str
    uid: str


def pod_refs(rows: QuerySet[PodRow]) -> list[PodRef]:
    """The pods of ``rows``, in their order."""
    listed = rows.values_list("pk", "namespace", "name", "scheduler_name", "uid")
    return [PodRef(row, f"{space}/{name}", scheduler, uid) for row, space, name, scheduler, uid in listed]


def pod_ref(row: PodRow) -> PodRef:
    """What tells the pod of ``row`` from others."""
    return PodRef(row.pk, f"{row.namespace}/{row.name}", row.scheduler_name, row.uid)


def pending_keys(snapshot: Snapshot, limit: int) -> list[str]:
    """The first ``limit`` pending pods of ``snapshot``, "namespace/name"."""
    pods = pod_rows(snapshot).filter(pending=True).values_list("namespace", "name")[:limit]
    return [f"{space}/{name}" for space, name in pods]


def permissions_missing(cluster: Cluster) -> list[dict[str, Any]]:
    """The permissions that the cluster's credentials lack, and what is missing without each."""
    return [entry for entry in cluster.permissions if not entry["allowed"]]


def permissions_by_resource(cluster: Cluster) -> list[dict[str, Any]]:
    """An entry per resource: ``{"resource", "list", "watch", "costs"}``; ``costs`` is "" if nothing is missing."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in cluster.permissions:
        row = rows.setdefault(entry["resource"], {"resource": entry["resource"], "costs": ""})
        row[entry["verb"]] = entry["allowed"]
        if not entry["allowed"]:
            row["costs"] = row["costs"] or entry["costs"]
    return list(rows.values())


def refresh_job(cluster: Cluster) -> Job | None:
    """The running or queued job that reads ``cluster``."""
    reading = Job.objects.filter(kind="clusters.refresh", params__cluster=str(cluster.pk))
    return reading.filter(state__in=UNFINISHED).first()
