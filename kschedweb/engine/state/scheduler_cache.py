"""The changing cluster: nodes, the pods on them, and the snapshot for the scheduler."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.devices.needs import release_claims
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.table import Watermarks

# Resources of `requested_shares`.
MEASURED = ("cpu", "memory")


class SchedulerCache:
    """The current cluster, as kube-scheduler's cache.

    ``snapshot`` shows changes of pods at once and those of nodes on its next read. Pods may be on nodes that are not
    known yet; they count once those are.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.cluster: ClusterObjects = snapshot.objects
        self.claims = snapshot.resource_claims.copy()
        self.nodes: dict[str, Node] = {}
        # Zone -> name -> node.
        self._zones: dict[str, dict[str, Node]] = {}
        # Node -> key -> pod.
        self._pods: dict[str, dict[str, Pod]] = {}
        # None until the next read where the order of the nodes has changed: it is built anew then.
        self._current: Snapshot | None = None
        # The current snapshot, or the one before it.
        self._last = snapshot
        self._watermarks = snapshot.watermarks
        # Nodes whose new objects are not in the snapshot yet.
        self._changed: dict[str, Node] = {}
        for node in snapshot.nodes:
            self.set_node(node)
        for slot in snapshot.pods.slots.values():
            pod = snapshot.pods.pods[slot]
            if pod is not None:
                self._pods[pod.node_name][pod.key] = pod

    def copy(self) -> SchedulerCache:
        """Return an independent copy, also of the label groups, which grow lazily."""
        other, snapshot = copy.copy(self), self.snapshot.copy()
        snapshot.pods.groups = snapshot.pods.groups.copy()
        other._current = other._last = snapshot
        other.cluster, other.claims = snapshot.objects, snapshot.resource_claims
        other.nodes, other._changed = dict(self.nodes), {}
        other._zones = {zone: dict(nodes) for zone, nodes in self._zones.items()}
        other._pods = {node: dict(pods) for node, pods in self._pods.items()}
        return other

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot, which includes all changes of nodes so far."""
        if self._current is None or self._current.pods.is_overgrown:
            self._current = self._build_snapshot()
        elif self._changed:
            self._current = self._current.with_nodes(self._changed.values())
        self._last, self._changed = self._current, {}
        return self._current

    def _build_snapshot(self) -> Snapshot:
        # By zone, as in kube-scheduler's node tree: a zone keeps its place while it has nodes.
        snapshot = type(self._last)((node for zone in self._zones.values() for node in zone.values()), self.cluster)
        snapshot.resource_claims, snapshot.pod_state.counting = self.claims, self._last.counting
        for name, pods in self._pods.items():
            if (position := snapshot.index.get(name)) is not None:
                for pod in pods.values():
                    snapshot.add_pod(pod, position)
        snapshot.carry_over_times(self._last)
        snapshot.watermarks = self._watermarks
        return snapshot

    def set_watermarks(self, watermarks: Watermarks | None) -> None:
        """Set new watermarks."""
        self._watermarks = self.snapshot.watermarks = watermarks

    def set_node(self, node: Node) -> None:
        """Add or replace a node."""
        old_node, zone = self.nodes.get(node.name), self._last.zone_of(node)
        was = None if old_node is None else self._last.zone_of(old_node)
        if old_node is not None and was != zone:
            self._leave_zone(old_node)
        if was != zone:
            self._current = None
        self.nodes[node.name] = self._changed[node.name] = node
        self._zones.setdefault(zone, {})[node.name] = node
        self._pods.setdefault(node.name, {})

    def refresh_node(self, node: Node) -> None:
        """Replace a node's object by one without changes that matter to decisions."""
        self.nodes[node.name] = self._zones[self._last.zone_of(node)][node.name] = node
        if node.name in self._changed:
            self._changed[node.name] = node
        elif self._current is not None:
            self._current.refresh_node(node)

    def remove_node(self, name: str) -> list[Pod]:
        """Remove a node and its pods; return the pods."""
        self.lose_node(name)
        return list(self._pods.pop(name).values())

    def lose_node(self, name: str) -> None:
        """Remove a node and keep its pods."""
        self._leave_zone(self.nodes.pop(name))
        self._changed.pop(name, None)
        self._current = None

    def _leave_zone(self, node: Node) -> None:
        zone = self._last.zone_of(node)
        members = self._zones[zone]
        del members[node.name]
        if not members:
            del self._zones[zone]

    def pods_on(self, node: str) -> list[Pod]:
        """Return the pods on a node, in order of arrival."""
        return list(self._pods.get(node, {}).values())

    def all_pods(self) -> Iterator[Pod]:
        return (pod for pods in self._pods.values() for pod in pods.values())

    def assume_pod(self, pod: Pod) -> None:
        """Add ``pod``, which the snapshot already has on its node."""
        self._pods[pod.node_name][pod.key] = pod

    def forget_pod(self, pod: Pod) -> None:
        """Remove ``pod``, which the snapshot no longer has on its node."""
        self._drop_pod(pod)

    def add_pod(self, pod: Pod) -> None:
        self._pods.setdefault(pod.node_name, {})[pod.key] = pod
        if self._current is not None and pod.node_name in self._current.index:
            self._current.add_pod(pod, self._current.index[pod.node_name])

    def remove_pod(self, pod: Pod) -> None:
        self._drop_pod(pod)
        if self._current is not None and pod.node_name in self._current.index:
            self._current.remove_pod(pod.key)

    def refresh_pod(self, pod: Pod) -> None:
        """Replace a bound pod's object by one without changes that matter to decisions."""
        self._pods[pod.node_name][pod.key] = pod
        if self._current is not None and pod.node_name in self._current.index:
            self._current.pods.refresh_pod(pod)

    def _drop_pod(self, pod: Pod) -> None:
        pods = self._pods[pod.node_name]
        del pods[pod.key]
        if not pods and pod.node_name not in self.nodes:
            del self._pods[pod.node_name]

    def release_claims(self, pod: Pod) -> list[tuple[ResourceClaim, ResourceClaim]]:
        """Release the pod's resource claims; return (before, after) of each changed claim."""
        return release_claims(self.claims, pod)

    def update_pod(self, old: Pod, new: Pod) -> None:
        """Replace the object of a bound pod."""
        self.remove_pod(old)
        self.add_pod(new)

    def requested_shares(self) -> dict[str, float]:
        """Return the requested share of the whole cluster by resource, 0 to 1."""
        snapshot, shares = self.snapshot, {}
        for name in MEASURED:
            requested = snapshot.resource_row(snapshot.requested, name).astype(np.float64)
            allocatable = snapshot.resource_row(snapshot.allocatable, name).astype(np.float64)
            has = allocatable > 0
            total = float(allocatable[has].sum())
            shares[name] = float(requested[has].sum()) / total if total else 0.0
        return shares
