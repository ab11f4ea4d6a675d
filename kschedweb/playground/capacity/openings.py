"""The question that a capacity page answers before anybody asks one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count

from kschedweb.clusters.selectors import node_rows, pod_rows, workload_named
from kschedweb.engine.studies.capacity.shapes import WORKLOADS
from kschedweb.jobs.inquiries import may_open_answered
from kschedweb.playground.capacity.models import CapacityKind
from kschedweb.playground.capacity.queries import (
    BufferQuery,
    DrainQuery,
    FitQuery,
    GangsQuery,
    NodesQuery,
    NodeTypeQuery,
    PodQuery,
)

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.queries import CapacityQuery

PODS_OF_GANG = 4
ZONE = "topology.kubernetes.io/zone"


def make_opening_query(kind: CapacityKind, snapshot: Snapshot) -> CapacityQuery | None:
    """Return the question with which the page of ``kind`` opens; None for a cluster that is too large or empty."""
    if not may_open_answered(snapshot.counts.get("Node", 0)):
        return None
    if kind is CapacityKind.BUFFER:
        return BufferQuery(zones=True) if node_rows(snapshot).exclude(zone="").exists() else BufferQuery(False, 1)
    if kind is CapacityKind.DRAIN:
        return DrainQuery(find_nodes_to_drain(snapshot))
    if kind is CapacityKind.NODES:
        return NodesQuery(NodeTypeQuery(like=find_common_node(snapshot))) if _has_pending_pods(snapshot) else None
    workload = find_largest_workload(snapshot)
    if not workload:
        return None
    pod = PodQuery(workload)
    return FitQuery(pod) if kind is CapacityKind.FIT else GangsQuery(pod, PODS_OF_GANG, topology=ZONE)


def find_largest_workload(snapshot: Snapshot) -> str:
    """Return the workload with the most pods, "namespace/Kind/name"; "" if there is none."""
    owned = pod_rows(snapshot).exclude(owner="").exclude(owner__startswith="DaemonSet/")
    counts = owned.order_by().values_list("namespace", "owner").annotate(pods=Count("pk"))
    for namespace, owner, _ in counts.order_by("-pods", "namespace", "owner"):
        workload = workload_named(owner)
        if workload.partition("/")[0] in WORKLOADS:
            return f"{namespace}/{workload}"
    return ""


def find_nodes_to_drain(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the cordoned nodes with pods that would move, which somebody is about to drain; else the fullest node."""
    owned = pod_rows(snapshot).exclude(node="").exclude(owner__startswith="DaemonSet/")
    cordoned = node_rows(snapshot).filter(unschedulable=True, name__in=owned.values("node")).order_by("name")
    names = tuple(cordoned.values_list("name", flat=True))
    return names or tuple(node_rows(snapshot).order_by("-cpu_share", "name").values_list("name", flat=True)[:1])


def find_common_node(snapshot: Snapshot) -> str:
    """Return the first ready node of the size that most nodes have."""
    nodes = node_rows(snapshot).filter(ready=True, unschedulable=False)
    sizes = nodes.order_by().values_list("cpu_allocatable", "memory_allocatable").annotate(count=Count("pk"))
    common = sizes.order_by("-count", "cpu_allocatable", "memory_allocatable").first()
    if common is not None:
        nodes = nodes.filter(cpu_allocatable=common[0], memory_allocatable=common[1])
    names = nodes.order_by("name").values_list("name", flat=True)
    return names.first() or node_rows(snapshot).order_by("name").values_list("name", flat=True)[0]


def _has_pending_pods(snapshot: Snapshot) -> bool:
    return pod_rows(snapshot).filter(pending=True).exists()
