"""LoadVariationRiskBalancing: the riskier of CPU and memory decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, instance
from kschedweb.decisions.presenters.measured import RESOURCES, amount, away_from_zero, number, spread_figures
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadvariationriskbalancing import LoadVariationRiskBalancing
from kschedweb.engine.state.watermarks.trimaran import Measured, effective, requests
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class Variation(Presenter):
    about = (
        "Half the mean use with the pod's request, half the standard deviation of the use; the riskier resource "
        "decides. Pods newer than the figures are not added, and old figures count as much as new ones."
    )
    missing = _(
        "A node without figures scores 0; without a deviation that counts as 0. Old figures count as much as new ones."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: LoadVariationRiskBalancing = instance(case, self.plugin)
        result.computed = 0
        if not spread_figures(result, case, node) or case.snapshot.watermarks is None:
            return
        scores: list[float] = []
        for resource, asked in zip((CPU, MEMORY), effective(case.pod.resources, requests), strict=True):
            measured = Measured.of(case.snapshot.watermarks, resource, np.array([node]))
            if not measured.known[0]:
                result.notes.append(f"The {RESOURCES[resource]} use of this node is not known: not counted.")
                continue
            scores.append(_resource(result, case, plugin, resource, node, measured, asked))
        score = min(scores, default=0.0)
        result.computed = away_from_zero(score)
        formula = f"the lower of {' and '.join(map(number, scores))}" if len(scores) > 1 else "the one resource"
        if not scores:
            formula = "nothing is measured"
        result.steps.append(Step("Score", f"{formula}, rounded half away from zero", str(result.computed)))


def _resource(
    result: Arithmetic,
    case: Case,
    plugin: LoadVariationRiskBalancing,
    resource: str,
    node: int,
    measured: Measured,
    asked: int,
) -> float:
    name = RESOURCES[resource]
    allocatable = case.snapshot.amounts(case.snapshot.allocatable, resource)[[node]]
    if allocatable[0] <= 0:
        result.steps.append(Step(name, "the node has none of it", "0"))
        return 0.0
    mean, deviation = measured.shares(allocatable, asked)
    size = amount(resource, int(allocatable[0]))
    formula = f"({number(float(measured.mean[0]))} % of {size} + request {amount(resource, asked)}) ÷ {size}, at most 1"
    result.steps.append(Step(f"{name}: mean with the pod", formula, number(float(mean[0]))))
    power = f"{number(plugin.margin)} × {number(float(deviation[0]))}^(1 ÷ {number(plugin.sensitivity)}), at most 1"
    score = float(plugin.resource_scores(measured, allocatable, asked)[0])
    spread = 2 * (1 - score / 100) - float(mean[0])
    result.steps.append(Step(f"{name}: deviation counts as", power, number(spread)))
    formula = f"(1 − ({number(float(mean[0]))} + {number(spread)}) ÷ 2) × 100"
    result.steps.append(Step(f"{name}: score", formula, number(score)))
    return score


PRESENTER = Variation("LoadVariationRiskBalancing")
