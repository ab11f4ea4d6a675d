"""LoadAwareScheduling, of Koordinator: what is left of each resource with the pod and the pods not yet measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kschedweb.decisions.load_aware.arithmetic.common import NOTHING, RESOURCES, duration, figure, instance, started
from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadawarescheduling import WINDOWS, LoadAwareScheduling
from kschedweb.engine.state.watermarks.koordinator import PROD, priority_class
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


def load_aware(case: Case, node: int) -> Arithmetic:
    plugin: LoadAwareScheduling = instance(case, "LoadAwareScheduling")
    result = started(
        "What is left of each resource, in whole percents, weighed: what the node uses, what pods are expected to use "
        "that its figures do not show yet, and what the pod is expected to use."
    )
    result.computed = 0
    if case.snapshot.watermarks is None:
        result.notes.append(f"{NOTHING} Every node scores 0.")
        return result
    for resource in (CPU, MEMORY):
        first, second = (
            figure(case, node, resource, window, stale_after=plugin.expiration - 1e-9) for window in WINDOWS
        )
        result.figures.append(second if first.value == "no figure" else first)
    if (why := _unknown(case, plugin, node)) is not None:
        result.notes.append(f"{why}, so it scores 0.")
        return result
    left = [_left(result, case, plugin, row, node) for row in range(len(plugin.resources))]
    _mean(result, plugin, left)
    return result


def _unknown(case: Case, plugin: LoadAwareScheduling, node: int) -> str | None:
    """Why the node's figures do not count; ``None`` where they do."""
    assert case.snapshot.watermarks is not None
    if not plugin.reported(case.snapshot)[node]:
        return "Nothing is known of this node (to Koordinator, it has no NodeMetric)"
    if not plugin.measured(case.snapshot)[node]:
        return "The node does not tell what it uses"
    if plugin.expired(case.snapshot)[node]:
        age = case.snapshot.now - float(case.snapshot.watermarks.updated[node])
        old = "of no known age" if math.isnan(age) else f"{duration(age)} old"
        return f"The figures are {old}; they count for less than {duration(plugin.expiration)}"
    return None


def _left(result: Arithmetic, case: Case, plugin: LoadAwareScheduling, row: int, node: int) -> int:
    resource = plugin.resources[row]
    prod = plugin.score_prod and priority_class(case.pod) == PROD
    aggregate = None if prod else plugin.scored_aggregate
    before = int(plugin.used(case.snapshot, prod, aggregate)[row, node])
    own = int(plugin.expected(case.pod)[row])
    size = int(plugin.allocatable(case.snapshot)[row, node])
    name, used, weight = RESOURCES.get(resource, resource), before + own, plugin.weights[row]
    of = "pods of class koord-prod" if prod else f"the node ({aggregate.kind})" if aggregate else "the node"
    formula = f"{of} with newer pods {amount(before, resource)} + pod {amount(own, resource)}"
    result.steps.append(Step(f"{name}: use with the pod", formula, amount(used, resource)))
    left, formula = 0, "the node has none of it" if size <= 0 else "more than there is"
    if size > 0 and used <= size:
        left = (size - used) * 100 // size
        formula = (
            f"({amount(size, resource)} − {amount(used, resource)}) × 100 ÷ {amount(size, resource)}, rounded down"
        )
    result.steps.append(Step(f"{name}: left, weight {weight}", formula, f"{left} %"))
    return left


def _mean(result: Arithmetic, plugin: LoadAwareScheduling, left: list[int]) -> None:
    parts = [(each, weight) for each, weight in zip(left, plugin.weights, strict=True) if weight]
    total = sum(each * weight for each, weight in parts)
    listed = [f"{each} × {weight}" for each, weight in parts]
    if plugin.dominant_weight:
        total += min(left) * plugin.dominant_weight
        listed.append(f"the least, {min(left)} × {plugin.dominant_weight}")
    weights = max(sum(plugin.weights) + plugin.dominant_weight, 1)
    result.computed = total // weights
    formula = f"({' + '.join(listed) or '0'}) ÷ {weights}, rounded down"
    result.steps.append(Step("Weighted mean", formula, str(result.computed)))
