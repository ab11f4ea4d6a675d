"""Dynamic, of crane-scheduler: what is left of each metric, weighed, less the heat of the node."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.load_aware.arithmetic.common import NOTHING, duration, instance, number, started
from kschedweb.decisions.parts import Arithmetic, Figure, Step
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.plugins.dynamic import Dynamic, Part, whole

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


def dynamic(case: Case, node: int) -> Arithmetic:
    plugin: Dynamic = instance(case, "Dynamic")
    result = started(
        "What is left of each metric, weighed, less 10 points for each point of heat. The pod itself does not count. "
        "A metric that is missing or no longer valid adds 0, but its weight still counts."
    )
    total, weights = 0.0, 0.0
    parts = plugin.parts(case.snapshot)
    for part in parts:
        weights += part.weight
        total += _part(result, case, plugin, part, node)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = np.float64(total) / np.float64(weights) if parts else np.float64(0.0)
    base = int(whole(np.array([mean]))[0])
    if parts:
        formula = f"{number(total)} ÷ {number(weights)} = {number(float(mean))}, cut toward 0"
        result.steps.append(Step("Weighted mean", formula, str(base)))
    if not any(part.use.valid[node] for part in parts):
        nothing = case.snapshot.watermarks is None and not any(part.use.annotated[node] for part in parts)
        result.notes.append(
            NOTHING if nothing else "Nothing valid is known of this node: it has nothing left to score."
        )
    _heat(result, case, plugin, node, base)
    return result


def _part(result: Arithmetic, case: Case, plugin: Dynamic, part: Part, node: int) -> float:
    use, added = part.use, float(part.part[node])
    usage, valid = float(use.usage[node]), bool(use.valid[node])
    result.figures.append(_figure(case, plugin, part, node))
    if valid:
        formula = f"(1 − {number(usage)}) × {number(part.weight)} × 100"
    elif part.metric not in plugin.active:
        formula = f"it has no syncPolicy: 0, with its weight {number(part.weight)}"
    elif math.isnan(float(use.usage[node])) or math.isinf(float(use.time[node])):
        formula = f"missing: 0, with its weight {number(part.weight)}"
    else:
        formula = f"older than {duration(plugin.active[part.metric])}: 0, with its weight {number(part.weight)}"
    result.steps.append(Step(part.metric, formula, number(added)))
    return added


def _figure(case: Case, plugin: Dynamic, part: Part, node: int) -> Figure:
    usage, time = float(part.use.usage[node]), float(part.use.time[node])
    annotated, valid = bool(part.use.annotated[node]), bool(part.use.valid[node])
    origin = f"annotation {part.metric}, read as local time of {plugin.zone.key}" if annotated else ""
    if math.isinf(time):
        return Figure(part.metric, "cannot be read", origin=origin, stale=True)
    if math.isnan(usage) and not annotated:
        return Figure(part.metric, "no figure")
    if not annotated:
        origin = case.snapshot.watermarks.source if case.snapshot.watermarks else ""
    value = f"{number(usage * 100)} % of capacity"
    return Figure(part.metric, value, duration(case.snapshot.now - time), origin, not valid)


def _heat(result: Arithmetic, case: Case, plugin: Dynamic, node: int, base: int) -> None:
    heat = plugin.hot(case.snapshot)[[node]]
    points = int(whole(heat * 10.0)[0])
    rules = " and ".join(f"1 for each {rule.pods} pods bound in {duration(rule.seconds)}" for rule in plugin.hot_rules)
    result.steps.append(Step("Heat", rules or "no rules", number(float(heat[0]))))
    # As in the plugin, a difference beyond 64 bits wraps round.
    with np.errstate(over="ignore"):
        left = int((np.array([base]) - np.array([points]))[0])
    result.computed = min(max(left, 0), MAX_NODE_SCORE)
    formula = f"{base} − {points}, kept within 0 and 100"
    result.steps.append(Step("Score", formula, str(result.computed)))
