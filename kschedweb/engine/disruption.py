"""PodDisruptionBudgets: whose eviction would break a promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: how many of the pods it means may still be evicted."""

    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]

    def means(self, pod: Pod) -> bool:
        if pod.namespace != self.namespace or not pod.labels or pod.name in self.disrupted:
            return False
        return not self.selector.empty and self.selector.matches(pod.labels)


def budgets(snapshot: Snapshot) -> list[Budget]:
    """All budgets of the cluster."""
    return snapshot.memo("budgets", lambda: [_read(raw) for raw in snapshot.objects.all("PodDisruptionBudget")])


def _read(raw: Json) -> Budget:
    metadata, status = mapping(raw, "metadata"), mapping(raw, "status")
    try:
        selector = label_selector(mapping(raw, "spec").get("selector"))
    except SelectorError:
        selector = NOTHING
    allowed: Any = status.get("disruptionsAllowed") or 0
    return Budget(
        str(metadata.get("namespace") or "default"), selector, int(allowed), frozenset(mapping(status, "disruptedPods"))
    )


def split(pods: list[Pod], known: list[Budget]) -> tuple[list[Pod], list[Pod]]:
    """(those whose eviction would violate a budget, the others), walking ``pods`` in their order."""
    allowed = [budget.allowed for budget in known]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        violates = False
        for position, budget in enumerate(known):
            if budget.means(pod):
                allowed[position] -= 1
                violates |= allowed[position] < 0
        (violating if violates else others).append(pod)
    return violating, others
