"""Consolidation as plain data, in the form that the oracle's command line prints."""

from __future__ import annotations

from math import floor
from random import Random

from kschedweb.engine.autoscaling.disruption.candidates import DisruptionCandidate
from kschedweb.engine.autoscaling.disruption.consolidation import Command
from kschedweb.engine.autoscaling.disruption.methods import Consolidation, MethodResult
from kschedweb.engine.autoscaling.provisioning.output import new_claim, pod_keys
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.json_types import Json

# Nine digits after the point, as the oracle rounds.
_DIGITS = 1e9


def disrupt_cluster(context: SchedulingContext, chance: Random | None = None) -> Json:
    """Return the command that Karpenter would start, the result of each method, and why nodes stay."""
    disruption = Consolidation(context, chance).run_methods()
    answer: Json = {
        "methods": [_method_to_json(method) for method in disruption.methods],
        "candidates": {
            candidate.name: _candidate_to_json(candidate)
            for method in disruption.methods
            for candidate in method.candidates
        },
    }
    if disruption.command is not None:
        answer["command"] = command_json(*disruption.command)
    reasons = disruption.events.by_node()
    return answer | ({"reasons": reasons} if reasons else {})


def command_json(method: MethodResult, command: Command) -> Json:
    result: Json = {
        "decision": command.decision,
        "reason": method.reason,
        "type": method.type,
        "candidates": sorted(candidate.name for candidate in command.candidates),
        "savings": round_number(command.savings),
    }
    if command.replacement is not None:
        result["replacements"] = [new_claim(command.replacement.node, command.replacement.types)]
    moves = {} if command.solution is None else command.solution.placed.by_name()
    return result | ({"moves": {name: pod_keys(pods) for name, pods in moves.items()}} if moves else {})


def round_number(number: float) -> float:
    """Round to nine digits, halves away from 0, as Go does."""
    scaled = abs(number) * _DIGITS
    return (floor(scaled + 0.5) / _DIGITS) * (1 if number >= 0 else -1)


def _method_to_json(method: MethodResult) -> Json:
    result: Json = {"type": method.type, "candidates": sorted(candidate.name for candidate in method.candidates)}
    if method.error:
        result["error"] = method.error
    if method.budgets:
        result["budgets"] = method.budgets
    return result | ({"command": command_json(method, method.command)} if method.command is not None else {})


def _candidate_to_json(candidate: DisruptionCandidate) -> Json:
    return {
        "price": candidate.price,
        "disruptionCost": round_number(candidate.disruption_cost),
        "rescheduleDisruptionCost": round_number(candidate.reschedule_cost),
        "savingsRatio": round_number(candidate.savings_ratio),
    }
