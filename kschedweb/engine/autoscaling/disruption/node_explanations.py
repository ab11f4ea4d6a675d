"""Explanations of why Karpenter consolidates or keeps each node, in its words and with the arithmetic, as plain
data."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode
from kschedweb.engine.autoscaling.disruption.balanced_scoring import K, Score
from kschedweb.engine.autoscaling.disruption.candidates import (
    DisruptionCandidate,
    find_block_reason,
    not_deletable,
    not_underused,
)
from kschedweb.engine.autoscaling.disruption.consolidation import (
    Command,
    ConsolidationOutcome,
    NoNodePools,
    compute_consolidation,
    find_failures,
    launch_price,
)
from kschedweb.engine.autoscaling.disruption.methods import Consolidation, Disruption, MethodResult
from kschedweb.engine.autoscaling.disruption.output import round_number
from kschedweb.engine.autoscaling.offers.catalogue import NEVER
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, INSTANCE_TYPE
from kschedweb.engine.autoscaling.offers.nodepools import EMPTY, UNDERUTILIZED
from kschedweb.engine.autoscaling.provisioning.output import new_claim, pod_keys
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.values import dataclass

# Our own words, where Karpenter says nothing.
NOT_YET = "The NodeClaim does not have the condition Consolidatable"
STATIC = "The NodePool is static; its nodes are not consolidated"
NOTHING_TO_DO = "The command that Karpenter starts is for other nodes"
REJECTED = "The policy Balanced rejects it"


@dataclass(frozen=True, slots=True)
class _ExplainContext:
    """The results that the explanations of nodes share."""

    context: SchedulingContext
    disruption: Disruption
    # By node name.
    candidates: dict[str, DisruptionCandidate]
    # The command that Karpenter would start, with the method that found it.
    started: tuple[MethodResult, Command] | None

    def is_going(self, candidate: DisruptionCandidate) -> bool:
        return self.started is not None and candidate in self.started[1].candidates


# Called with how many are done, and of how many.
ProgressCallback = Callable[[int, int], None]


def explain_nodes(context: SchedulingContext, on_progress: ProgressCallback = lambda count, total: None) -> list[Json]:
    """Explain every machine, in order; ``on_progress`` is called with how many are done, of how many.

    ``verdict`` is "goes" if the command that Karpenter would start includes the node, "could go" if another command
    would, otherwise "stays". ``why`` gives the reason in Karpenter's words, or in ours if it has none. ``alone`` is the
    result of consolidating just this node.
    """
    return explain_of(context, Consolidation(context).run_methods(), on_progress)


def explain_of(
    context: SchedulingContext, disruption: Disruption, on_progress: ProgressCallback = lambda count, total: None
) -> list[Json]:
    """Explain every machine as ``explain_nodes`` does, from methods that have run already."""
    look = _ExplainContext(
        context, disruption, {candidate.name: candidate for candidate in disruption.candidates}, disruption.command
    )
    machines, explained = context.world.machines, list[Json]()
    for machine in machines:
        on_progress(len(explained), len(machines))
        explained.append(_explain_node(look, machine))
    return explained


def _explain_node(look: _ExplainContext, machine: StateNode) -> Json:
    world, labels, candidate = look.context.world, machine.labels, look.candidates.get(machine.name)
    explanation: Json = {
        "node": machine.name,
        "nodePool": machine.pool,
        "instanceType": labels.get(INSTANCE_TYPE, ""),
        "zone": labels.get(ZONE, ""),
        "capacityType": labels.get(CAPACITY_TYPE, ""),
        "pods": pod_keys(machine.counted_pods),
    }
    if candidate is None:
        return explanation | {"verdict": "stays", "why": find_block_reason(world, machine)}
    explanation |= {
        "price": candidate.price,
        "disruptionCost": round_number(candidate.reschedule_cost),
        "savingsRatio": round_number(candidate.savings_ratio),
    }
    reason = EMPTY if candidate.is_empty else UNDERUTILIZED
    if obstacle := _find_exclusion(candidate):
        return explanation | {"verdict": "stays", "why": obstacle}
    budget = next(method.budgets or {} for method in look.disruption.methods if method.reason == reason)
    explanation["budget"] = {"reason": reason, "allowed": budget.get(candidate.pool.name, 0)}
    if not candidate.is_empty:
        outcome = _try_alone(look.context, candidate)
        if isinstance(outcome, str):
            return explanation | {"verdict": "stays", "why": outcome}
        explanation["alone"] = _explain_arithmetic(look.context, outcome)
        if candidate.is_balanced:
            explanation["score"] = _explain_score(look, candidate, outcome)
        if not look.is_going(candidate) and (obstacle := outcome.why or _find_rejection(explanation.get("score"))):
            return explanation | {"verdict": "stays", "why": obstacle}
    return explanation | _decide_verdict(look, candidate, explanation["budget"])


def _decide_verdict(look: _ExplainContext, candidate: DisruptionCandidate, budget: Json) -> Json:
    """Return the verdict on a node that only budgets and other nodes could keep."""
    if look.is_going(candidate):
        assert look.started is not None
        method, command = look.started
        other_count = len(command.candidates) - 1
        why = f"{method.reason}: {command.decision}" + (f", together with {other_count} more" if other_count else "")
        return {"verdict": "goes", "method": method.type, "why": why}
    if not budget["allowed"]:
        why = f"No allowed disruptions for disruption reason {budget['reason']} due to blocking budget"
        return {"verdict": "stays", "why": why}
    return {"verdict": "could go", "why": NOTHING_TO_DO}


def _find_exclusion(candidate: DisruptionCandidate) -> str:
    """Return why no method takes the candidate; "" if one does."""
    if candidate.pool.static:
        return STATIC
    reason = not_deletable(candidate) if candidate.is_empty else not_underused(candidate)
    return reason or ("" if candidate.is_consolidatable else NOT_YET)


def _try_alone(context: SchedulingContext, candidate: DisruptionCandidate) -> ConsolidationOutcome | str:
    try:
        return compute_consolidation(context, [candidate])
    except NoNodePools as error:
        return str(error)


def _explain_arithmetic(context: SchedulingContext, outcome: ConsolidationOutcome) -> Json:
    """Return where the pods would go, and the prices before and after."""
    solution = outcome.solution
    result: Json = {
        "price": outcome.price,
        "moves": {name: pod_keys(pods) for name, pods in solution.placed.by_name().items()},
        "unplaced": [{"pod": pod.key, "why": text} for pod, text in find_failures(context, solution)],
        "newNodes": len(solution.new),
        "considered": [
            {"instanceType": name, "price": price if price < NEVER else None} for name, price in outcome.considered
        ],
    }
    if outcome.command is not None:
        result["decision"], result["savings"] = outcome.command.decision, round_number(outcome.command.savings)
        if (replacement := outcome.command.replacement) is not None:
            result["replacement"] = new_claim(replacement.node, replacement.types)
            result["replacementPrice"] = launch_price(replacement)
    return result


def _explain_score(look: _ExplainContext, candidate: DisruptionCandidate, outcome: ConsolidationOutcome) -> Json:
    """Return the score of the policy Balanced; without a command, the best score possible."""
    if outcome.command is None:
        score = look.disruption.scorer.best_score(candidate)
    else:
        score = look.disruption.scorer.compute_scores([candidate], outcome.command.savings)[candidate.pool.name]
    return _score_to_json(score)


def _score_to_json(score: Score) -> Json:
    value = score.value
    return {
        "value": value if isfinite(value) else None,
        "threshold": 1.0 / K,
        "savings": score.savings,
        "disruption": score.disruption,
        "approved": score.is_approved,
        "said": str(score),
    }


def _find_rejection(score: Json | None) -> str:
    if score is None or score["approved"]:
        return ""
    return f"{REJECTED}: {score['said']}"
