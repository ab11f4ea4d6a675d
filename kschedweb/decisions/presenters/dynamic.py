"""Dynamic, of crane-scheduler: the weighted mean of the free share of each metric, less the node's heat."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep, Figure
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import NOTHING, RESOURCES, number
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.dynamic import FACTOR, Dynamic, MetricPart, base_scores, truncate_int64
from kschedweb.engine.state.watermarks.crane import METRICS
from kschedweb.web.durations import format_rough_duration
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


WINDOWS = {
    "5m": "mean of 5 minutes",
    "1h_max": "highest 5 minutes of an hour",
    "1d_max": "highest 5 minutes of a day",
}


class DynamicPresenter(Presenter):
    description = (
        "The weighted mean of what is left of each metric, less 10 points for each point of heat (articles name 1; "
        "crane-scheduler's code subtracts 10). The pod itself does not count. "
        "A metric that is missing or no longer valid adds 0, but its weight still counts."
    )
    missing = _(
        "A node without figures passes. A metric that is missing, or older than its period and 5 minutes, "
        "adds 0 while its weight still counts."
    )

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        if not status.facts:
            return super().reading(snapshot, pod, node, status)
        (metric,) = status.facts
        return VerdictReading(
            f"{snapshot.names[node]} really uses more than the policy allows: {_metric(metric)} is above its limit",
            f"reduce the load there, or raise maxLimitPecent for {metric}",
        )

    def in_short(self, pod: Pod, reason: str, fact: Any) -> str:
        return "really uses more than crane-scheduler's policy allows" if fact else reason

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: Dynamic = get_plugin(case, self.plugin)
        parts = plugin.parts(case.snapshot)
        for part in parts:
            _explain_part(result, case, plugin, part, node)
        base = int(base_scores(parts, len(case.snapshot))[node])
        if parts:
            total, weights = sum(float(part.part[node]) for part in parts), sum(part.weight for part in parts)
            # Go's float division: 0 ÷ 0 is NaN, and nothing raises.
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                mean = float(np.float64(total) / np.float64(weights))
            formula = f"{number(total)} ÷ {number(weights)} = {number(mean)}, cut toward 0"
            result.steps.append(ArithmeticStep("Weighted mean", formula, str(base)))
        if not any(part.use.valid[node] for part in parts):
            nothing = case.snapshot.watermarks is None and not any(part.use.annotated[node] for part in parts)
            result.notes.append(
                NOTHING if nothing else "No valid figure of this node is known, so nothing is left to score."
            )
        _explain_heat(result, case, plugin, node, base)


def _metric(name: str) -> str:
    """Return a metric of crane-scheduler in words."""
    if name not in METRICS:
        return name
    resource, key = METRICS[name]
    return f"{RESOURCES[resource]} ({WINDOWS[key]})"


def _explain_part(result: Arithmetic, case: Case, plugin: Dynamic, part: MetricPart, node: int) -> None:
    use, usage, valid = part.use, float(part.use.usage[node]), bool(part.use.valid[node])
    result.figures.append(_metric_figure(case, plugin, part, node))
    if valid:
        formula = f"(1 − {number(usage)}) × {number(part.weight)} × 100"
    elif part.metric not in plugin.active:
        formula = f"it has no syncPolicy: 0, with its weight {number(part.weight)}"
    elif math.isnan(float(use.usage[node])) or math.isinf(float(use.time[node])):
        formula = f"missing: 0, with its weight {number(part.weight)}"
    else:
        limit, weight = format_rough_duration(plugin.active[part.metric]), number(part.weight)
        formula = gettext("older than %(limit)s: 0, with its weight %(weight)s") % {"limit": limit, "weight": weight}
    result.steps.append(ArithmeticStep(part.metric, formula, number(float(part.part[node]))))


def _metric_figure(case: Case, plugin: Dynamic, part: MetricPart, node: int) -> Figure:
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
    return Figure(part.metric, value, case.snapshot.now - time, origin, not valid)


def _explain_heat(result: Arithmetic, case: Case, plugin: Dynamic, node: int, base: int) -> None:
    heat = plugin.hot_values(case.snapshot)[[node]]
    points = int(truncate_int64(heat * float(FACTOR))[0])
    rules = [
        gettext("1 for each %(pods)s pods bound in %(lasting)s")
        % {"pods": rule.pods, "lasting": format_rough_duration(rule.seconds)}
        for rule in plugin.hot_rules
    ]
    result.steps.append(ArithmeticStep("Heat", "; ".join(rules) or "no rules", number(float(heat[0]))))
    result.computed = int(plugin.score(Cycle(case.snapshot, case.pod), np.array([node]))[0])
    formula = f"{base} − {FACTOR} × {number(float(heat[0]))} = {base} − {points}, kept within 0 and 100"
    result.steps.append(ArithmeticStep("Score", formula, str(result.computed)))


PRESENTER = DynamicPresenter("Dynamic")
