"""The question that a capacity page answers before anybody asks one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from django.db.models import Count

from kschedweb.clusters.selectors import node_rows, pod_rows, workload_named
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.studies.capacity.shapes import WORKLOADS
from kschedweb.engine.studies.trying.node_change import NodeChange
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
from kschedweb.playground.capacity.selectors import nodes_in

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.queries import CapacityQuery

PODS_OF_GANG = 4


def make_opening_query(kind: CapacityKind, snapshot: Snapshot) -> CapacityQuery | None:
    """Return the question with which the page of ``kind`` opens; None for a cluster that is too large or empty."""
    if not may_open_answered(snapshot.counts.get("Node", 0)):
        return None
    return _MAKERS[kind](snapshot)


def _make_buffer_query(snapshot: Snapshot) -> BufferQuery:
    return BufferQuery(zones=True) if node_rows(snapshot).exclude(zone="").exists() else BufferQuery(False, 1)


def _make_change_query(snapshot: Snapshot) -> NodeChange | None:
    zone = find_largest_zone(snapshot)
    return NodeChange(tuple(nodes_in(snapshot, zone))) if zone else None


def _make_nodes_query(snapshot: Snapshot) -> NodesQuery | None:
    return NodesQuery(NodeTypeQuery(like=find_common_node(snapshot))) if _has_pending_pods(snapshot) else None


def _make_fit_query(snapshot: Snapshot) -> FitQuery | None:
    workload = find_largest_workload(snapshot)
    return FitQuery(PodQuery(workload)) if workload else None


def _make_gangs_query(snapshot: Snapshot) -> GangsQuery | None:
    workload = find_largest_workload(snapshot)
    return GangsQuery(PodQuery(workload), PODS_OF_GANG, topology=ZONE) if workload else None


_MAKERS: Final[Mapping[CapacityKind, Callable[[Snapshot], CapacityQuery | None]]] = {
    CapacityKind.FIT: _make_fit_query,
    CapacityKind.NODES: _make_nodes_query,
    CapacityKind.DRAIN: lambda snapshot: DrainQuery(find_nodes_to_drain(snapshot)),
    CapacityKind.GANGS: _make_gangs_query,
    CapacityKind.BUFFER: _make_buffer_query,
    CapacityKind.CHANGE: _make_change_query,
}


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


def find_largest_zone(snapshot: Snapshot) -> str:
    """Return the zone with most nodes, the first by name among equals; "" if no node has a zone."""
    zones = node_rows(snapshot).exclude(zone="").values("zone").annotate(nodes=Count("pk")).order_by("-nodes", "zone")
    return str(zones[0]["zone"]) if zones else ""


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
