"""Reads clusters and snapshots, within the grants of the request's user (accounts/reach.py)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404

from kschedweb.accounts.grant_targets import ClusterRef
from kschedweb.accounts.reach import withheld_namespaces
from kschedweb.clusters import storage
from kschedweb.clusters.flight.rebuilding import format_moment_param, moment_read, snapshot_at
from kschedweb.clusters.models import Cluster, NodeRow, PodRow, Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE
from kschedweb.engine.releases import find_nearest_release, parse_minor
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.web.errors import Forbidden
from kschedweb.web.moments import read_moment


def cluster_grounds() -> list[ClusterRef]:
    """Return each cluster as grants know it."""
    return [ClusterRef(*row) for row in Cluster.objects.values_list("pk", "name", "labels")]


def cluster_list() -> QuerySet[Cluster]:
    """Return all clusters by name, each with the time and counts of its newest snapshot (``taken_at``, ``counts``)."""
    newest = Snapshot.objects.filter(cluster=OuterRef("pk"), complete=True, moment=None).order_by("-taken_at", "-id")
    return Cluster.objects.annotate(
        taken_at=Subquery(newest.values("taken_at")[:1]), counts=Subquery(newest.values("counts")[:1])
    )


def cluster_get(name: str) -> Cluster:
    """Return the cluster called ``name``. Raises ``Http404``, or Forbidden as ``in_whole``."""
    try:
        return cluster_list().get(name=name)
    except Cluster.DoesNotExist:
        in_whole(name)
        raise Http404(f"There is no cluster {name}.") from None


def in_whole(name: str) -> None:
    """Raise Forbidden if the user sees only some namespaces of the cluster ``name``, and the page shows all."""
    if spaces := withheld_namespaces(name):
        raise Forbidden(
            f"Your grants in {name} are for the namespaces {', '.join(sorted(spaces))}. "
            "This shows the whole cluster, so it needs a grant for all of it."
        )


def release_remark(cluster: Cluster) -> str:
    """Return a remark if the release of ``cluster`` is not known, and another one answers; else ""."""
    runs, answers = parse_minor(cluster.server_version), find_nearest_release(cluster.server_version)
    if runs == answers:
        return ""
    return f"This cluster runs {runs}; kschedweb answers as {answers}, the nearest release that it knows."


def snapshot_list(cluster: Cluster) -> QuerySet[Snapshot]:
    """Return the complete snapshots that were read from ``cluster``, newest first, without their content."""
    return cluster.snapshots.filter(complete=True, moment=None).defer("content", "resource_versions")


def snapshot_current(cluster: Cluster) -> Snapshot | None:
    """Return the newest complete snapshot of ``cluster``, without its content."""
    return snapshot_list(cluster).first()


def snapshot_get(cluster: Cluster, id: str | UUID) -> Snapshot:
    """Return one complete snapshot of ``cluster``, by its id, or by a moment for the cluster as of then.

    Raises ``Http404``, or NotFound for a moment that is not known.
    """
    if isinstance(id, str) and isinstance(moment := read_moment(id), datetime):
        return snapshot_at(cluster, moment)
    try:
        return cluster.snapshots.filter(complete=True).defer("content", "resource_versions").get(pk=UUID(str(id)))
    except (ValueError, Snapshot.DoesNotExist):
        text = f"Cluster {cluster.name} has no snapshot {id}. Only the newest are kept: without it you see the latest."
        raise Http404(text) from None


def snapshot_objects(snapshot: Snapshot) -> list[Json]:
    """Return the raw Kubernetes objects of ``snapshot``, in a new list each time."""
    return storage.unpack_objects(Snapshot.objects.values_list("content", flat=True).get(pk=snapshot.pk))


def snapshot_named(params: Mapping[str, str]) -> str:
    """Return the snapshot that a query names: an id or a moment (``snapshot``), or a moment (``at``); "" for the
    newest.
    """
    if at := params.get("at", ""):
        return format_moment_param(moment_read(at))
    return params.get("snapshot", "")


def snapshot_of(cluster: Cluster, params: Mapping[str, str]) -> Snapshot | None:
    """Return the snapshot of ``cluster`` that a query names, or the newest. Raises as ``snapshot_get``."""
    name = snapshot_named(params)
    return snapshot_get(cluster, name) if name else snapshot_current(cluster)


def closed_nodes(snapshot: Snapshot) -> frozenset[str]:
    """Return the nodes that are not ready, cordoned or tainted. They are not open (``Node.is_open``), and in no
    skew.
    """
    closed = ~Q(ready=True, unschedulable=False) | ~Q(taints=[])
    rows = node_rows(snapshot).filter(closed).values_list("name", "ready", "unschedulable", "taints")
    # SQL finds candidates; only taints with an effect that keeps pods away count, which SQL cannot see.
    return frozenset(
        name for name, ready, cordoned, taints in rows if cordoned or not ready or any(map(_bars_pods, taints))
    )


def _bars_pods(taint: str) -> bool:
    return taint.endswith((f":{NO_SCHEDULE}", f":{NO_EXECUTE}"))


def node_rows(snapshot: Snapshot) -> QuerySet[NodeRow]:
    return NodeRow.objects.filter(snapshot=snapshot)


def pod_rows(snapshot: Snapshot) -> QuerySet[PodRow]:
    """Return the pods of ``snapshot``, pending ones first."""
    return PodRow.objects.filter(snapshot=snapshot)


def workload_named(owner: str) -> str:
    """Return the workload of pods with the controller ``owner``, as Kind/name. A ReplicaSet counts as its
    Deployment.
    """
    kind, _, name = owner.partition("/")
    if kind == "ReplicaSet" and "-" in name:
        # A Deployment names its ReplicaSets by itself and a hash.
        return f"Deployment/{name.rpartition('-')[0]}"
    return owner


class PodRef(NamedTuple):
    """The identity of a pod of a snapshot, and the scheduler that it names."""

    # The primary key of its row.
    row: int
    # "namespace/name".
    key: str
    scheduler_name: str
    uid: str

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]


def pod_refs(rows: QuerySet[PodRow]) -> list[PodRef]:
    """Return the pods of ``rows``, in their order."""
    listed = rows.values_list("pk", "namespace", "name", "scheduler_name", "uid")
    return [PodRef(row, f"{space}/{name}", scheduler, uid) for row, space, name, scheduler, uid in listed]


def pod_ref(row: PodRow) -> PodRef:
    """Return the reference to the pod of ``row``."""
    return PodRef(row.pk, f"{row.namespace}/{row.name}", row.scheduler_name, row.uid)


def pending_keys(snapshot: Snapshot, limit: int) -> list[str]:
    """Return the first ``limit`` pending pods of ``snapshot``, as "namespace/name"."""
    pods = pod_rows(snapshot).filter(pending=True).values_list("namespace", "name")[:limit]
    return [f"{space}/{name}" for space, name in pods]


def permissions_missing(cluster: Cluster) -> list[dict[str, object]]:
    """Return the permissions that the cluster's credentials lack, with what is missing without each."""
    return [entry for entry in cluster.permissions if not entry["allowed"]]


def permissions_by_resource(cluster: Cluster) -> list[dict[str, object]]:
    """Return an entry per resource, ``{"resource", "list", "watch", "costs"}``. ``costs`` is "" if nothing is
    missing.
    """
    rows: dict[str, dict[str, object]] = {}
    for entry in cluster.permissions:
        row = rows.setdefault(entry["resource"], {"resource": entry["resource"], "costs": ""})
        row[entry["verb"]] = entry["allowed"]
        if not entry["allowed"]:
            row["costs"] = row["costs"] or entry["costs"]
    return list(rows.values())


def refresh_job(cluster: Cluster) -> Job | None:
    """Return the running or queued job that reads ``cluster``."""
    reading = Job.objects.filter(kind="clusters.refresh", params__cluster=str(cluster.pk))
    return reading.filter(state__in=UNFINISHED).first()
