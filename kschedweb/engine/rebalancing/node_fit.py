"""The descheduler's check of whether a pod fits on a node, which differs from kube-scheduler's filters.

The free amounts of nodes are kept in columns (int64, milli-units), so that an eviction changes one cell of each.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.quantity import MILLI, NANO
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts
from kschedweb.engine.objects.taints import has_no_untolerated
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster
from kschedweb.engine.rebalancing.pods import PodView

PODS = "pods"
# The code of a node without the label.
NO_DOMAIN = -1
# Amounts are capped at the highest int64.
_LARGEST = (1 << 63) - 1
Column: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Room:
    """The free amounts of each node of a cluster, and the pods that its nodes admit."""

    def __init__(self, cluster: DeschedulerCluster) -> None:
        self._cluster = cluster
        self._nodes = cluster.nodes
        # Node name -> index in masks and columns.
        self.places = {node.name: place for place, node in enumerate(cluster.nodes)}
        # Requested nano-units of each node by resource.
        self._used = [_sum_requests(cluster.list_pods_on_node(node.name)) for node in cluster.nodes]
        self._counts = [len(cluster.list_pods_on_node(node.name)) for node in cluster.nodes]
        self._open = np.array([not node.unschedulable for node in cluster.nodes], dtype=np.bool_)
        self._free: dict[str, Column] = {}
        self._domains: dict[str, Column] = {}
        self._affinity_masks: dict[Hashable, Mask] = {}
        self._toleration_masks: dict[Hashable, Mask] = {}
        # Template -> the node where one of its pods fitted last, which is tried first.
        self._last: dict[int, int] = {}

    def node_mask(self, nodes: Sequence[Node]) -> Mask:
        """Return a mask that is True for each of ``nodes``."""
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        mask[[self.places[node.name] for node in nodes]] = True
        return mask

    def domain_codes(self, key: str) -> Column:
        """Return a code for each node's value of the label ``key``; NO_DOMAIN if it has none."""
        if key not in self._domains:
            code_by_value: dict[str, int] = {}
            values = (node.labels.get(key) for node in self._nodes)
            codes = [
                NO_DOMAIN if value is None else code_by_value.setdefault(value, len(code_by_value)) for value in values
            ]
            self._domains[key] = np.array(codes, dtype=np.int64)
        return self._domains[key]

    def has_label(self, key: str) -> Mask:
        """Return the mask of the nodes with the label ``key``."""
        mask: Mask = self.domain_codes(key) != NO_DOMAIN
        return mask

    def remove_pod(self, pod: PodView) -> None:
        """Free the amounts of a pod that is gone from its node."""
        place = self.places.get(pod.node)
        if place is None or pod.is_done:
            return
        self._counts[place] -= 1
        for name, amount in pod.resources.requests.items():
            self._used[place][name] -= amount
        for name in self._free.keys() & {PODS, *pod.resources.requests}:
            self._free[name][place] = self._free_cell(name, place)

    def fits_any_node(self, pod: PodView, among: Mask, *, elsewhere: bool) -> bool:
        """Return True if the pod fits on any of the nodes ``among``.

        With ``elsewhere`` its own node does not count.
        """
        home = self.places.get(pod.node)
        parts = (among, self._open, self.affinity_mask(pod), self.toleration_mask(pod))
        last = self._last.get(pod.pod.template)
        if last is not None and last != home and all(part[last] for part in parts) and self._node_fits(pod, last):
            return True
        enough = self.free_amounts(PODS) > 0
        for name, amount in pod.resources.requests.items():
            enough &= _to_milli(amount) <= self.free_amounts(name)
        # A pod always has room on its own node, where its requests count already.
        if home is not None:
            enough[home] = not elsewhere
        for place in np.flatnonzero(np.logical_and.reduce((*parts, enough))):
            if not self._violates_anti_affinity(pod, self._nodes[place]):
                self._last[pod.pod.template] = int(place)
                return True
        return False

    def affinity_mask(self, pod: PodView) -> Mask:
        """Return the mask of the nodes that match the pod's node selector and required node affinity."""
        selector, affinity = pod.pod.node_selector or {}, pod.pod.node_affinity
        key = frozenset(selector.items()), affinity.required
        if key not in self._affinity_masks:
            self._affinity_masks[key] = np.array(
                [matches_node_affinity(pod, node) for node in self._nodes], dtype=np.bool_
            )
        return self._affinity_masks[key]

    def toleration_mask(self, pod: PodView) -> Mask:
        """Return the mask of the nodes without a taint that keeps the pod off."""
        key = pod.pod.tolerations
        if key not in self._toleration_masks:
            admitted = [has_no_untolerated(node.taints, key, True) for node in self._nodes]
            self._toleration_masks[key] = np.array(admitted, dtype=np.bool_)
        return self._toleration_masks[key]

    def _node_fits(self, pod: PodView, place: int) -> bool:
        enough = all(
            _to_milli(amount) <= self.free_amounts(name)[place] for name, amount in pod.resources.requests.items()
        )
        return (
            enough
            and bool(self.free_amounts(PODS)[place] > 0)
            and not self._violates_anti_affinity(pod, self._nodes[place])
        )

    def free_amounts(self, name: str) -> Column:
        """Return the free amount of a resource on each node, in milli-units."""
        if name not in self._free:
            cells = [self._free_cell(name, place) for place in range(len(self._nodes))]
            self._free[name] = np.array(cells, dtype=np.int64)
        return self._free[name]

    def _free_cell(self, name: str, place: int) -> int:
        allocatable = self._nodes[place].allocatable
        if name not in (CPU, MEMORY, PODS) and name not in allocatable:
            return 0
        used = self._counts[place] * NANO if name == PODS else self._used[place].get(name, 0)
        unit = MILLI if name == CPU else NANO
        free = (allocatable.get(name, 0) - -(-used // unit)) * (unit == MILLI or NANO // MILLI)
        return max(-_LARGEST, min(free, _LARGEST))

    def _violates_anti_affinity(self, pod: PodView, node: Node) -> bool:
        """Return True if a pod on the node meets the pod's required anti-affinity.

        As in the descheduler, other nodes of the same domain do not count.
        """
        if pod.pod.pod_affinity.error:
            return True
        for term in pod.pod.pod_affinity.anti_required:
            if term.topology_key not in node.labels:
                continue
            namespaces = term.namespaces or {pod.namespace}
            for other in self._cluster.list_pods_on_node(node.name):
                if other.name != pod.name and other.namespace in namespaces and term.selector.matches(other.pod.labels):
                    return True
        return False


def matches_node_affinity(pod: PodView, node: Node) -> bool:
    """Return True if the node matches the pod's node selector and required node affinity."""
    selector, required = pod.pod.node_selector or {}, pod.pod.node_affinity.required
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    return required is None or any(term.matches(node.name, node.labels) for term in required)


def _to_milli(nano: int) -> int:
    return min(-(-nano // MILLI), _LARGEST)


def _sum_requests(pods: list[PodView]) -> Amounts:
    total: Amounts = {}
    for pod in pods:
        for name, amount in pod.resources.requests.items():
            total[name] = total.get(name, 0) + amount
    return total
