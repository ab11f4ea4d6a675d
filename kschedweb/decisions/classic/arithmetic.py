"""The arithmetic of a priority's score on a node: mapped, reduced over the feasible nodes, weighted.

Each function computes the score from the numbers that it shows; tests compare ``computed`` and ``reduced`` with the
engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.arithmetic import place, scored
from kschedweb.decisions.classic import counting, nodes, rooms
from kschedweb.decisions.classic.worked import ScoreContext, Worked
from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.engine.releases.classic.priorities import node, room, spreading

if TYPE_CHECKING:
    from kschedweb.decisions.case import ClassicCase
    from kschedweb.decisions.matrix.matrix import Matrix

WORKED: dict[type, Callable[[ScoreContext], Worked]] = {
    node.Equal: nodes.equal,
    node.NodeLabel: nodes.label,
    node.NodePreferAvoidPods: nodes.avoid,
    node.NodeAffinity: nodes.affinity,
    node.TaintToleration: nodes.taints,
    node.ImageLocality: nodes.images,
    node.PlainImageLocality: nodes.plain_images,
    room.LeastRequested: rooms.least,
    room.MostRequested: rooms.most,
    room.RequestedToCapacityRatio: rooms.ratio,
    room.BalancedResourceAllocation: rooms.balanced,
    room.ResourceLimits: rooms.limits,
    spreading.SelectorSpread: counting.spread,
    spreading.ServiceAntiAffinity: counting.apart,
    spreading.PlainServiceAntiAffinity: counting.apart,
    spreading.InterPodAffinityPriority: counting.affinity,
}


def explain(matrix: Matrix, case: ClassicCase, position: int, priority: str) -> Arithmetic:
    """The arithmetic of ``priority`` on the node at ``position``; ``error`` says why there is none."""
    name = matrix.explanation.nodes[position]
    found = scored(matrix, position, priority)
    if isinstance(found, str):
        return Arithmetic(name, priority, "", error=found)
    column, index = found
    plugin = plugin_of(case.scheduler.algorithm.priorities, priority)
    worked = WORKED[type(plugin)](ScoreContext(case, position, index, plugin, column))
    mapped, reduced = int(column.raw[index]), int(column.normalized[index])
    steps = [
        *worked.steps,
        Step("Mapped", "for this node alone", str(mapped)),
        Step("Reduced over the feasible nodes", worked.reducing or "unchanged", str(reduced)),
        Step("Weight", f"{reduced} × {column.weight}", str(reduced * column.weight)),
        place(matrix, position),
    ]
    return Arithmetic(name, priority, worked.about, steps, worked.mapped, reduced=worked.reduced)


def plugin_of(among: list[Any], name: str) -> Any:
    """The predicate or priority called ``name``."""
    return next(one for one in among if one.name == name)
