"""RemovePodsViolatingInterPodAntiAffinity evicts pods whose required anti-affinity another pod meets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kschedweb.engine.objects.affinity import PodTerm
from kschedweb.engine.objects.labels import Selector, label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import NAMESPACES_FIELD, SELECTOR_FIELD, Args, args_struct, scope_faults
from kschedweb.engine.rebalancing.evictions import EvictionRefused, NodeLimitReached, TotalLimitReached
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import LabelGroups, PodView, build_filter
from kschedweb.engine.rebalancing.sorting import sort_by_priority

NAME = "RemovePodsViolatingInterPodAntiAffinity"
ARGS = args_struct(
    "removepodsviolatinginterpodantiaffinity.RemovePodsViolatingInterPodAntiAffinityArgs",
    "Labels of the pods to check.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
)


class RemovePodsViolatingInterPodAntiAffinity:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._handle = handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = build_filter(args, selector)

    def run(self, nodes: Sequence[Node]) -> None:
        on_nodes = {node.name: self._handle.cluster.list_pods_on_node(node.name, self._passes) for node in nodes}
        remaining_pods = _RemainingPods(nodes, [pod for pods in on_nodes.values() for pod in pods])
        for pods in on_nodes.values():
            sort_by_priority(pods)
            for pod in pods:
                if not remaining_pods.violates_anti_affinity(pod) or not self._handle.passes_filters(pod):
                    continue
                try:
                    self._handle.evict_pod(pod, NAME)
                except NodeLimitReached:
                    break
                except TotalLimitReached:
                    return
                except EvictionRefused:
                    continue
                remaining_pods.remove_pod(pod)


# Node or value of the topology key -> key of each pod -> its name.
Pods = dict[str, dict[str, str]]


class _RemainingPods:
    """The pods that are not evicted yet. The pods that a term selects are found once, by node and by domain."""

    def __init__(self, nodes: Sequence[Node], pods: list[PodView]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._groups = LabelGroups(pods)
        self._removed: set[str] = set()
        # (selector, topology key, namespaces) -> pods by node and by value of the key.
        self._pods_by_term: dict[tuple[Selector, str, frozenset[str]], tuple[Pods, Pods]] = {}

    def remove_pod(self, pod: PodView) -> None:
        self._removed.add(pod.key)
        labels = self._nodes[pod.node].labels
        for (_, topology_key, _), (on_node, in_domain) in self._pods_by_term.items():
            on_node.get(pod.node, {}).pop(pod.key, None)
            in_domain.get(labels.get(topology_key, ""), {}).pop(pod.key, None)

    def violates_anti_affinity(self, pod: PodView) -> bool:
        """Return True if another pod meets a required term of the pod's anti-affinity.

        It must have another name, and be on the same node or in the same domain.
        """
        labels = self._nodes[pod.node].labels
        for term in pod.pod.pod_affinity.anti_required:
            on_node, in_domain = self._pods_of_term(term, term.namespaces or frozenset({pod.namespace}))
            met = [on_node.get(pod.node, {})]
            if term.topology_key in labels:
                met.append(in_domain.get(labels[term.topology_key], {}))
            if any(name != pod.name for pods in met for name in pods.values()):
                return True
        return False

    def _pods_of_term(self, term: PodTerm, namespaces: frozenset[str]) -> tuple[Pods, Pods]:
        key = term.selector, term.topology_key, namespaces
        if key not in self._pods_by_term:
            on_node: Pods = defaultdict(dict)
            in_domain: Pods = defaultdict(dict)
            for pod in self._groups.select_pods(term.selector, namespaces):
                if pod.key not in self._removed:
                    on_node[pod.node][pod.key] = pod.name
                    value = self._nodes[pod.node].labels.get(term.topology_key)
                    if value is not None:
                        in_domain[value][pod.key] = pod.name
            self._pods_by_term[key] = on_node, in_domain
        return self._pods_by_term[key]


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsViolatingInterPodAntiAffinity, scope_faults)
