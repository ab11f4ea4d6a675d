"""PodDisruptionBudgets, and the evictions that would violate them."""

from __future__ import annotations

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.state.cluster_objects import BUDGET
from kschedweb.engine.state.snapshot import Snapshot


def list_budgets(snapshot: Snapshot) -> list[PodDisruptionBudget]:
    """Return all budgets of the cluster."""
    return snapshot.cached_by_objects(
        "budgets", lambda: [PodDisruptionBudget.from_json(raw) for raw in snapshot.objects.all(BUDGET)]
    )


class Allowances:
    """The number of evictions that each budget still allows.

    Since 1.37 kube-scheduler stops at the first budget that a pod violates, in an order that is left to chance. Here
    budgets that the pod does not violate come first, so that all are charged.
    """

    def __init__(self, budgets: list[PodDisruptionBudget], rules: PreemptionRules) -> None:
        self._budgets, self._rules = budgets, rules
        self._allowed = [budget.allowed for budget in budgets]

    def charge_eviction(self, pod: Pod) -> bool:
        """Charge the eviction of ``pod``; return whether it violates a budget."""
        violates = False
        for position, budget in enumerate(self._budgets):
            if budget.covers_pod(pod, self._rules.empty_budget_selector):
                self._allowed[position] -= 1
                violates |= self._allowed[position] < 0
        return violates


def filter_pods_with_pdb_violation(
    pods: list[Pod], budgets: list[PodDisruptionBudget], rules: PreemptionRules
) -> tuple[list[Pod], list[Pod]]:
    """Split ``pods``, in their order, into those whose eviction would violate a budget, and the others."""
    allowances = Allowances(budgets, rules)
    violating: list[Pod] = []
    non_violating: list[Pod] = []
    for pod in pods:
        (violating if allowances.charge_eviction(pod) else non_violating).append(pod)
    return violating, non_violating
