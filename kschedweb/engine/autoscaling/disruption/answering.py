"""What Karpenter would consolidate, as plain data in the form of the oracle's command line."""

from __future__ import annotations

from math import floor
from random import Random

from kschedweb.engine.autoscaling.disruption.candidates import Candidate
from kschedweb.engine.autoscaling.disruption.consolidating import Command
from kschedweb.engine.autoscaling.disruption.methods import Asked, Consolidation
from kschedweb.engine.autoscaling.provisioning.answering import keys, new_claim
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.objects.access import Json

_DIGITS = 1e9


def disrupt(ground: Ground, chance: Random | None = None) -> Json:
    """The command that Karpenter would start, what each method says, and why nodes stay."""
    found = Consolidation(ground, chance).look()
    told: Json = {
        "methods": [_method(asked) for asked in found.methods],
        "candidates": {one.name: _candidate(one) for asked in found.methods for one in asked.candidates},
    }
    if found.command is not None:
        told["command"] = command_json(*found.command)
    reasons = found.events.by_node()
    return told | ({"reasons": reasons} if reasons else {})


def command_json(asked: Asked, command: Command) -> Json:
    found: Json = {
        "decision": command.decision,
        "reason": asked.reason,
        "type": asked.type,
        "candidates": sorted(one.name for one in command.candidates),
        "savings": rounded(command.savings),
    }
    if command.replacement is not None:
        found["replacements"] = [new_claim(command.replacement.node, command.replacement.types)]
    moves = {} if command.solution is None else command.solution.placed.by_name()
    return found | ({"moves": {name: keys(pods) for name, pods in moves.items()}} if moves else {})


def rounded(number: float) -> float:
    """A number to nine digits, halves away from 0, as Go rounds."""
    scaled = abs(number) * _DIGITS
    return (floor(scaled + 0.5) / _DIGITS) * (1 if number >= 0 else -1)


def _method(asked: Asked) -> Json:
    found: Json = {"type": asked.type, "candidates": sorted(one.name for one in asked.candidates)}
    if asked.error:
        found["error"] = asked.error
    if asked.budgets:
        found["budgets"] = asked.budgets
    return found | ({"command": command_json(asked, asked.command)} if asked.command is not None else {})


def _candidate(one: Candidate) -> Json:
    return {
        "price": one.price,
        "disruptionCost": rounded(one.disruption_cost),
        "rescheduleDisruptionCost": rounded(one.reschedule_cost),
        "savingsRatio": rounded(one.savings_ratio),
    }
