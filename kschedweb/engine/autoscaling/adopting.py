"""A cluster that was read without its NodeClaims, as Karpenter would see it.

A node with the label karpenter.sh/nodepool gets a NodeClaim. Its condition Consolidatable is worked out of when its
pods started. Where nodes of no NodePool are to count too, they get what Karpenter would have given them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime

from kschedweb.engine.autoscaling.cluster.nodes import CONSOLIDATABLE, INITIALIZED_CONDITION
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.offers.amounts import read_milli
from kschedweb.engine.autoscaling.offers.instancetypes import InstanceType
from kschedweb.engine.autoscaling.offers.labels import (
    CAPACITY_TYPE,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    ON_DEMAND,
    REGISTERED,
)
from kschedweb.engine.objects.access import Json, ObjectError, mapping, moment, objects, string_map, text
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

API_VERSION, CLAIM = "karpenter.sh/v1", "NodeClaim"
STAYING = ("DaemonSet", "Node")  # owners of pods whose coming and going does not count


@dataclass(frozen=True, slots=True)
class Adopting:
    """``pool``: the NodePool of which nodes without one count, "" for none. ``now`` is in seconds of the epoch."""

    karpenter: Karpenter
    now: float
    pool: str = ""
    likened: dict[str, str] = field(default_factory=dict)
    """Nodes without a known instance type, each with the type that it counts as."""

    def adopted(self, listed: Iterable[Json]) -> Iterator[Json]:
        """The objects with changed nodes, then the NodeClaims of nodes. Raises ObjectError."""
        nodes, events = [], dict[str, float]()
        for raw in listed:
            kind = raw.get("kind")
            if kind == "Node":
                nodes.append(raw)
                continue
            if kind == "Pod" and (event := _event(raw)) is not None:
                events[event[0]] = max(events.get(event[0], 0.0), event[1])
            yield raw
        for raw in nodes:
            node = self._node(raw)
            yield node
            if NODEPOOL in _labels(node):
                yield self._claim(node, events)

    def _node(self, raw: Json) -> Json:
        """The node with a provider id, and what it needs to count as one of ``pool``."""
        metadata, spec, labels = mapping(raw, "metadata"), mapping(raw, "spec"), _labels(raw)
        if not text(spec, "providerID", "spec."):
            spec = {**spec, "providerID": f"none:///{metadata.get('name')}"}
        if not labels.get(NODEPOOL) and self.pool:
            more = {NODEPOOL: self.pool, CAPACITY_TYPE: labels.get(CAPACITY_TYPE) or ON_DEMAND}
            labels = {**labels, **more, REGISTERED: "true", INITIALIZED: "true", **self._likened(raw, labels)}
        return {**raw, "metadata": {**metadata, "labels": labels}, "spec": spec}

    def _likened(self, raw: Json, labels: Mapping[str, str]) -> dict[str, str]:
        known = {one.name for one in self.karpenter.types}
        if labels.get(INSTANCE_TYPE) in known:
            return {}
        found = nearest(raw, self.karpenter.types)
        if found is None:
            return {}
        self.likened[str(mapping(raw, "metadata").get("name"))] = found.name
        zones = {one.zone for one in found.offerings}
        zone = labels.get(ZONE) or min(zones)
        return {INSTANCE_TYPE: found.name, ZONE: zone}

    def _claim(self, node: Json, events: Mapping[str, float]) -> Json:
        metadata, status, labels = mapping(node, "metadata"), mapping(node, "status"), _labels(node)
        pool = next((one for one in self.karpenter.pools if one.name == labels[NODEPOOL]), None)
        name = str(metadata.get("name"))
        since = max(moment(metadata, "creationTimestamp", "metadata.") or 0.0, events.get(name, 0.0))
        rested = pool is not None and pool.consolidate_after is not None and self.now - since >= pool.consolidate_after
        kinds = [INITIALIZED_CONDITION] * (labels.get(INITIALIZED) == "true") + [CONSOLIDATABLE] * rested
        return {
            "apiVersion": API_VERSION,
            "kind": CLAIM,
            "metadata": {"name": name, "labels": labels, "creationTimestamp": metadata.get("creationTimestamp")},
            "spec": {},
            "status": {
                "providerID": mapping(node, "spec")["providerID"],
                "capacity": status.get("capacity"),
                "allocatable": status.get("allocatable"),
                "lastPodEventTime": datetime.fromtimestamp(since, UTC).isoformat() if since else None,
                "conditions": [{"type": kind, "status": "True"} for kind in kinds],
            },
        }


def nearest(node: Json, types: Iterable[InstanceType]) -> InstanceType | None:
    """The smallest type with as much CPU and memory as the node; ``None`` where no type is as large."""
    has = read_milli(mapping(node, "status"), "capacity", "status.")
    large = (one for one in types if all(one.capacity.get(key, 0) >= has.get(key, 0) for key in (CPU, MEMORY)))
    return min(large, key=lambda one: (one.capacity.get(CPU, 0), one.capacity.get(MEMORY, 0), one.name), default=None)


def zones_of(listed: Iterable[Json]) -> list[str]:
    """The zones in which there are nodes."""
    return sorted({zone for raw in listed if raw.get("kind") == "Node" and (zone := _labels(raw).get(ZONE, ""))})


def _labels(raw: Json) -> dict[str, str]:
    return string_map(mapping(raw, "metadata"), "labels", "metadata.")


def _event(raw: Json) -> tuple[str, float] | None:
    """The node of a pod, and when the pod came to it (seconds of the epoch); ``None`` for pods that do not count."""
    metadata, status = mapping(raw, "metadata"), mapping(raw, "status")
    node = text(mapping(raw, "spec"), "nodeName", "spec.")
    owners = {one.get("kind") for one in objects(metadata, "ownerReferences", "metadata.")}
    if not node or owners & set(STAYING):
        return None
    try:
        started = moment(status, "startTime", "status.")
        return node, started or moment(metadata, "creationTimestamp", "metadata.") or 0.0
    except ObjectError:
        return node, 0.0
