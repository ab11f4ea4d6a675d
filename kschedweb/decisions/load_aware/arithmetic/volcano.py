"""VolcanoUsage: what is left of CPU and memory with the pods that the figures do not show yet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kschedweb.decisions.load_aware.arithmetic.common import (
    NOTHING,
    RESOURCES,
    amount,
    away_from_zero,
    duration,
    figure,
    instance,
    number,
    started,
)
from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.volcanousage import ACTIVE, WINDOWS, VolcanoUsage
from kschedweb.engine.state.watermarks.capacity import capacity

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


def usage(case: Case, node: int) -> Arithmetic:
    plugin: VolcanoUsage = instance(case, "VolcanoUsage")
    result = started(
        "What is left of CPU and memory, weighed. Pods that started too lately to be in the figures are added by what "
        "they are expected to use; the pod itself does not count."
    )
    if case.snapshot.watermarks is None:
        result.notes.append(f"{NOTHING} Every node scores 0.")
        result.computed = 0
        return result
    for resource in (CPU, MEMORY):
        _figures(result, case, resource, node)
    if not plugin.known(case.snapshot)[node]:
        age = case.snapshot.now - float(case.snapshot.watermarks.updated[node])
        why = "Nothing is known of this node" if math.isnan(age) else f"The figures are older than {duration(ACTIVE)}"
        result.notes.append(f"{why}, so it scores 0.")
        result.computed = 0
        return result
    used, shadow = plugin.used(case.snapshot), plugin.shadow(case.snapshot)
    shares = [
        _share(result, case, resource, node, float(used[place][node]), float(shadow[place, node]))
        for place, resource in enumerate((CPU, MEMORY))
    ]
    _score(result, plugin, *shares)
    return result


def _figures(result: Arithmetic, case: Case, resource: str, node: int) -> None:
    """The figure that counts: Volcano's own window, else what stands in for it."""
    first, second = (figure(case, node, resource, window, stale_after=ACTIVE) for window in WINDOWS)
    result.figures.append(second if first.value == "no figure" else first)
    if first.value == second.value == "no figure":
        result.notes.append(f"The {RESOURCES[resource]} use of this node is not known: it counts as 0.")


def _share(result: Arithmetic, case: Case, resource: str, node: int, used: float, shadow: float) -> float:
    name, size = RESOURCES[resource], float(capacity(case.snapshot, resource)[node])
    if size <= 0:
        result.steps.append(Step(name, "the node has none of it", "0"))
        return 0.0
    share = min(max((used / 100.0 * size + shadow) / size, 0.0), 1.0)
    there = amount(resource, size)
    formula = f"({number(used)} % of {there} + newer pods {amount(resource, shadow)}) ÷ {there}, at most 1"
    result.steps.append(Step(f"{name} in use", formula, number(share)))
    return share


def _score(result: Arithmetic, plugin: VolcanoUsage, cpu: float, memory: float) -> None:
    model = plugin.model
    weights = model.cpu_weight + model.memory_weight
    score = 0.0
    if weights:
        left = (1.0 - cpu) * float(model.cpu_weight) + (1.0 - memory) * float(model.memory_weight)
        score = left / float(weights) * 100.0 * 1.0
    parts = f"(1 − {number(cpu)}) × {model.cpu_weight} + (1 − {number(memory)}) × {model.memory_weight}"
    formula = f"({parts}) ÷ {weights} × 100 = {number(score)}, rounded half away from zero" if weights else "no weights"
    result.computed = away_from_zero(score)
    result.steps.append(Step("Score", formula, str(result.computed)))
