"""Consolidation of given candidates: where their pods would go, and which cheaper node could replace them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import isfinite
from random import Random

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode
from kschedweb.engine.autoscaling.disruption.candidates import DisruptionCandidate
from kschedweb.engine.autoscaling.disruption.events import to_sentence
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, ON_DEMAND, SPOT
from kschedweb.engine.autoscaling.offers.min_values import describe_shortfall, find_shortfall
from kschedweb.engine.autoscaling.offers.requirements import IN, new_requirement
from kschedweb.engine.autoscaling.provisioning.output import clean_message
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.autoscaling.provisioning.solver import Proposal, Solution, Solver
from kschedweb.engine.validation.golang import plain_sum
from kschedweb.engine.values import dataclass

# A spot node is replaced by a spot node only if there are this many cheaper instance types.
FLEXIBILITY = 15
# The most pod errors that a message lists.
MAX_SHOWN_ERRORS = 5
DELETE, REPLACE = "delete", "replace"
NO_NODEPOOLS = "creating scheduler, no nodepools found"


class NoNodePools(Exception):
    """No NodePool can launch nodes; the message is Karpenter's."""


@dataclass(slots=True)
class Command:
    """A consolidation command: delete ``candidates``, or replace them by one node."""

    candidates: list[DisruptionCandidate]
    # None if the candidates are only deleted.
    replacement: Proposal | None = None
    # Where the pods go; None for a deletion of empty nodes.
    solution: Solution | None = None

    @property
    def decision(self) -> str:
        return DELETE if self.replacement is None else REPLACE

    @property
    def savings(self) -> float:
        """The savings an hour; a replacement counts at the cheapest price of its first instance type."""
        return price_of(self.candidates) - (0.0 if self.replacement is None else launch_price(self.replacement))

    def describe_candidate(self, candidate: DisruptionCandidate) -> str:
        """Return the message of the event on a candidate."""
        if len(self.candidates) == 1:
            action = f"{self.decision}: [{candidate.name}]" + (" -> [1 replacement]" if self.replacement else "")
        else:
            action = f"{self.decision}: [{candidate.name}] (part of {len(self.candidates)}-node consolidation)"
        return f"Consolidation candidate: {action} (savings: ${self.savings:.2f})"


@dataclass(slots=True)
class ConsolidationOutcome:
    """The result of trying to consolidate candidates: a command, or the reason why there is none."""

    # The price of the candidates an hour.
    price: float
    solution: Solution
    command: Command | None = None
    # Why there is no command, "" if there is one.
    why: str = ""
    # The instance types of the replacement before they are compared with ``price``, each with Karpenter's
    # worst launch price.
    considered: list[tuple[str, float]] = field(default_factory=list)


def compute_consolidation(
    context: SchedulingContext, moved: Sequence[DisruptionCandidate], chance: Random | None = None
) -> ConsolidationOutcome:
    """Try to do without the candidates, with at most one new node in their place. Raises NoNodePools."""
    solution = simulate_scheduling(context, moved, chance)
    outcome = ConsolidationOutcome(price_of(moved), solution)
    if message := describe_unplaced(context, solution):
        outcome.why = to_sentence(message)
    elif not solution.new:
        outcome.command = Command(list(moved), solution=solution)
    elif len(solution.new) > 1:
        outcome.why = f"Can't remove without creating {len(solution.new)} candidates"
    else:
        outcome.why = _narrow_replacement(context, moved, outcome)
        if not outcome.why:
            outcome.command = Command(list(moved), solution.new[0], solution)
    return outcome


def simulate_scheduling(
    context: SchedulingContext, moved: Sequence[DisruptionCandidate], chance: Random | None = None
) -> Solution:
    """Place the candidates' pods, and those that wait anyway, without the candidates. Raises NoNodePools."""
    if not context.world.usable_pools:
        raise NoNodePools(NO_NODEPOOLS)
    pods = [
        *context.pending_pods,
        *(pod for candidate in moved for pod in candidate.moving),
        *context.world.leaving_pods,
    ]
    removed = frozenset(candidate.name for candidate in moved)
    return Solver(context, pods, removed, consolidating=True, chance=chance).solve()


def describe_unplaced(context: SchedulingContext, solution: Solution) -> str:
    """Return which pods would have no place, in Karpenter's words; pods that wait anyway do not count."""
    failed = find_failures(context, solution)
    if not failed:
        return ""
    listed = [f"{pod.namespace}/{pod.name} => {text} " for pod, text in failed[:MAX_SHOWN_ERRORS]]
    # `>=` is Karpenter's: exactly MAX_SHOWN_ERRORS errors end in "and 0 other(s)".
    more = f" and {len(failed) - MAX_SHOWN_ERRORS} other(s)" if len(failed) >= MAX_SHOWN_ERRORS else ""
    return f"not all pods would schedule, {''.join(listed)}{more}"


def find_failures(context: SchedulingContext, solution: Solution) -> list[tuple[PodView, str]]:
    """Return the pods without a place, or on a node that is not initialized, each with the reason."""
    errors = {pod: clean_message(refusal.say()) for pod, refusal in solution.errors.items()}
    leaving = {pod.key for pod in context.world.leaving_pods}
    for place, pods in solution.placed.pods.items():
        machine = context.fleet.machines[place]
        if not machine.is_initialized:
            errors.update((pod, _describe_uninitialized(machine)) for pod in pods if pod.key not in leaving)
    return [(pod, text) for pod, text in errors.items() if not pod.is_provisionable]


def price_of(moved: Sequence[DisruptionCandidate]) -> float:
    return plain_sum(candidate.price for candidate in moved)


def launch_price(proposal: Proposal) -> float:
    """Return the cheapest price of the first instance type of a new node; 0 if there is none."""
    if not proposal.types:
        return 0.0
    price = float(proposal.node.template.catalogue.find_cheapest(proposal.node.requirements)[proposal.types[0]])
    return price if isfinite(price) else 0.0


def filter_by_price(proposal: Proposal, price: float) -> str:
    """Keep the instance types whose worst launch price is below ``price``.

    Return what is wrong with the remaining ones, "" if nothing is.
    """
    catalogue, requirements = proposal.node.template.catalogue, proposal.node.requirements
    worst = catalogue.worst_launch_prices(requirements)
    proposal.types = [place for place in proposal.types if worst[place] < price]
    return describe_shortfall(find_shortfall(catalogue, proposal.types, requirements)[1])


def _narrow_replacement(
    context: SchedulingContext, moved: Sequence[DisruptionCandidate], outcome: ConsolidationOutcome
) -> str:
    """Narrow the replacement to cheaper instance types; return why that is impossible, "" if it is not."""
    proposal = outcome.solution.new[0]
    node, catalogue = proposal.node, proposal.node.template.catalogue
    allowed = node.requirements.requirement_for(CAPACITY_TYPE)
    spot = allowed.has(SPOT)
    from_spot = spot and all(candidate.capacity_type == SPOT for candidate in moved)
    # Only spot to spot needs care: a chain of ever cheaper spot nodes would end at the most interrupted ones.
    if from_spot:
        if not context.world.settings.spot_to_spot:
            return "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
        node.requirements.add([new_requirement(CAPACITY_TYPE, IN, (SPOT,))])
        offered = catalogue.filter_offered(node.requirements)
        proposal.types = [place for place in proposal.types if offered[place]]
    worst = catalogue.worst_launch_prices(node.requirements)
    outcome.considered = [(catalogue.types[place].name, float(worst[place])) for place in proposal.types]
    if short := filter_by_price(proposal, outcome.price):
        return f"Filtering by price: {short}"
    if not proposal.types:
        return "Can't replace with a cheaper node"
    if from_spot and len(moved) == 1:
        return _limit_spot_types(proposal)
    if not from_spot and spot and allowed.has(ON_DEMAND):
        # Priced as spot, it must not become a dearer on-demand node.
        node.requirements.add([new_requirement(CAPACITY_TYPE, IN, (SPOT,))])
    return ""


def _limit_spot_types(proposal: Proposal) -> str:
    """Keep the cheapest instance types of a spot replacement; return why there are too few, "" if there are enough."""
    if len(proposal.types) < FLEXIBILITY:
        return (
            f"SpotToSpotConsolidation requires {FLEXIBILITY} cheaper instance type options than the current"
            f" candidate to consolidate, got {len(proposal.types)}"
        )
    node = proposal.node
    # Never fewer than minValues needs.
    needed, _ = find_shortfall(node.template.catalogue, proposal.types, node.requirements)
    proposal.types = proposal.types[: max(FLEXIBILITY, needed)]
    return ""


def _describe_uninitialized(machine: StateNode) -> str:
    parts = [f"nodeclaim/{machine.claim.name}"] if machine.claim is not None else []
    parts += [f"node/{machine.node.name}"] if machine.node is not None else []
    return f"would schedule against uninitialized {', '.join(parts)}"
