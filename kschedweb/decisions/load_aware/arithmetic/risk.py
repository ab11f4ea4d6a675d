"""LoadVariationRiskBalancing and LowRiskOverCommitment: the riskier of CPU and memory decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.load_aware.arithmetic.common import (
    NOTHING,
    RESOURCES,
    amount,
    away_from_zero,
    figure,
    instance,
    number,
    started,
)
from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadvariationriskbalancing import LoadVariationRiskBalancing, risk_scores
from kschedweb.engine.plugins.lowriskovercommitment import LowRiskOverCommitment, Promises, promised
from kschedweb.engine.state.watermarks.trimaran import DEVIATION, MEAN, Measured, effective, reported, requests

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


def variation(case: Case, node: int) -> Arithmetic:
    plugin: LoadVariationRiskBalancing = instance(case, "LoadVariationRiskBalancing")
    result = started(
        "Half the mean use with the pod's request, half the standard deviation of the use; the riskier resource "
        "decides. Pods newer than the figures are not added, and old figures count like new ones."
    )
    if not _figures(result, case, node):
        return result
    scores: dict[str, float] = {}
    for resource, asked in zip((CPU, MEMORY), effective(case.pod.resources, requests), strict=True):
        measured = _measured(case, resource, node)
        if not measured.known[0]:
            result.notes.append(f"The {RESOURCES[resource]} use of this node is not known: not counted.")
            continue
        scores[resource] = _variation_of(result, case, plugin, resource, node, measured, asked)
    score = min(scores.values(), default=0.0)
    result.computed = away_from_zero(score)
    formula = f"the lower of {' and '.join(map(number, scores.values()))}" if len(scores) > 1 else "the one resource"
    if not scores:
        formula = "nothing is measured"
    result.steps.append(Step("Score", f"{formula}, rounded half away from zero", str(result.computed)))
    return result


def _variation_of(
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
    score = float(risk_scores(mean, deviation, plugin.margin, plugin.sensitivity)[0])
    spread = 2 * (1 - score / 100) - float(mean[0])
    result.steps.append(Step(f"{name}: deviation counts as", power, number(spread)))
    formula = f"(1 − ({number(float(mean[0]))} + {number(spread)}) ÷ 2) × 100"
    result.steps.append(Step(f"{name}: score", formula, number(score)))
    return score


def over_commitment(case: Case, node: int) -> Arithmetic:
    plugin: LowRiskOverCommitment = instance(case, "LowRiskOverCommitment")
    result = started(
        "The risk that limits promise more than there is, and the probability that more is used than is requested; "
        "the riskier of CPU and memory decides. Old figures count like new ones."
    )
    own = promised(case.pod)
    if not _figures(result, case, node):
        return result
    if not any(own):
        result.notes.append("The pod has neither requests nor limits, so every node scores 0.")
        result.computed = 0
        return result
    watermarks = case.snapshot.watermarks
    assert watermarks is not None
    if not reported(watermarks, np.array([node]))[0]:
        result.notes.append("Nothing is known of this node's use, so it scores 0.")
        result.computed = 0
        return result
    risks = []
    for resource in (CPU, MEMORY):
        rows = case.explanation.feasible
        at = int(np.flatnonzero(rows == node)[0])
        measured = Measured.of(watermarks, resource, rows)
        promises = plugin.promises(case.snapshot, own, resource, rows)
        load = plugin.load_risk(measured, promises)
        risks.append(_risk(result, plugin, resource, at, measured, promises, float(load[at])))
    result.computed = away_from_zero((1 - max(risks)) * 100)
    formula = f"(1 − the higher of {number(risks[0])} and {number(risks[1])}) × 100, rounded half away from zero"
    result.steps.append(Step("Score", formula, str(result.computed)))
    return result


def _risk(
    result: Arithmetic,
    plugin: LowRiskOverCommitment,
    resource: str,
    at: int,
    measured: Measured,
    promises: Promises,
    load: float,
) -> float:
    name, weight = RESOURCES[resource], plugin.weights[resource]
    size, request, limit = (float(each[at]) for each in (promises.allocatable, promises.request, promises.limit))
    there, asked, most = (amount(resource, each) for each in (size, request, limit))
    limits = (limit - size) / (limit - request) if limit > size else 0.0
    formula = f"({most} − {there}) ÷ ({most} − {asked})" if limit > size else f"limits {most} are within {there}"
    result.steps.append(Step(f"{name}: risk of limits, with the pod", formula, number(limits)))
    if measured.known[at]:
        before = amount(resource, float(promises.request_before[at]))
        use = f"{number(float(measured.mean[at]))} % ± {number(float(measured.deviation[at]))} × √{plugin.window} %"
        formula = f"probability that a use of {use} (beta-distributed) is above the {before} requested"
        if promises.limit_before[at] < size and promises.request_before[at] <= promises.limit_before[at]:
            formula += f", given that it is below the limits, {amount(resource, float(promises.limit_before[at]))}"
        result.steps.append(Step(f"{name}: risk of load, before the pod", formula, number(load)))
    else:
        load = 0.0
        result.notes.append(f"The {name} use of this node is not known: its risk of load counts as 0.")
    risk = min(max(weight * limits + (1 - weight) * load, 0.0), 1.0)
    formula = f"{number(weight)} × {number(limits)} + (1 − {number(weight)}) × {number(load)}"
    result.steps.append(Step(f"{name}: risk", formula, number(risk)))
    return risk


def _measured(case: Case, resource: str, node: int) -> Measured:
    assert case.snapshot.watermarks is not None
    return Measured.of(case.snapshot.watermarks, resource, np.array([node]))


def _figures(result: Arithmetic, case: Case, node: int) -> bool:
    """List the measured inputs; ``False`` where there are none at all, which makes the score 0."""
    if case.snapshot.watermarks is None:
        result.notes.append(f"{NOTHING} Every node scores 0.")
        result.computed = 0
        return False
    for resource in (CPU, MEMORY):
        for key in (MEAN, DEVIATION):
            found = figure(case, node, resource, key)
            result.figures.append(found)
            if key == DEVIATION and found.value == "no figure":
                result.notes.append(f"No standard deviation of {RESOURCES[resource]} is known: it counts as 0.")
    return True
