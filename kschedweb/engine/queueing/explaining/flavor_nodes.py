"""The nodes behind a flavor: which belong to it, and how many pods they hold when empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum

from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.queueing.explaining.queue_state import QueueState
from kschedweb.engine.queueing.quota.amounts import PODS, Requests
from kschedweb.engine.queueing.quota.objects import ResourceFlavor, TopologyNode, read_topology_node
from kschedweb.engine.queueing.workloads.requests import sum_pod_requests
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo
from kschedweb.engine.values import dataclass


class NodeExclusion(Enum):
    """Reasons why a node gives a flavor nothing."""

    LABELS = "labels"
    LEVELS = "levels"
    UNUSABLE = "unusable"


@dataclass(frozen=True)
class FlavorNodes:
    """Room for the pods of a pod set on the nodes of a flavor."""

    flavor: str
    pod_set: str
    count: int
    # Pods that fit on its nodes when they are empty.
    fitting: int
    # Nodes that belong to it, and the others by why they do not.
    nodes: int
    excluded: dict[NodeExclusion, int]
    has_topology: bool

    @property
    def is_too_small(self) -> bool:
        return self.fitting < self.count


def find_small_flavors(state: QueueState, info: WorkloadInfo, flavors: Iterable[str]) -> tuple[FlavorNodes, ...]:
    """Return the flavors whose nodes, even empty, do not hold all pods of a pod set; () where no node is known."""
    nodes = _read_nodes(state)
    if not nodes:
        return ()
    found = []
    for name in flavors:
        flavor = state.world.cache.flavors.get(name)
        if flavor is None:
            continue
        for pod_set in info.workload.pod_sets:
            described = _describe_nodes(
                state, flavor, nodes, pod_set.name, pod_set.count, sum_pod_requests(pod_set.spec)
            )
            if described.is_too_small:
                found.append(described)
    return tuple(found)


def _read_nodes(state: QueueState) -> list[TopologyNode]:
    nodes = []
    for raw in state.objects:
        if raw["kind"] == "Node":
            try:
                nodes.append(read_topology_node(raw))
            except ObjectError:
                continue
    return nodes


def _describe_nodes(
    state: QueueState, flavor: ResourceFlavor, nodes: list[TopologyNode], pod_set: str, count: int, requests: Requests
) -> FlavorNodes:
    topology = state.world.cache.topologies.get(flavor.topology or "")
    levels = topology.levels if topology is not None else ()
    excluded: Counter[NodeExclusion] = Counter()
    fitting = members = 0
    for node in nodes:
        exclusion = _find_exclusion(node, flavor, levels)
        if exclusion is not None:
            excluded[exclusion] += 1
            continue
        members += 1
        fitting += _count_pods(node, requests)
    return FlavorNodes(flavor.name, pod_set, count, fitting, members, dict(excluded), topology is not None)


def _find_exclusion(node: TopologyNode, flavor: ResourceFlavor, levels: tuple[str, ...]) -> NodeExclusion | None:
    if any(node.labels.get(key) != value for key, value in flavor.node_labels.items()):
        return NodeExclusion.LABELS
    if any(level not in node.labels for level in levels):
        return NodeExclusion.LEVELS
    return None if node.is_usable else NodeExclusion.UNUSABLE


def _count_pods(node: TopologyNode, requests: Requests) -> int:
    """Return how many pods fit on ``node`` when it is empty."""
    wanted = {PODS: 1, **{name: amount for name, amount in requests.items() if amount > 0}}
    return min(max(0, node.allocatable.get(name, 0)) // amount for name, amount in wanted.items())
