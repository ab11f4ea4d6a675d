"""Evictions: the limits of a cycle, and the API server's check of budgets."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster
from kschedweb.engine.rebalancing.node_fit import Room
from kschedweb.engine.rebalancing.pods import FAILED, PENDING, SUCCEEDED, PodView
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass


class EvictionRefused(Exception):
    """An eviction did not happen; other pods may still be evicted."""


class NodeLimitReached(EvictionRefused):
    """No more pods of this node are evicted."""


class TotalLimitReached(EvictionRefused):
    """No more pods are evicted in this cycle."""


@dataclass(frozen=True, slots=True)
class EvictionLimits:
    """The most evictions in a cycle; ``None`` for no limit."""

    total: int | None = None
    node: int | None = None
    namespace: int | None = None


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that was evicted, from a node by a plugin of a profile."""

    pod: str
    node: str
    plugin: str
    profile: str

    def to_dict(self) -> Json:
        return {"pod": self.pod, "node": self.node, "plugin": self.plugin, "profile": self.profile}


@dataclass(slots=True)
class PodEvictor:
    """Removes pods from the cluster, and records what was evicted and refused."""

    cluster: DeschedulerCluster
    room: Room
    limits: EvictionLimits
    evicted: list[Eviction] = field(default_factory=list)
    failures: list[Json] = field(default_factory=list)
    _by_node: Counter[str] = field(default_factory=Counter)
    _by_namespace: Counter[str] = field(default_factory=Counter)
    remaining: dict[str, int] = field(
        default_factory=dict
    )  # evictions that a budget still allows, of those that were asked

    def evict_pod(self, pod: PodView, plugin: str, profile: str) -> None:
        """Evict ``pod``; raise EvictionRefused."""
        try:
            self._check_limits(pod)
        except (TotalLimitReached, NodeLimitReached) as refused:
            self.failures.append({"error": str(refused)})
            raise
        except EvictionRefused as refused:
            self.failures.append({"pod": pod.key, "error": str(refused)})
            raise
        self.cluster.remove_pod(pod)
        self.room.remove_pod(pod)
        self._by_node[pod.node] += 1
        self._by_namespace[pod.namespace] += 1
        self.evicted.append(Eviction(pod.key, pod.node, plugin, profile))

    def _check_limits(self, pod: PodView) -> None:
        limits = self.limits
        if limits.total is not None and len(self.evicted) + 1 > limits.total:
            raise TotalLimitReached("maximum number of evicted pods per a descheduling cycle reached")
        if limits.node is not None and self._by_node[pod.node] + 1 > limits.node:
            raise NodeLimitReached("maximum number of evicted pods per node reached")
        if limits.namespace is not None and self._by_namespace[pod.namespace] + 1 > limits.namespace:
            raise EvictionRefused("maximum number of evicted pods per namespace reached")
        self._check_budgets(pod)

    def _check_budgets(self, pod: PodView) -> None:
        """Raise EvictionRefused as the API server's eviction subresource would."""
        if pod.key not in self.cluster.pods:
            message = f"pods {quote(pod.name)} not found"
            raise EvictionRefused(f"pod not found when evicting {quote(pod.name)}: {message}")
        if pod.phase in (SUCCEEDED, FAILED, PENDING) or pod.pod.terminating or not pod.pod.labels:
            return
        budgets = [budget for budget in self.cluster.budgets if budget.selects_pod(pod)]
        if not budgets:
            return
        if len(budgets) > 1:
            message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise EvictionRefused(f"Internal error occurred: {message}")
        budget = budgets[0]
        # As the API server does: pods that are not ready need no budget under AlwaysAllow, or while enough others are
        # healthy.
        if not pod.is_ready and (budget.always_allows or budget.healthy):
            return
        # The eviction subresource itself counts `disruptionsAllowed` down.
        remaining = self.remaining.setdefault(budget.key, budget.budget.allowed)
        if remaining == 0:
            message = "Cannot evict pod as it would violate the pod's disruption budget."
            raise EvictionRefused(f"error when evicting pod (ignoring) {quote(pod.name)}: {message}")
        self.remaining[budget.key] = remaining - 1
