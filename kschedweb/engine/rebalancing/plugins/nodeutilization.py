"""Shared parts of LowNodeUtilization and HighNodeUtilization: the use of nodes, their classes, and the evictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kschedweb.engine.cel.quantities import BINARY_SI, DECIMAL_SI, Quantity
from kschedweb.engine.config.types import StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.quantity import MILLI, NANO, read_quantities, round_to_unit
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.objects.taints import Taint, is_tolerated
from kschedweb.engine.rebalancing.arguments import NAMESPACES, THRESHOLDS, Args
from kschedweb.engine.rebalancing.evictions import EvictionRefused, NodeLimitReached, TotalLimitReached
from kschedweb.engine.rebalancing.handle import Handle, PluginError
from kschedweb.engine.rebalancing.metrics import Amounts
from kschedweb.engine.rebalancing.node_fit import PODS
from kschedweb.engine.rebalancing.pods import PodFilter, PodView
from kschedweb.engine.rebalancing.sorting import sort_by_priority
from kschedweb.engine.validation.golang import number_json
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

# The resource that stands for the result of a Prometheus query.
METRIC = "MetricResource"
# These count even without a threshold.
BASIC = (CPU, MEMORY, PODS)
Percentages = dict[str, float]
NAMESPACES_GO = StructField("evictableNamespaces", NAMESPACES, "Namespaces to leave alone: exclude.", pointer=True)
THRESHOLDS_FIELD = StructField(
    "thresholds", THRESHOLDS, "At or below all of these a node is underutilized.", omit_empty=False
)


def include_faults(args: Args) -> list[str]:
    wrong = (args["evictableNamespaces"] or {}).get("include")
    return ["only Exclude namespaces can be set, inclusion is not supported"] if wrong else []


def threshold_faults(thresholds: Percentages | None) -> list[str]:
    if not thresholds:
        return ["no resource threshold is configured"]
    wrong = [name for name in sorted(thresholds) if not 0 <= thresholds[name] <= 100]
    return [f"{wrong[0]} threshold not in [0, 100] range"] if wrong else []


class RequestedUsageClient:
    """Use counted as the requests of pods."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)

    def of_node(self, node: str, pods: list[PodView]) -> Amounts:
        """Return the use of a node; raise PluginError if it is not known."""
        total = {name: _zero_quantity(name) for name in self.names}
        for pod in pods:
            for name in pod.resources.quantities.keys() & total.keys():
                total[name] = total[name].plus(pod.resources.quantities[name])
        return total | ({PODS: _count_quantity(len(pods))} if PODS in total else {})

    def of_pod(self, pod: PodView) -> Amounts | None:
        """Return the use of a pod by resource, None if no pod's use is ever known.

        Raise PluginError if it is not known.
        """
        return {name: pod.resources.quantities.get(name, _zero_quantity(name)) for name in self.names}


@dataclass(slots=True)
class NodeInfo:
    """A node with its pods."""

    node: Node
    # Changes with each eviction.
    use: Amounts
    # The most that it should use.
    limits: Amounts
    pods: list[PodView]


@dataclass(frozen=True, slots=True)
class UsageSnapshot:
    """The use of all nodes before the first eviction, by node name."""

    nodes: dict[str, Node]
    amounts: dict[str, Amounts]
    # Percent of the nodes' capacity.
    percentages: dict[str, Percentages]
    pods: dict[str, list[PodView]]

    @classmethod
    def from_source(cls, handle: Handle, nodes: Sequence[Node], source: Any) -> UsageSnapshot:
        """Read the use of all nodes from ``source``; raise PluginError if it does not know a node."""
        pods = {node.name: handle.cluster.list_pods_on_node(node.name) for node in nodes}
        amounts = {node.name: source.of_node(node.name, pods[node.name]) for node in nodes}
        percentages = {node.name: _usage_percentages(amounts[node.name], node_capacity(node)) for node in nodes}
        return cls({node.name: node for node in nodes}, amounts, percentages, pods)

    def describe_node(self, name: str, category: str) -> Json:
        """Return the report of a node's class."""
        percentages = {key: _round_half_away(value) for key, value in sorted(self.percentages[name].items())}
        usage = {key: str(value) for key, value in sorted(self.amounts[name].items())}
        return {"node": name, "category": category, "usagePercentage": percentages, "usage": usage}


@dataclass(frozen=True, slots=True)
class NodeEvictions:
    """The evictions of one run."""

    handle: Handle
    plugin: str
    # Filter for pods that may be evicted.
    removable: PodFilter
    # Namespaces whose pods stay.
    excluded: frozenset[str]
    source: Any
    # Decides by the source node and the amounts available on all targets.
    continue_eviction: Callable[[NodeInfo, Amounts], bool]
    # From one node; None for no limit.
    max_evictions: int | None = None

    def run(self, sources: list[NodeInfo], targets: list[NodeInfo], names: Sequence[str]) -> None:
        """Evict pods of ``sources``, in their order, as long as there is room on ``targets``."""
        if any(name not in target.use for target in targets for name in names):
            return
        available = {name: _assess_available(targets, name) for name in names}
        taints = list(dict.fromkeys(target.node.taints for target in targets))
        for node_info in sources:
            removable = [pod for pod in node_info.pods if self.removable(pod)]
            sort_by_priority(removable)
            try:
                self._evict_pods_from_node(node_info, removable, available, taints)
            except NodeLimitReached:
                continue
            except TotalLimitReached:
                return

    def _evict_pods_from_node(
        self, node_info: NodeInfo, pods: list[PodView], available: Amounts, taints: list[tuple[Taint, ...]]
    ) -> None:
        """Evict pods of one node; raise NodeLimitReached and TotalLimitReached."""
        evicted = 0
        for pod in pods if self.continue_eviction(node_info, available) else ():
            if self.max_evictions is not None and evicted >= self.max_evictions:
                return
            if (
                not _tolerates_any(pod, taints)
                or pod.namespace in self.excluded
                or not self.handle.passes_pre_eviction_filter(pod)
            ):
                continue
            try:
                use = self.source.of_pod(pod)
                self.handle.evict_pod(pod, self.plugin)
            except (NodeLimitReached, TotalLimitReached):
                raise
            except (EvictionRefused, PluginError):
                continue
            evicted += 1
            if use is None:
                # Without the use of pods nothing tells when to stop, so one pod goes unless there is a limit.
                if self.max_evictions is None:
                    return
                continue
            _subtract_usage(use, node_info.use, available)
            if not self.continue_eviction(node_info, available):
                return


def _subtract_usage(use: Amounts, of_node: Amounts, available: Amounts) -> None:
    """Subtract the use of an evicted pod from its node and from the room of the targets."""
    for name in available:
        amount = _count_quantity(1) if name == PODS else use[name]
        of_node[name] = of_node[name].plus(amount, -1)
        available[name] = available[name].plus(amount, -1)


def sort_nodes_by_usage(nodes: list[NodeInfo], ascending: bool) -> None:
    """Sort by the sum of all amounts, whatever their units, as `sortNodesByUsage` does."""
    total = {
        node_info.node.name: sum(round_to_unit(name, amount.nano) for name, amount in node_info.use.items())
        for node_info in nodes
    }
    way = 1 if ascending else -1
    sort_slice(nodes, lambda first, other: way * total[first.node.name] < way * total[other.node.name])


def node_capacity(node: Node) -> Amounts:
    """Return a node's allocatable, or its capacity if nothing is allocatable.

    It has 100 of the resource that stands for a query.
    """
    status = get_mapping(node.raw, "status")
    listed = read_quantities(status, "allocatable" if status.get("allocatable") else "capacity", "status.")
    return {name: Quantity(amount, -9) for name, amount in listed.items()} | {METRIC: _count_quantity(100)}


def compute_limits(node: Node, thresholds: Percentages, names: Iterable[str]) -> Amounts:
    """Return the most that a node should use of each resource by ``thresholds``."""
    has = node_capacity(node)
    return {name: _limit_amount(name, has.get(name), thresholds.get(name)) for name in names}


def room_left(available: Amounts) -> bool:
    return all(amount.unscaled > 0 for amount in available.values())


def rounded_names(thresholds: Mapping[str, float]) -> list[str]:
    """Return the resources that count: those with a threshold, CPU, memory and pods."""
    return list(dict.fromkeys([*thresholds, *BASIC]))


def _limit_amount(name: str, has: Quantity | None, threshold: float | None) -> Quantity:
    if has is None:
        return _count_quantity(0)
    if threshold is None:
        return has
    # The same float operations as the original, whose result is truncated.
    amount = int(threshold * 0.01 * float(round_to_unit(name, has.nano)))
    return Quantity(amount * (MILLI if name == CPU else NANO), -9)


def _assess_available(targets: list[NodeInfo], name: str) -> Quantity:
    available = _count_quantity(0)
    for target in targets:
        available = available.plus(target.limits[name]).plus(target.use[name], -1)
    return available


def _usage_percentages(use: Amounts, has: Amounts) -> Percentages:
    percentages = {}
    for name, amount in use.items():
        if name in has:
            used, total = round_to_unit(name, amount.nano), round_to_unit(name, has[name].nano)
            percentages[name] = float(used) / float(total) * 100 if total > 0 else 0.0
    return percentages


def _round_half_away(value: float) -> int | float:
    """Round as Go's `math.Round` does: halves away from zero."""
    return number_json(math.copysign(math.floor(abs(value) + 0.5), value), 64)


def _tolerates_any(pod: PodView, taints: list[tuple[Taint, ...]]) -> bool:
    """Return True if the pod tolerates all taints of a node, and has at least as many tolerations."""
    tolerations = pod.pod.tolerations
    return any(
        len(tolerations) >= len(of_node) and all(is_tolerated(taint, tolerations, True) for taint in of_node)
        for of_node in taints
    )


def _zero_quantity(name: str) -> Quantity:
    return Quantity(0, -9, format=BINARY_SI if name == MEMORY else DECIMAL_SI)


def _count_quantity(number: int) -> Quantity:
    return Quantity(number * NANO, -9)
