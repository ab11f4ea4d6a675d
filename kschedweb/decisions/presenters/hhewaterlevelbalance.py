"""HheWaterLevelBalance: every window of every resource, then the weighted means."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import (
    NOTHING,
    RESOURCES,
    away_from_zero,
    number,
    read_figure,
    used_by_pod,
)
from kschedweb.engine.plugins.hhewaterlevelbalance import (
    IDLE,
    TOLERANCE,
    HheWaterLevelBalance,
    Levels,
    cluster_levels,
    weighted_mean,
)
from kschedweb.web.durations import format_rough_duration
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class WaterLevelPresenter(Presenter):
    description = (
        "Up to the cluster's level L the score rises from L to 100, above it it falls from L to 0: "
        "a small pod goes to a busy node, and a large pod to an idle one."
    )
    missing = _(
        "A node without figures scores 0; with missingMetrics: Idle it counts as unused. "
        "Figures count until metricsExpiration, which is off by default."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: HheWaterLevelBalance = get_plugin(case, self.plugin)
        levels = plugin.levels(case.snapshot, case.pod)
        if levels is None:
            result.notes.append(f"{NOTHING} Every node scores 0.")
            result.computed = 0
            return
        _add_inputs(result, case, plugin, node, levels)
        means: list[tuple[str, float, float]] = []
        for resource, resource_weight in plugin.resource_weights.items():
            scores = [
                (window, plugin.window_weights[window], _explain_window(result, plugin, levels, row, node))
                for row, (key_resource, window) in enumerate(levels.keys)
                if key_resource == resource
            ]
            if scores:
                mean = _explain_mean(result, f"{RESOURCES[resource]}: the windows by their weights", scores)
                means.append((RESOURCES[resource], resource_weight, mean))
        mean = _explain_mean(result, "CPU and memory by their weights", means)
        result.computed = 0 if math.isnan(mean) else away_from_zero(mean)
        result.steps.append(
            ArithmeticStep("Rounded", "to the nearest integer, halves away from zero", str(result.computed))
        )


def _add_inputs(result: Arithmetic, case: Case, plugin: HheWaterLevelBalance, node: int, levels: Levels) -> None:
    stale_after = plugin.expiration or math.inf
    result.figures += [read_figure(case, node, *key, stale_after=stale_after) for key in levels.keys]
    result.figures += [used_by_pod(case, *key) for key in levels.keys]
    if missing := _list_windows(key for key in plugin.keys if key not in levels.keys):
        result.notes.append(f"No node has figures for {missing}: not counted, the others weigh in proportion.")
    if any(item.stale for item in result.figures):
        words = (
            gettext("Figures older than %(limit)s count as missing: no use at all.")
            if plugin.idle
            else gettext("Figures older than %(limit)s count as missing: not counted.")
        )
        result.notes.append(words % {"limit": format_rough_duration(plugin.expiration)})
    unknown = [
        key
        for key, node_level in zip(levels.keys, levels.node[:, node].tolist(), strict=True)
        if math.isnan(node_level)
    ]
    if len(unknown) == len(levels.keys):
        result.notes.append("Nothing is known of this node, so it scores 0 (missingMetrics: Zero).")
    elif unknown:
        result.notes.append(f"Unknown for this node, so not counted: {_list_windows(unknown)}.")
    if plugin.idle and any(item.value == "no figure" for item in result.figures):
        result.notes.append(f"Unknown figures of this node count as no use at all (missingMetrics: {IDLE}).")


def _list_windows(keys: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{RESOURCES[resource]} {window}" for resource, window in keys)


def _explain_window(result: Arithmetic, plugin: HheWaterLevelBalance, levels: Levels, row: int, node: int) -> float:
    """Return the score of one window, NaN if the node has no figure. Add the steps to ``result``."""
    name = _list_windows([levels.keys[row]])
    node_level, missing, pod = (float(column[row, node]) for column in (levels.node, levels.missing, levels.pod))
    if math.isnan(node_level):
        return math.nan
    cluster = _explain_cluster_level(result, plugin, levels, row)
    target = node_level + missing + pod
    parts = f"node {number(node_level)} % + newer pods {number(missing)} % + pod {number(pod)} %"
    result.steps.append(ArithmeticStep(f"{name}: with the pod", parts, f"{number(target)} %"))
    score = float(levels.score[row, node])
    result.steps.append(ArithmeticStep(f"{name}: score", _branch_formula(target, cluster), number(score)))
    return score


def _explain_cluster_level(result: Arithmetic, plugin: HheWaterLevelBalance, levels: Levels, row: int) -> float:
    name, fixed = _list_windows([levels.keys[row]]), plugin.fixed[levels.keys[row][0]]
    if fixed is not None:
        argument = "clusterCpu" if levels.keys[row][0] == "cpu" else "clusterMemory"
        result.steps.append(ArithmeticStep(f"{name}: level", f"fixed by the argument {argument}", f"{number(fixed)} %"))
        return fixed
    known_levels = levels.node[row] + levels.missing[row]
    known_levels = known_levels[~np.isnan(known_levels)]
    mean, lowest, weight = float(known_levels.mean()), float(known_levels.min()), plugin.min_node_weight
    formula = f"(mean {number(mean)} % + lowest {number(lowest)} % × {number(weight)}) ÷ (1 + {number(weight)})"
    cluster = float(levels.cluster[row, 0])
    if cluster != cluster_levels(known_levels[None], weight)[0]:
        formula += ", at most 100"
    result.steps.append(ArithmeticStep(f"{name}: level of {len(known_levels)} nodes", formula, f"{number(cluster)} %"))
    return cluster


def _branch_formula(target: float, cluster: float) -> str:
    level, at = number(cluster), number(target)
    if target <= cluster + TOLERANCE:
        if cluster <= 0.0:
            return "the level is 0: 100 for a node that stays at 0"
        return f"up to the level: (100 − {level}) × {at} ÷ {level} + {level}"
    if target <= 100.0:
        if cluster >= 100.0:
            return "above a level of 100 %"
        return f"above the level: {level} × (100 − {at}) ÷ (100 − {level})"
    return f"{at} % is more than the node has"


def _explain_mean(result: Arithmetic, label: str, parts: list[tuple[str, float, float]]) -> float:
    """Return the weighted mean of the known scores, NaN if none is known."""
    known_scores = [(name, weight, score) for name, weight, score in parts if not math.isnan(score)]
    if not known_scores:
        return math.nan
    _, weights, scores = zip(*known_scores, strict=True)
    mean = float(weighted_mean(np.array(scores)[:, None], weights)[0])
    listed = " + ".join(f"{name} {number(score)} × {number(weight)}" for name, weight, score in known_scores)
    result.steps.append(ArithmeticStep(label, f"({listed}) ÷ {number(sum(weights))}", number(mean)))
    return mean


PRESENTER = WaterLevelPresenter("HheWaterLevelBalance")
