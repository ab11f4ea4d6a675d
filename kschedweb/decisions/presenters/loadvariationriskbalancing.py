"""LoadVariationRiskBalancing: the riskier of CPU and memory decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import RESOURCES, amount, away_from_zero, number, spread_figures
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadvariationriskbalancing import LoadVariationRiskBalancing
from kschedweb.engine.state.watermarks.trimaran import TrimaranUse, container_requests, effective_amounts
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class LoadVariationPresenter(Presenter):
    description = (
        "Half the mean use with the pod's request, half the standard deviation of the use; the riskier resource "
        "decides. Pods newer than the figures are not added, and old figures count as much as new ones."
    )
    missing = _(
        "A node without figures scores 0; without a deviation that counts as 0. Old figures count as much as new ones."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: LoadVariationRiskBalancing = get_plugin(case, self.plugin)
        result.computed = 0
        if not spread_figures(result, case, node) or case.snapshot.watermarks is None:
            return
        scores: list[float] = []
        for resource, request in zip(
            (CPU, MEMORY), effective_amounts(case.pod.resources, container_requests), strict=True
        ):
            measured = TrimaranUse.from_watermarks(case.snapshot.watermarks, resource, np.array([node]))
            if not measured.measured[0]:
                result.notes.append(f"The {RESOURCES[resource]} use of this node is not known: not counted.")
                continue
            scores.append(_explain_resource(result, case, plugin, resource, node, measured, request))
        score = min(scores, default=0.0)
        result.computed = away_from_zero(score)
        formula = f"the lower of {' and '.join(map(number, scores))}" if len(scores) > 1 else "the one resource"
        if not scores:
            formula = "nothing is measured"
        result.steps.append(ArithmeticStep("Score", f"{formula}, rounded half away from zero", str(result.computed)))


def _explain_resource(
    result: Arithmetic,
    case: Case,
    plugin: LoadVariationRiskBalancing,
    resource: str,
    node: int,
    measured: TrimaranUse,
    request: int,
) -> float:
    name = RESOURCES[resource]
    allocatable = case.snapshot.resource_row(case.snapshot.allocatable, resource)[[node]]
    if allocatable[0] <= 0:
        result.steps.append(ArithmeticStep(name, "the node has none of it", "0"))
        return 0.0
    mean, deviation = measured.compute_shares(allocatable, request)
    size = amount(resource, int(allocatable[0]))
    formula = (
        f"({number(float(measured.mean[0]))} % of {size} + request {amount(resource, request)}) ÷ {size}, at most 1"
    )
    result.steps.append(ArithmeticStep(f"{name}: mean with the pod", formula, number(float(mean[0]))))
    power = f"{number(plugin.margin)} × {number(float(deviation[0]))}^(1 ÷ {number(plugin.sensitivity)}), at most 1"
    score = float(plugin.resource_scores(measured, allocatable, request)[0])
    spread = 2 * (1 - score / 100) - float(mean[0])
    result.steps.append(ArithmeticStep(f"{name}: deviation counts as", power, number(spread)))
    formula = f"(1 − ({number(float(mean[0]))} + {number(spread)}) ÷ 2) × 100"
    result.steps.append(ArithmeticStep(f"{name}: score", formula, number(score)))
    return score


PRESENTER = LoadVariationPresenter("LoadVariationRiskBalancing")
