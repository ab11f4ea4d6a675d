"""PodDisruptionBudgets as the eviction API counts them: which evictions they allow, and what these use up."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_mapping, get_objects, get_string
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import BUDGET, ClusterObjects
from kschedweb.engine.values import dataclass

SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
ALWAYS = "AlwaysAllow"


@dataclass
class EvictionBudget:
    """A budget whose numbers change as pods are evicted and replaced."""

    namespace: str
    name: str
    selector: Selector
    # Disruptions that are still allowed.
    allowed: int
    # Number of healthy pods, and how many there should be.
    healthy: int
    desired: int
    # True if unhealthy pods may be evicted regardless of the budget.
    always: bool
    # True if the controller has observed the current generation.
    observed: bool

    @classmethod
    def from_json(cls, raw: Json) -> EvictionBudget:
        """Read a policy/v1 PodDisruptionBudget; one with an invalid selector matches no pod."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        selector = NOTHING
        with suppress(SelectorError):
            selector = label_selector(spec.get("selector"), "spec.selector.")
        return cls(
            namespace=get_string(metadata, "namespace", "metadata.") or "default",
            name=get_string(metadata, "name", "metadata."),
            selector=selector,
            allowed=get_integer(status, "disruptionsAllowed", path="status."),
            healthy=get_integer(status, "currentHealthy", path="status."),
            desired=get_integer(status, "desiredHealthy", path="status."),
            always=get_string(spec, "unhealthyPodEvictionPolicy", "spec.") == ALWAYS,
            observed=get_integer(status, "observedGeneration", path="status.", bits=64)
            >= get_integer(metadata, "generation", path="metadata.", bits=64),
        )

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def covers_pod(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(pod.labels)

    def explain_refusal(self) -> str:
        """Return the server's message if no healthy pod of the budget may be evicted now; "" if one may."""
        if not self.observed:
            return f"{VIOLATES} The disruption budget {self.name} is still being processed by the server."
        if self.allowed <= 0:
            counts = f"needs {self.desired} healthy pods and has {self.healthy} currently"
            return f"{VIOLATES} The disruption budget {self.name} {counts}"
        return ""


class EvictionBudgets:
    """All budgets of a cluster, as they are used up and restored."""

    def __init__(self, cluster: ClusterObjects) -> None:
        self._all = [EvictionBudget.from_json(raw) for raw in cluster.all(BUDGET)]
        # (namespace, labels) -> budgets: pods of a workload share the answer.
        self._of: dict[Hashable, list[EvictionBudget]] = {}

    def save_state(self) -> list[tuple[int, int]]:
        """Return the state of all budgets, for ``restore_state``."""
        return [(budget.allowed, budget.healthy) for budget in self._all]

    def restore_state(self, state: list[tuple[int, int]]) -> None:
        for budget, (allowed, healthy) in zip(self._all, state, strict=True):
            budget.allowed, budget.healthy = allowed, healthy

    def find_budgets(self, pod: Pod) -> list[EvictionBudget]:
        """Return the budgets whose selectors match ``pod``."""
        key = pod.namespace, frozenset(pod.labels.items())
        if key not in self._of:
            self._of[key] = [budget for budget in self._all if budget.covers_pod(pod)]
        return self._of[key]

    def explain_refusal(self, pod: Pod) -> str:
        """Return the eviction API's message if it would not evict ``pod`` now; "" if it would."""
        budget, several = self._counted_budget(pod)
        return SEVERAL if several else "" if budget is None else budget.explain_refusal()

    def evict_pod(self, pod: Pod) -> EvictionBudget | None:
        """Evict ``pod``; returns the budget that this uses up, or ``None``."""
        budget, _ = self._counted_budget(pod)
        if budget is not None:
            budget.allowed -= 1
            budget.healthy -= 1
        return budget

    def _counted_budget(self, pod: Pod) -> tuple[EvictionBudget | None, bool]:
        """Return the budget that an eviction of ``pod`` counts against, and whether there are several."""
        # As in the original's `canIgnorePDB`: pods that do not run disrupt nothing.
        if pod.terminating or get_phase(pod) in ("Succeeded", "Failed", "Pending"):
            return None, False
        budgets = self.find_budgets(pod)
        if len(budgets) != 1:
            return None, len(budgets) > 1
        budget = budgets[0]
        # Unhealthy pods of a healthy budget go without using it up.
        if not is_healthy(pod) and (budget.always or (budget.healthy >= budget.desired > 0)):
            return None, False
        return budget, False


def restore_disruption(budget: EvictionBudget) -> None:
    """Give one disruption back, because a replacement has become ready."""
    budget.allowed += 1
    budget.healthy += 1


def get_phase(pod: Pod) -> str:
    return get_string(get_mapping(pod.raw, "status"), "phase", "status.")


def is_healthy(pod: Pod) -> bool:
    """Return true if the pod is ready; a pod without conditions counts as ready."""
    conditions = get_objects(get_mapping(pod.raw, "status"), "conditions", "status.")
    ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
    return not conditions or ready[:1] == ["True"]
