"""Add the NodeClaims that a cluster was read without, as Karpenter would see it.

A node with the label karpenter.sh/nodepool gets a NodeClaim. Its condition Consolidatable is derived from the start
times of its pods. If nodes without a NodePool are to count too, they get the labels that Karpenter would have set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime

from kschedweb.engine.autoscaling.cluster.state_nodes import CONSOLIDATABLE, INITIALIZED_CONDITION
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.offers.amounts import read_milli
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.labels import (
    CAPACITY_TYPE,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    ON_DEMAND,
    REGISTERED,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_mapping,
    get_objects,
    get_string,
    get_string_map,
    get_time,
)
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

API_VERSION, CLAIM = "karpenter.sh/v1", "NodeClaim"
# Owners of pods whose start does not count as a pod event.
UNCOUNTED_OWNERS = ("DaemonSet", "Node")


@dataclass(frozen=True, slots=True)
class NodeAdopter:
    """Turns a cluster without NodeClaims into one that Karpenter manages."""

    karpenter: Karpenter
    # Seconds of the epoch.
    now: float
    # The NodePool to which nodes without one are counted; "" for none.
    pool: str = ""
    # The instance type that a node counts as, by the name of the node, for nodes without a known type.
    assumed_types: dict[str, str] = field(default_factory=dict)

    def adopt_objects(self, listed: Iterable[Json]) -> Iterator[Json]:
        """Yield the objects with adopted nodes, then the NodeClaims of the nodes. Raises ObjectError."""
        nodes, events = [], dict[str, float]()
        for raw in listed:
            kind = raw.get("kind")
            if kind == "Node":
                nodes.append(raw)
                continue
            if kind == "Pod" and (event := _find_pod_event(raw)) is not None:
                events[event[0]] = max(events.get(event[0], 0.0), event[1])
            yield raw
        # Last, because a NodeClaim needs the events of all pods.
        for raw in nodes:
            node = self._adopt_node(raw)
            yield node
            if NODEPOOL in _get_labels(node):
                yield self._create_claim(node, events)

    def _adopt_node(self, raw: Json) -> Json:
        """Return the node with a provider id, and with the labels that make it one of ``pool``."""
        metadata, spec, labels = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), _get_labels(raw)
        if not get_string(spec, "providerID", "spec."):
            spec = {**spec, "providerID": f"none:///{metadata.get('name')}"}
        if not labels.get(NODEPOOL) and self.pool:
            pool_labels = {NODEPOOL: self.pool, CAPACITY_TYPE: labels.get(CAPACITY_TYPE) or ON_DEMAND}
            labels = {
                **labels,
                **pool_labels,
                REGISTERED: "true",
                INITIALIZED: "true",
                **self._assume_type(raw, labels),
            }
        return {**raw, "metadata": {**metadata, "labels": labels}, "spec": spec}

    def _assume_type(self, raw: Json, labels: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of the instance type that the node counts as; none if its own type is known."""
        type_names = {instance_type.name for instance_type in self.karpenter.types}
        if labels.get(INSTANCE_TYPE) in type_names:
            return {}
        nearest_type = find_nearest_type(raw, self.karpenter.types)
        if nearest_type is None:
            return {}
        self.assumed_types[str(get_mapping(raw, "metadata").get("name"))] = nearest_type.name
        zones = {offering.zone for offering in nearest_type.offerings}
        zone = labels.get(ZONE) or min(zones)
        return {INSTANCE_TYPE: nearest_type.name, ZONE: zone}

    def _create_claim(self, node: Json, events: Mapping[str, float]) -> Json:
        metadata, status, labels = get_mapping(node, "metadata"), get_mapping(node, "status"), _get_labels(node)
        pool = next((node_pool for node_pool in self.karpenter.pools if node_pool.name == labels[NODEPOOL]), None)
        name = str(metadata.get("name"))
        since = max(get_time(metadata, "creationTimestamp", "metadata.") or 0.0, events.get(name, 0.0))
        is_consolidatable = (
            pool is not None and pool.consolidate_after is not None and self.now - since >= pool.consolidate_after
        )
        kinds = [INITIALIZED_CONDITION] * (labels.get(INITIALIZED) == "true") + [CONSOLIDATABLE] * is_consolidatable
        return {
            "apiVersion": API_VERSION,
            "kind": CLAIM,
            "metadata": {"name": name, "labels": labels, "creationTimestamp": metadata.get("creationTimestamp")},
            "spec": {},
            "status": {
                "providerID": get_mapping(node, "spec")["providerID"],
                "capacity": status.get("capacity"),
                "allocatable": status.get("allocatable"),
                "lastPodEventTime": datetime.fromtimestamp(since, UTC).isoformat() if since else None,
                "conditions": [{"type": kind, "status": "True"} for kind in kinds],
            },
        }


def find_nearest_type(node: Json, types: Iterable[InstanceType]) -> InstanceType | None:
    """Return the smallest type with at least the node's CPU and memory; None if no type is large enough."""
    capacity = read_milli(get_mapping(node, "status"), "capacity", "status.")
    large = (
        instance_type
        for instance_type in types
        if all(instance_type.capacity.get(key, 0) >= capacity.get(key, 0) for key in (CPU, MEMORY))
    )
    return min(
        large,
        key=lambda instance_type: (
            instance_type.capacity.get(CPU, 0),
            instance_type.capacity.get(MEMORY, 0),
            instance_type.name,
        ),
        default=None,
    )


def zones_of(listed: Iterable[Json]) -> list[str]:
    """Return the zones that have nodes, sorted."""
    return sorted({zone for raw in listed if raw.get("kind") == "Node" and (zone := _get_labels(raw).get(ZONE, ""))})


def _get_labels(raw: Json) -> dict[str, str]:
    return get_string_map(get_mapping(raw, "metadata"), "labels", "metadata.")


def _find_pod_event(raw: Json) -> tuple[str, float] | None:
    """Return the node of a pod and when the pod started (seconds of the epoch); None for pods that do not count."""
    metadata, status = get_mapping(raw, "metadata"), get_mapping(raw, "status")
    node = get_string(get_mapping(raw, "spec"), "nodeName", "spec.")
    owners = {owner.get("kind") for owner in get_objects(metadata, "ownerReferences", "metadata.")}
    if not node or owners & set(UNCOUNTED_OWNERS):
        return None
    try:
        started = get_time(status, "startTime", "status.")
        return node, started or get_time(metadata, "creationTimestamp", "metadata.") or 0.0
    except ObjectError:
        return node, 0.0
