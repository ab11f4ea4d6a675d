"""The cluster that a descheduling cycle sees; an evicted pod is gone from it at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_mapping, get_string
from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.rebalancing.pods import PodFilter, PodView
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget, with the fields that decide on pods that are not ready."""

    key: str
    budget: PodDisruptionBudget
    # True for the unhealthyPodEvictionPolicy AlwaysAllow.
    always_allows: bool
    # True if as many pods are healthy as are desired, and some are desired.
    healthy: bool

    @classmethod
    def from_json(cls, raw: Json) -> DisruptionBudget:
        metadata, status = get_mapping(raw, "metadata"), get_mapping(raw, "status")
        budget = PodDisruptionBudget.from_json(raw)
        current, desired = (get_integer(status, name, path="status.") for name in ("currentHealthy", "desiredHealthy"))
        return cls(
            key=f"{budget.namespace}/{get_string(metadata, 'name', 'metadata.')}",
            budget=budget,
            always_allows=get_string(get_mapping(raw, "spec"), "unhealthyPodEvictionPolicy", "spec.") == "AlwaysAllow",
            healthy=current >= desired > 0,
        )

    def selects_pod(self, pod: PodView) -> bool:
        """Return True if it selects the pod.

        Unlike for the disruption controller, an empty selector selects all pods.
        """
        return pod.namespace == self.budget.namespace and self.budget.selector.matches(pod.pod.labels)


@dataclass(slots=True)
class DeschedulerCluster:
    """The objects that a cycle reads. Only its pods change."""

    nodes: list[Node]
    budgets: list[DisruptionBudget] = field(default_factory=list)
    # Name -> labels.
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    # Storage class by namespace/name of a claim; None if it names none.
    claims: dict[str, str | None] = field(default_factory=dict)
    # By namespace/name, in the order in which they were added.
    pods: dict[str, PodView] = field(default_factory=dict)
    # The same pods by node.
    by_node: dict[str, dict[str, PodView]] = field(default_factory=lambda: defaultdict(dict))
    # Uid of an owner -> keys of its pods.
    by_owner: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add_pods(self, pods: Iterable[PodView]) -> None:
        """Add pods, in their order."""
        for pod in pods:
            self.pods[pod.key] = pod
            if pod.node:
                self.by_node[pod.node][pod.key] = pod
            for owner in pod.owners:
                self.by_owner[owner.uid].add(pod.key)

    def remove_pod(self, pod: PodView) -> None:
        """Remove an evicted pod."""
        del self.pods[pod.key]
        if pod.node:
            del self.by_node[pod.node][pod.key]
        for owner in pod.owners:
            self.by_owner[owner.uid].discard(pod.key)

    def list_pods_on_node(
        self, node: str, passes: PodFilter | None = None, *, include_done: bool = False
    ) -> list[PodView]:
        """Return the pods on a node that pass; with ``include_done`` also those that have ended."""
        pods = self.by_node.get(node, {}).values()
        return [pod for pod in pods if (include_done or not pod.is_done) and (passes is None or passes(pod))]

    def ready_nodes(self, selector: Selector) -> list[Node]:
        """Return the nodes that match a selector and are ready, or have no Ready condition."""
        return [node for node in self.nodes if selector.matches(node.labels) and node.is_ready]
