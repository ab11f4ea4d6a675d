"""PodDisruptionBudgets as the eviction API counts them: which pods may be evicted, and what an eviction uses up."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress

from kschedweb.engine.objects.access import Json, integer, mapping, objects, text
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster import BUDGET, ClusterObjects
from kschedweb.engine.values import dataclass

SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
ALWAYS = "AlwaysAllow"


@dataclass
class EvictionBudget:
    """A budget with the disruptions that are still ``allowed``, which change as pods are evicted and replaced."""

    namespace: str
    name: str
    selector: Selector
    allowed: int
    healthy: int
    desired: int
    always: bool  # unhealthy pods may be evicted regardless of the budget
    observed: bool  # whether the controller has observed the current generation

    @classmethod
    def read(cls, raw: Json) -> EvictionBudget:
        """Read a policy/v1 PodDisruptionBudget; one with an invalid selector matches no pod."""
        metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
        selector = NOTHING
        with suppress(SelectorError):
            selector = label_selector(spec.get("selector"), "spec.selector.")
        return cls(
            namespace=text(metadata, "namespace", "metadata.") or "default",
            name=text(metadata, "name", "metadata."),
            selector=selector,
            allowed=integer(status, "disruptionsAllowed", path="status."),
            healthy=integer(status, "currentHealthy", path="status."),
            desired=integer(status, "desiredHealthy", path="status."),
            always=text(spec, "unhealthyPodEvictionPolicy", "spec.") == ALWAYS,
            observed=integer(status, "observedGeneration", path="status.", bits=64)
            >= integer(metadata, "generation", path="metadata.", bits=64),
        )

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def means(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(pod.labels)

    def refusal(self) -> str:
        """The server's message if no healthy pod of the budget may be evicted now; "" if one may."""
        if not self.observed:
            return f"{VIOLATES} The disruption budget {self.name} is still being processed by the server."
        if self.allowed <= 0:
            counts = f"needs {self.desired} healthy pods and has {self.healthy} currently"
            return f"{VIOLATES} The disruption budget {self.name} {counts}"
        return ""


class Budgets:
    """All budgets of a cluster, as they are used up and restored."""

    def __init__(self, cluster: ClusterObjects) -> None:
        self._all = [EvictionBudget.read(raw) for raw in cluster.all(BUDGET)]
        self._of: dict[Hashable, list[EvictionBudget]] = {}  # by namespace and labels

    def state(self) -> list[tuple[int, int]]:
        """The state of all budgets, for ``restore``."""
        return [(budget.allowed, budget.healthy) for budget in self._all]

    def restore(self, state: list[tuple[int, int]]) -> None:
        for budget, (allowed, healthy) in zip(self._all, state, strict=True):
            budget.allowed, budget.healthy = allowed, healthy

    def of(self, pod: Pod) -> list[EvictionBudget]:
        """The budgets whose selectors match ``pod``."""
        key = pod.namespace, frozenset(pod.labels.items())
        if key not in self._of:
            self._of[key] = [budget for budget in self._all if budget.means(pod)]
        return self._of[key]

    def refusal(self, pod: Pod) -> str:
        """The eviction API's message if it would not evict ``pod`` now; "" if it would."""
        budget, several = self._counted(pod)
        return SEVERAL if several else "" if budget is None else budget.refusal()

    def evict(self, pod: Pod) -> EvictionBudget | None:
        """Evict ``pod``; returns the budget that this uses up, or ``None``."""
        budget, _ = self._counted(pod)
        if budget is not None:
            budget.allowed -= 1
            budget.healthy -= 1
        return budget

    def _counted(self, pod: Pod) -> tuple[EvictionBudget | None, bool]:
        """(the budget that an eviction of ``pod`` is counted against, whether there are several)."""
        if pod.terminating or phase(pod) in ("Succeeded", "Failed", "Pending"):
            return None, False
        found = self.of(pod)
        if len(found) != 1:
            return None, len(found) > 1
        budget = found[0]
        if not healthy(pod) and (budget.always or (budget.healthy >= budget.desired > 0)):
            return None, False
        return budget, False


def replaced(budget: EvictionBudget) -> None:
    """Give one disruption back, because a replacement has become ready."""
    budget.allowed += 1
    budget.healthy += 1


def phase(pod: Pod) -> str:
    return text(mapping(pod.raw, "status"), "phase", "status.")


def healthy(pod: Pod) -> bool:
    """Whether the pod is ready; a pod without conditions counts as ready."""
    conditions = objects(mapping(pod.raw, "status"), "conditions", "status.")
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    return not conditions or ready[:1] == ["True"]
