"""The objects that figures are about, in the newest snapshot: nodes with sizes and addresses, owners of pods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

import numpy as np
from django.utils.translation import gettext

from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.clusters.selectors import snapshot_current, snapshot_objects
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import ObjectError, Pod
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.table import workload_of
from kschedweb.watermarks.container_requests import Kill, Requested, collect_requests, find_kills
from kschedweb.watermarks.figures import RESOURCES
from kschedweb.web.errors import Conflict

# The place of a pod without a workload. Negative, so that it is no index.
WITHOUT_OWNER = -1


@dataclass(frozen=True)
class Inventory:
    """The nodes, pods and workloads of one snapshot."""

    nodes: tuple[str, ...]
    # By resource, [nodes]: cores or bytes, NaN where unknown.
    capacity: dict[str, Floats]
    allocatable: dict[str, Floats]
    # Names and addresses in lower case, each with the index in ``nodes``.
    addresses: dict[str, int]
    # "namespace/Kind/name" of workloads with pods.
    workloads: tuple[str, ...]
    # (namespace, pod) with the index in ``workloads``; WITHOUT_OWNER for none.
    owners: dict[tuple[str, str], int]
    # Of the workloads' pods that have not ended.
    containers: tuple[Requested, ...] = ()
    kills: tuple[Kill, ...] = ()

    def find_node(self, name: str) -> int | None:
        """Return the index of the node with the name or address ``name``, which may have a port."""
        position = self.addresses.get(name.lower())
        return self.addresses.get(_strip_port(name).lower()) if position is None else position


def _strip_port(name: str) -> str:
    """Return ``name`` without a port, as in ``10.0.0.1:9100`` or ``[fd00::1]:9100``."""
    host, colon, port = name.rpartition(":")
    # A bare IPv6 address has colons too, but no port.
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        name = host
    return name.removeprefix("[").removesuffix("]")


def inventory_of(cluster: Cluster) -> Inventory:
    """Return the inventory of the newest snapshot. Raises ``Conflict`` if the cluster has none."""
    snapshot = snapshot_current(cluster)
    if snapshot is None:
        raise Conflict(
            gettext("Cluster %(cluster)s has not been read yet: refresh it first.") % {"cluster": cluster.name}
        )
    return _load_inventory(snapshot.pk)


@lru_cache(maxsize=4)
def _load_inventory(snapshot: UUID) -> Inventory:
    """Return the inventory of a snapshot. It is cached, because snapshots are immutable."""
    return inventory_make(snapshot_objects(Snapshot(pk=snapshot)))


def inventory_make(objects: Iterable[Json]) -> Inventory:
    """Return the inventory of raw objects. Unreadable ones are left out."""
    nodes: list[Json] = []
    pods: list[Json] = []
    replica_sets: list[Json] = []
    objects_by_kind = {"Node": nodes, "Pod": pods, "ReplicaSet": replica_sets}
    for item in objects:
        if item.get("kind") in objects_by_kind:
            objects_by_kind[item["kind"]].append(item)
    owned = _find_owners(pods, replica_sets)
    workloads = sorted({workload for workload in owned.values() if workload is not None})
    places = {workload: place for place, workload in enumerate(workloads)}
    return Inventory(
        tuple(str(item["metadata"]["name"]) for item in nodes),
        _read_amounts(nodes, "capacity"),
        _read_amounts(nodes, "allocatable"),
        _index_addresses(nodes),
        tuple(workloads),
        {pod: places[owner] if owner is not None else WITHOUT_OWNER for pod, owner in owned.items()},
        collect_requests(pods, owned),
        tuple(find_kills(pods)),
    )


def _find_owners(pods: list[Json], replica_sets: list[Json]) -> dict[tuple[str, str], str | None]:
    """Return the workload of each (namespace, pod), or ``None``."""
    cluster_objects = ClusterObjects()
    for item in replica_sets:
        with contextlib.suppress(ObjectError):
            cluster_objects.add(item)
    owners = {}
    for item in pods:
        with contextlib.suppress(ObjectError):
            pod = Pod.from_json(item)
            owners[pod.namespace, pod.name] = workload_of(pod, cluster_objects)
    return owners


def _read_amounts(nodes: list[Json], key: str) -> dict[str, Floats]:
    amounts = {resource: np.full(len(nodes), np.nan) for resource in RESOURCES}
    for place, item in enumerate(nodes):
        listed = (item.get("status") or {}).get(key)
        if not isinstance(listed, dict):
            continue
        for resource in RESOURCES:
            try:
                amounts[resource][place] = parse_quantity(str(listed[resource])) / NANO
            except (KeyError, ObjectError):
                continue
    return amounts


def _index_addresses(nodes: list[Json]) -> dict[str, int]:
    """Index names and addresses. Names have precedence over another node's equal address."""
    positions = {str(item["metadata"]["name"]).lower(): place for place, item in enumerate(nodes)}
    for place, item in enumerate(nodes):
        listed = (item.get("status") or {}).get("addresses")
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("address"), str):
                positions.setdefault(entry["address"].lower(), place)
    return positions
