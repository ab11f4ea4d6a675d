"""What the choosers of the capacity pages offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import node_rows, pod_rows
from kschedweb.engine.whatif.shapes import WORKLOADS

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot

OFFERED = 300


def workloads(snapshot: Snapshot) -> list[str]:
    """Workloads with pods in the snapshot, as namespace/Kind/name; a ReplicaSet goes by its Deployment's name."""
    rows = pod_rows(snapshot).exclude(owner="").exclude(owner__startswith="DaemonSet/")
    found = set()
    for namespace, owner in rows.order_by("namespace", "owner").values_list("namespace", "owner").distinct():
        kind, _, name = owner.partition("/")
        if kind == "ReplicaSet" and "-" in name:
            kind, name = "Deployment", name.rpartition("-")[0]
        if kind in WORKLOADS:
            found.add(f"{namespace}/{kind}/{name}")
    return sorted(found)[:OFFERED]


def node_names(snapshot: Snapshot) -> list[str]:
    """The first nodes by name."""
    return list(node_rows(snapshot).values_list("name", flat=True)[:OFFERED])


def zones(snapshot: Snapshot) -> list[str]:
    """The zones that have nodes."""
    return list(node_rows(snapshot).exclude(zone="").order_by("zone").values_list("zone", flat=True).distinct())


def nodes_in(snapshot: Snapshot, zone: str) -> list[str]:
    """The nodes of ``zone`` by name."""
    return list(node_rows(snapshot).filter(zone=zone).values_list("name", flat=True)) if zone else []
