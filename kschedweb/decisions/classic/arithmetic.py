"""The arithmetic of a priority's score on a node: mapped, reduced over the feasible nodes, weighted.

Each function computes the score from the numbers that it shows; tests compare ``computed`` and ``reduced`` with the
engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.arithmetic import explain_total, find_score
from kschedweb.decisions.classic import nodes, pod_counts, utilization
from kschedweb.decisions.classic.calculation import ScoreCalculation, ScoreContext
from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.engine.releases.classic.priorities import node, room, spreading

if TYPE_CHECKING:
    from kschedweb.decisions.case import ClassicCase
    from kschedweb.decisions.matrix.matrix import Matrix

# How each priority's score is shown, by the class of the engine's plugin.
SCORE_EXPLAINERS: dict[type, Callable[[ScoreContext], ScoreCalculation]] = {
    node.EqualPriority: nodes.explain_equal,
    node.NodeLabel: nodes.explain_node_label,
    node.NodePreferAvoidPods: nodes.explain_prefer_avoid_pods,
    node.NodeAffinityPriority: nodes.explain_node_affinity,
    node.TaintTolerationPriority: nodes.explain_taint_toleration,
    node.ImageLocalityPriority: nodes.explain_image_locality,
    node.PlainImageLocalityPriority: nodes.explain_plain_image_locality,
    room.LeastRequested: utilization.explain_least_requested,
    room.MostRequested: utilization.explain_most_requested,
    room.RequestedToCapacityRatio: utilization.explain_capacity_ratio,
    room.BalancedResourceAllocation: utilization.explain_balanced_allocation,
    room.ResourceLimits: utilization.explain_resource_limits,
    spreading.SelectorSpread: pod_counts.explain_selector_spread,
    spreading.ServiceAntiAffinity: pod_counts.explain_service_anti_affinity,
    spreading.PlainServiceAntiAffinity: pod_counts.explain_service_anti_affinity,
    spreading.InterPodAffinityPriority: pod_counts.explain_inter_pod_affinity,
}


def explain_priority_score(matrix: Matrix, case: ClassicCase, position: int, priority: str) -> Arithmetic:
    """The arithmetic of ``priority`` on the node at ``position``; ``error`` says why there is none."""
    name = matrix.explanation.nodes[position]
    score_cell = find_score(matrix, position, priority)
    if isinstance(score_cell, str):
        return Arithmetic(name, priority, "", error=score_cell)
    column, index = score_cell
    plugin = plugin_of(case.scheduler.algorithm.priorities, priority)
    calculation = SCORE_EXPLAINERS[type(plugin)](ScoreContext(case, position, index, plugin, column))
    mapped, reduced = int(column.raw[index]), int(column.normalized[index])
    steps = [
        *calculation.steps,
        ArithmeticStep("Mapped", "for this node alone", str(mapped)),
        ArithmeticStep("Reduced over the feasible nodes", calculation.reducing or "unchanged", str(reduced)),
        ArithmeticStep("Weight", f"{reduced} × {column.weight}", str(reduced * column.weight)),
        explain_total(matrix, position),
    ]
    return Arithmetic(name, priority, calculation.description, steps, calculation.mapped, reduced=calculation.reduced)


def plugin_of(among: list[Any], name: str) -> Any:
    """The predicate or priority called ``name``."""
    return next(plugin for plugin in among if plugin.name == name)
