"""PodDisruptionBudgets: which evictions would violate one."""

from __future__ import annotations

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.workloads import Budget
from kschedweb.engine.state.cluster import BUDGET
from kschedweb.engine.state.snapshot import Snapshot


def budgets(snapshot: Snapshot) -> list[Budget]:
    """All budgets of the cluster."""
    return snapshot.related("budgets", lambda: [Budget.read(raw) for raw in snapshot.objects.all(BUDGET)])


class Allowances:
    """How many evictions each of the budgets allows still.

    Since 1.37 kube-scheduler stops at the first budget that a pod violates, in an order that is left to chance. Here
    the budgets that a pod does not violate come first.
    """

    def __init__(self, known: list[Budget]) -> None:
        self._known = known
        self._allowed = [budget.allowed for budget in known]

    def violates(self, pod: Pod) -> bool:
        """Evict ``pod``; whether that violates a budget."""
        violates = False
        for position, budget in enumerate(self._known):
            if budget.means(pod):
                self._allowed[position] -= 1
                violates |= self._allowed[position] < 0
        return violates


def split(pods: list[Pod], known: list[Budget]) -> tuple[list[Pod], list[Pod]]:
    """Split ``pods``, in their order, into (those whose eviction would violate a budget, the others)."""
    allowances = Allowances(known)
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        (violating if allowances.violates(pod) else others).append(pod)
    return violating, others
