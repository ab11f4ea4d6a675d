"""For each node why Karpenter consolidates it or leaves it, in its words and with the arithmetic, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from kschedweb.engine.autoscaling.cluster.nodes import Machine
from kschedweb.engine.autoscaling.disruption.answering import rounded
from kschedweb.engine.autoscaling.disruption.balancing import K, Score
from kschedweb.engine.autoscaling.disruption.candidates import Candidate, blocked, not_deletable, not_underused
from kschedweb.engine.autoscaling.disruption.consolidating import (
    Command,
    NoNodePools,
    Outcome,
    consolidate,
    failures,
    launch_price,
)
from kschedweb.engine.autoscaling.disruption.methods import Asked, Consolidation, Disruption
from kschedweb.engine.autoscaling.offers.catalogue import NEVER
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, INSTANCE_TYPE
from kschedweb.engine.autoscaling.offers.nodepools import EMPTY, UNDERUTILIZED
from kschedweb.engine.autoscaling.provisioning.answering import keys, new_claim
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.values import dataclass

NOT_YET = "The NodeClaim does not have the condition Consolidatable"
STATIC = "The NodePool is static; its nodes are not consolidated"
NOTHING_TO_DO = "The command that Karpenter starts is for other nodes"
REJECTED = "The policy Balanced rejects it"


@dataclass(frozen=True, slots=True)
class _Look:
    """What is known when the nodes are told of."""

    ground: Ground
    found: Disruption
    candidates: dict[str, Candidate]
    started: tuple[Asked, Command] | None

    def goes(self, one: Candidate) -> bool:
        return self.started is not None and one in self.started[1].candidates


Told = Callable[[int, int], None]


def explain_nodes(ground: Ground, told: Told = lambda done, known: None) -> list[Json]:
    """Every machine that is there, in order; ``told`` hears how many are done, of how many.

    ``verdict`` is "goes" where the command that Karpenter would start takes it, "could go" where another command would,
    "stays" otherwise; ``why`` says so in Karpenter's words, or in ours where it has none. ``alone`` is what came of
    trying to do without just this node.
    """
    return explain_of(ground, Consolidation(ground).look(), told)


def explain_of(ground: Ground, found: Disruption, told: Told = lambda done, known: None) -> list[Json]:
    """As ``explain_nodes``, of a look that was taken."""
    look = _Look(ground, found, {one.name: one for one in found.all}, found.command)
    machines, explained = ground.world.machines, list[Json]()
    for machine in machines:
        told(len(explained), len(machines))
        explained.append(_told(look, machine))
    return explained


def _told(look: _Look, machine: Machine) -> Json:
    world, labels, one = look.ground.world, machine.labels, look.candidates.get(machine.name)
    found: Json = {
        "node": machine.name,
        "nodePool": machine.pool,
        "instanceType": labels.get(INSTANCE_TYPE, ""),
        "zone": labels.get(ZONE, ""),
        "capacityType": labels.get(CAPACITY_TYPE, ""),
        "pods": keys(machine.counted_pods),
    }
    if one is None:
        return found | {"verdict": "stays", "why": blocked(world, machine)}
    found |= {
        "price": one.price,
        "disruptionCost": rounded(one.reschedule_cost),
        "savingsRatio": rounded(one.savings_ratio),
    }
    reason = EMPTY if one.empty else UNDERUTILIZED
    if said := _never(one):
        return found | {"verdict": "stays", "why": said}
    budget = next(asked.budgets or {} for asked in look.found.methods if asked.reason == reason)
    found["budget"] = {"reason": reason, "allowed": budget.get(one.pool.name, 0)}
    if not one.empty:
        outcome = _alone(look.ground, one)
        if isinstance(outcome, str):
            return found | {"verdict": "stays", "why": outcome}
        found["alone"] = _arithmetic(look.ground, outcome)
        if one.balanced:
            found["score"] = _score(look, one, outcome)
        if not look.goes(one) and (said := outcome.why or _rejection(found.get("score"))):
            return found | {"verdict": "stays", "why": said}
    return found | _decided(look, one, found["budget"])


def _decided(look: _Look, one: Candidate, budget: Json) -> Json:
    """The verdict on a node that nothing but budgets and other nodes could keep."""
    if look.goes(one):
        assert look.started is not None
        asked, command = look.started
        others = len(command.candidates) - 1
        why = f"{asked.reason}: {command.decision}" + (f", together with {others} more" if others else "")
        return {"verdict": "goes", "method": asked.type, "why": why}
    if not budget["allowed"]:
        why = f"No allowed disruptions for disruption reason {budget['reason']} due to blocking budget"
        return {"verdict": "stays", "why": why}
    return {"verdict": "could go", "why": NOTHING_TO_DO}


def _never(one: Candidate) -> str:
    """Why it is no candidate of any method; "" where it is."""
    if one.pool.static:
        return STATIC
    said = not_deletable(one) if one.empty else not_underused(one)
    return said or ("" if one.consolidatable else NOT_YET)


def _alone(ground: Ground, one: Candidate) -> Outcome | str:
    try:
        return consolidate(ground, [one])
    except NoNodePools as error:
        return str(error)


def _arithmetic(ground: Ground, outcome: Outcome) -> Json:
    """Where the pods would go, and what it costs before and after."""
    solution = outcome.solution
    found: Json = {
        "price": outcome.price,
        "moves": {name: keys(pods) for name, pods in solution.placed.by_name().items()},
        "unplaced": [{"pod": pod.key, "why": text} for pod, text in failures(ground, solution)],
        "newNodes": len(solution.new),
        "considered": [
            {"instanceType": name, "price": price if price < NEVER else None} for name, price in outcome.considered
        ],
    }
    if outcome.command is not None:
        found["decision"], found["savings"] = outcome.command.decision, rounded(outcome.command.savings)
        if (replacement := outcome.command.replacement) is not None:
            found["replacement"] = new_claim(replacement.node, replacement.types)
            found["replacementPrice"] = launch_price(replacement)
    return found


def _score(look: _Look, one: Candidate, outcome: Outcome) -> Json:
    """What the policy Balanced makes of it; without a command the best that there could be."""
    if outcome.command is None:
        score = look.found.balance.best_score(one)
    else:
        score = look.found.balance.scores([one], outcome.command.savings)[one.pool.name]
    return _shares(score)


def _shares(score: Score) -> Json:
    value = score.value
    return {
        "value": value if isfinite(value) else None,
        "threshold": 1.0 / K,
        "savings": score.savings,
        "disruption": score.disruption,
        "approved": score.approved,
        "said": str(score),
    }


def _rejection(score: Json | None) -> str:
    if score is None or score["approved"]:
        return ""
    return f"{REJECTED}: {score['said']}"
