"""What LowNodeUtilization and HighNodeUtilization share: the use of nodes, their classes, and the evictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kschedweb.engine.cel.quantities import BINARY_SI, DECIMAL_SI, Quantity
from kschedweb.engine.config.types import Field
from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.quantity import MILLI, NANO, read_list, whole
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.objects.taints import Taint, tolerated
from kschedweb.engine.rebalancing.arguments import NAMESPACES, THRESHOLDS, Args
from kschedweb.engine.rebalancing.evicting import EvictionRefused, NodeLimitReached, TotalLimitReached
from kschedweb.engine.rebalancing.fitting import PODS
from kschedweb.engine.rebalancing.handle import Handle, PluginError
from kschedweb.engine.rebalancing.metrics import Amounts
from kschedweb.engine.rebalancing.pods import PodFilter, PodView
from kschedweb.engine.rebalancing.sorting import by_priority
from kschedweb.engine.validation.golang import number_json
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

METRIC = "MetricResource"
BASIC = (CPU, MEMORY, PODS)
Percentages = dict[str, float]
NAMESPACES_GO = Field("evictableNamespaces", NAMESPACES, "Namespaces whose pods stay: exclude.", pointer=True)
THRESHOLDS_FIELD = Field(
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


class Requested:
    """Use as what pods ask for."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)

    def of_node(self, node: str, pods: list[PodView]) -> Amounts:
        """The use of a node; raises PluginError where it is not known."""
        total = {name: _zero(name) for name in self.names}
        for pod in pods:
            for name in pod.asked.quantities.keys() & total.keys():
                total[name] = total[name].plus(pod.asked.quantities[name])
        return total | ({PODS: _count(len(pods))} if PODS in total else {})

    def of_pod(self, pod: PodView) -> Amounts | None:
        """The use of a pod by resource; raises PluginError where it is not known, and is None where it never is."""
        return {name: pod.asked.quantities.get(name, _zero(name)) for name in self.names}


@dataclass(slots=True)
class NodeUse:
    """A node with its use, the most that it should have, and its pods."""

    node: Node
    use: Amounts
    most: Amounts
    pods: list[PodView]


@dataclass(frozen=True, slots=True)
class Use:
    """The use of all nodes before the first eviction, also in percent of what they have."""

    nodes: dict[str, Node]
    amounts: dict[str, Amounts]
    percentages: dict[str, Percentages]
    pods: dict[str, list[PodView]]

    @classmethod
    def read(cls, handle: Handle, nodes: Sequence[Node], source: Any) -> Use:
        """Raises PluginError where ``source`` does not know a node."""
        pods = {node.name: handle.cluster.on(node.name) for node in nodes}
        amounts = {node.name: source.of_node(node.name, pods[node.name]) for node in nodes}
        percentages = {node.name: _percentages(amounts[node.name], capacity(node)) for node in nodes}
        return cls({node.name: node for node in nodes}, amounts, percentages, pods)

    def told(self, name: str, category: str) -> dict[str, Any]:
        """What is told of a node's class."""
        percentages = {key: _rounded(value) for key, value in sorted(self.percentages[name].items())}
        usage = {key: str(value) for key, value in sorted(self.amounts[name].items())}
        return {"node": name, "category": category, "usagePercentage": percentages, "usage": usage}


@dataclass(frozen=True, slots=True)
class Moves:
    """The evictions of one run. ``goes_on`` looks at a node and at what is available on all others."""

    handle: Handle
    plugin: str
    removable: PodFilter
    excluded: frozenset[str]
    source: Any
    goes_on: Callable[[NodeUse, Amounts], bool]
    most: int | None = None

    def run(self, sources: list[NodeUse], targets: list[NodeUse], names: Sequence[str]) -> None:
        """Evict pods of ``sources``, in their order, as long as there is room on ``targets``."""
        if any(name not in target.use for target in targets for name in names):
            return
        available = {name: _left(targets, name) for name in names}
        taints = list(dict.fromkeys(target.node.taints for target in targets))
        for one in sources:
            removable = [pod for pod in one.pods if self.removable(pod)]
            by_priority(removable)
            try:
                self._of_node(one, removable, available, taints)
            except NodeLimitReached:
                continue
            except TotalLimitReached:
                return

    def _of_node(self, one: NodeUse, pods: list[PodView], available: Amounts, taints: list[tuple[Taint, ...]]) -> None:
        """Evict pods of one node; raises NodeLimitReached and TotalLimitReached."""
        evicted = 0
        for pod in pods if self.goes_on(one, available) else ():
            if self.most is not None and evicted >= self.most:
                return
            if not _welcome(pod, taints) or pod.namespace in self.excluded or not self.handle.goes_now(pod):
                continue
            try:
                use = self.source.of_pod(pod)
                self.handle.evict(pod, self.plugin)
            except (NodeLimitReached, TotalLimitReached):
                raise
            except (EvictionRefused, PluginError):
                continue
            evicted += 1
            if use is None:
                if self.most is None:
                    return  # the use of what is left is not known
                continue
            _subtract(use, one.use, available)
            if not self.goes_on(one, available):
                return


def _subtract(use: Amounts, of_node: Amounts, available: Amounts) -> None:
    """A pod with this use has gone to where the available room is."""
    for name in available:
        gone = _count(1) if name == PODS else use[name]
        of_node[name] = of_node[name].plus(gone, -1)
        available[name] = available[name].plus(gone, -1)


def by_use(nodes: list[NodeUse], ascending: bool) -> None:
    """Sort by the sum of what is used, whatever its units."""
    total = {one.node.name: sum(whole(name, amount.nano) for name, amount in one.use.items()) for one in nodes}
    way = 1 if ascending else -1
    sort_slice(nodes, lambda one, other: way * total[one.node.name] < way * total[other.node.name])


def capacity(node: Node) -> Amounts:
    """What a node has: allocatable, or capacity where nothing is allocatable; of the resource of a query 100."""
    status = mapping(node.raw, "status")
    listed = read_list(status, "allocatable" if status.get("allocatable") else "capacity", "status.")
    return {name: Quantity(amount, -9) for name, amount in listed.items()} | {METRIC: _count(100)}


def capped(node: Node, thresholds: Percentages, names: Iterable[str]) -> Amounts:
    """The most that a node should have of each resource by ``thresholds``."""
    has = capacity(node)
    return {name: _capped(name, has.get(name), thresholds.get(name)) for name in names}


def room_left(available: Amounts) -> bool:
    return all(amount.unscaled > 0 for amount in available.values())


def rounded_names(thresholds: Mapping[str, float]) -> list[str]:
    """The resources that count: those with a threshold, CPU, memory and pods."""
    return list(dict.fromkeys([*thresholds, *BASIC]))


def _capped(name: str, has: Quantity | None, threshold: float | None) -> Quantity:
    if has is None:
        return _count(0)
    if threshold is None:
        return has
    amount = int(threshold * 0.01 * float(whole(name, has.nano)))
    return Quantity(amount * (MILLI if name == CPU else NANO), -9)


def _left(targets: list[NodeUse], name: str) -> Quantity:
    left = _count(0)
    for target in targets:
        left = left.plus(target.most[name]).plus(target.use[name], -1)
    return left


def _percentages(use: Amounts, has: Amounts) -> Percentages:
    found = {}
    for name, amount in use.items():
        if name in has:
            used, total = whole(name, amount.nano), whole(name, has[name].nano)
            found[name] = float(used) / float(total) * 100 if total > 0 else 0.0
    return found


def _rounded(value: float) -> int | float:
    """As Go's math.Round: halves away from zero."""
    return number_json(math.copysign(math.floor(abs(value) + 0.5), value), 64)


def _welcome(pod: PodView, taints: list[tuple[Taint, ...]]) -> bool:
    """Whether the pod tolerates all taints of a node, and has at least as many tolerations."""
    tolerations = pod.pod.tolerations
    return any(
        len(tolerations) >= len(of_node) and all(tolerated(one, tolerations, True) for one in of_node)
        for of_node in taints
    )


def _zero(name: str) -> Quantity:
    return Quantity(0, -9, format=BINARY_SI if name == MEMORY else DECIMAL_SI)


def _count(number: int) -> Quantity:
    return Quantity(number * NANO, -9)
