"""LowRiskOverCommitment: the riskier of CPU and memory decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import AS_NEW, RESOURCES, amount, away_from_zero, number, spread_figures
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.lowriskovercommitment import (
    LowRiskOverCommitment,
    NodeRequestsAndLimits,
    limit_risk,
    pod_requests_and_limits,
    total_risk,
)
from kschedweb.engine.state.watermarks.trimaran import TrimaranUse, reported_nodes
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class OverCommitmentPresenter(Presenter):
    description = (
        "The risk that limits exceed what the node has, and the probability that more is used than requested; the "
        f"riskier of CPU and memory decides. {AS_NEW}"
    )
    missing = _(
        "A node without figures scores 0; of one resource, the risk of its load is 0. Old figures count as much as new "
        "ones."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: LowRiskOverCommitment = get_plugin(case, self.plugin)
        pod_amounts, watermarks = pod_requests_and_limits(case.pod), case.snapshot.watermarks
        result.computed = 0
        if not spread_figures(result, case, node) or watermarks is None:
            return
        if not any(pod_amounts):
            result.notes.append("The pod has neither requests nor limits, so every node scores 0.")
            return
        if not reported_nodes(watermarks, np.array([node]))[0]:
            result.notes.append("Nothing is known of this node's use, so it scores 0.")
            return
        risks = []
        for resource in (CPU, MEMORY):
            rows = case.explanation.feasible
            at = int(np.flatnonzero(rows == node)[0])
            measured = TrimaranUse.from_watermarks(watermarks, resource, rows)
            amounts = plugin.node_requests_and_limits(case.snapshot, pod_amounts, resource, rows)
            load = plugin.load_risk(measured, amounts)
            risks.append(_explain_risk(result, plugin, resource, at, measured, amounts, float(load[at])))
        result.computed = away_from_zero((1 - max(risks)) * 100)
        formula = f"(1 − the higher of {number(risks[0])} and {number(risks[1])}) × 100, rounded half away from zero"
        result.steps.append(ArithmeticStep("Score", formula, str(result.computed)))


def _explain_risk(
    result: Arithmetic,
    plugin: LowRiskOverCommitment,
    resource: str,
    at: int,
    measured: TrimaranUse,
    amounts: NodeRequestsAndLimits,
    load: float,
) -> float:
    name, weight = RESOURCES[resource], plugin.weights[resource]
    size, request, limit = (float(column[at]) for column in (amounts.allocatable, amounts.request, amounts.limit))
    size_text, request_text, limit_text = (amount(resource, value) for value in (size, request, limit))
    limits = float(limit_risk(amounts)[at])
    formula = (
        f"({limit_text} − {size_text}) ÷ ({limit_text} − {request_text})"
        if limit > size
        else f"limits {limit_text} are within {size_text}"
    )
    result.steps.append(ArithmeticStep(f"{name}: risk of limits, with the pod", formula, number(limits)))
    if measured.measured[at]:
        before = amount(resource, float(amounts.request_before[at]))
        use = f"{number(float(measured.mean[at]))} % ± {number(float(measured.deviation[at]))} × √{plugin.window} %"
        formula = f"probability that a use of {use} (beta-distributed) is above the {before} requested"
        if amounts.limit_before[at] < size and amounts.request_before[at] <= amounts.limit_before[at]:
            formula += f", given that it is below the limits, {amount(resource, float(amounts.limit_before[at]))}"
        result.steps.append(ArithmeticStep(f"{name}: risk of load, before the pod", formula, number(load)))
    else:
        load = 0.0
        result.notes.append(f"The {name} use of this node is not known: its risk of load counts as 0.")
    risk = float(total_risk(np.array(limits), np.array(load), weight))
    formula = f"{number(weight)} × {number(limits)} + (1 − {number(weight)}) × {number(load)}"
    result.steps.append(ArithmeticStep(f"{name}: risk", formula, number(risk)))
    return risk


PRESENTER = OverCommitmentPresenter("LowRiskOverCommitment")
