"""Whether a pod would fit on a node, as the descheduler sees it; kube-scheduler's filters ask other questions.

The room of nodes is kept in columns (int64, milli-units), one cell of which changes with an eviction.
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
NO_DOMAIN = -1
_LARGEST = (1 << 63) - 1
Column: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Room:
    """What is free on each node of a cluster, and which pods its nodes let in.

    ``places`` are where nodes stand in masks and columns, by name.
    """

    def __init__(self, cluster: DeschedulerCluster) -> None:
        self._cluster = cluster
        self._nodes = cluster.nodes
        self.places = {node.name: place for place, node in enumerate(cluster.nodes)}
        self._used = [_sum_requests(cluster.list_pods_on_node(node.name)) for node in cluster.nodes]
        self._counts = [len(cluster.list_pods_on_node(node.name)) for node in cluster.nodes]
        self._open = np.array([not node.unschedulable for node in cluster.nodes], dtype=np.bool_)
        self._free: dict[str, Column] = {}
        self._domains: dict[str, Column] = {}
        self._affinity_masks: dict[Hashable, Mask] = {}
        self._toleration_masks: dict[Hashable, Mask] = {}
        self._last: dict[int, int] = {}  # where a pod of a template fitted last, which is asked first

    def node_mask(self, nodes: Sequence[Node]) -> Mask:
        """True for each of ``nodes``."""
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        mask[[self.places[node.name] for node in nodes]] = True
        return mask

    def domain_codes(self, key: str) -> Column:
        """A number for the value that each node has of the label ``key``; NO_DOMAIN where it has none."""
        if key not in self._domains:
            code_by_value: dict[str, int] = {}
            values = (node.labels.get(key) for node in self._nodes)
            codes = [
                NO_DOMAIN if value is None else code_by_value.setdefault(value, len(code_by_value)) for value in values
            ]
            self._domains[key] = np.array(codes, dtype=np.int64)
        return self._domains[key]

    def has_label(self, key: str) -> Mask:
        """Which nodes have the label ``key``."""
        mask: Mask = self.domain_codes(key) != NO_DOMAIN
        return mask

    def remove_pod(self, pod: PodView) -> None:
        """The pod is gone from its node."""
        place = self.places.get(pod.node)
        if place is None or pod.is_done:
            return
        self._counts[place] -= 1
        for name, amount in pod.resources.requests.items():
            self._used[place][name] -= amount
        for name in self._free.keys() & {PODS, *pod.resources.requests}:
            self._free[name][place] = self._free_cell(name, place)

    def fits_any_node(self, pod: PodView, among: Mask, *, elsewhere: bool) -> bool:
        """Whether the pod fits on any of the nodes ``among``; ``elsewhere``: its own node does not count."""
        home = self.places.get(pod.node)
        parts = (among, self._open, self.affinity_mask(pod), self.toleration_mask(pod))
        last = self._last.get(pod.pod.template)
        if last is not None and last != home and all(part[last] for part in parts) and self._node_fits(pod, last):
            return True
        enough = self.free_amounts(PODS) > 0
        for name, amount in pod.resources.requests.items():
            enough &= _to_milli(amount) <= self.free_amounts(name)
        if home is not None:
            enough[home] = not elsewhere
        for place in np.flatnonzero(np.logical_and.reduce((*parts, enough))):
            if not self._violates_anti_affinity(pod, self._nodes[place]):
                self._last[pod.pod.template] = int(place)
                return True
        return False

    def affinity_mask(self, pod: PodView) -> Mask:
        """Which nodes match the pod's node selector and required node affinity."""
        selector, affinity = pod.pod.node_selector or {}, pod.pod.node_affinity
        key = frozenset(selector.items()), affinity.required
        if key not in self._affinity_masks:
            self._affinity_masks[key] = np.array(
                [matches_node_affinity(pod, node) for node in self._nodes], dtype=np.bool_
            )
        return self._affinity_masks[key]

    def toleration_mask(self, pod: PodView) -> Mask:
        """Which nodes have no taint that keeps the pod off."""
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
        """What is free of a resource on each node, in milli-units."""
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
        """Whether a pod on the node meets the pod's required anti-affinity; other nodes of a domain do not count."""
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
    """Whether the node matches the pod's node selector and required node affinity."""
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
