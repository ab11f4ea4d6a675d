"""Whether candidates can go: where their pods would go, and what a cheaper node in their place would be."""

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

FLEXIBILITY = 15
"""So many cheaper types there must be to replace a spot node by a spot node."""
MAX_SHOWN_ERRORS = 5  # errors of pods that a message tells of
DELETE, REPLACE = "delete", "replace"
NO_NODEPOOLS = "creating scheduler, no nodepools found"


class NoNodePools(Exception):
    """There is no NodePool that new nodes could come of; the text is Karpenter's own."""


@dataclass(slots=True)
class Command:
    """What Karpenter would do: delete ``candidates``, or put one node in their place."""

    candidates: list[DisruptionCandidate]
    replacement: Proposal | None = None
    solution: Solution | None = None

    @property
    def decision(self) -> str:
        return DELETE if self.replacement is None else REPLACE

    @property
    def savings(self) -> float:
        """What it saves an hour, with the cheapest price of the first type that comes in their place."""
        return price_of(self.candidates) - (0.0 if self.replacement is None else launch_price(self.replacement))

    def describe_candidate(self, candidate: DisruptionCandidate) -> str:
        """What the event on a node that goes says."""
        if len(self.candidates) == 1:
            action = f"{self.decision}: [{candidate.name}]" + (" -> [1 replacement]" if self.replacement else "")
        else:
            action = f"{self.decision}: [{candidate.name}] (part of {len(self.candidates)}-node consolidation)"
        return f"Consolidation candidate: {action} (savings: ${self.savings:.2f})"


@dataclass(slots=True)
class ConsolidationOutcome:
    """What came of trying: a command, or ``why`` there is none.

    ``considered`` are the types of the one new node that would be needed, with the price that each must be expected to
    have (Karpenter's worst launch price), before they are compared with ``price``, what the candidates cost.
    """

    price: float
    solution: Solution
    command: Command | None = None
    why: str = ""
    considered: list[tuple[str, float]] = field(default_factory=list)


def compute_consolidation(
    context: SchedulingContext, moved: Sequence[DisruptionCandidate], chance: Random | None = None
) -> ConsolidationOutcome:
    """Try to do without the candidates, in the place of which at most one new node comes. Raises NoNodePools."""
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
    """Place the pods of the candidates, and those that wait anyway, without the candidates. Raises NoNodePools."""
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
    """Which pods would be left without a place, in Karpenter's words; those that wait anyway do not count."""
    failed = find_failures(context, solution)
    if not failed:
        return ""
    listed = [f"{pod.namespace}/{pod.name} => {text} " for pod, text in failed[:MAX_SHOWN_ERRORS]]
    more = f" and {len(failed) - MAX_SHOWN_ERRORS} other(s)" if len(failed) >= MAX_SHOWN_ERRORS else ""
    return f"not all pods would schedule, {''.join(listed)}{more}"


def find_failures(context: SchedulingContext, solution: Solution) -> list[tuple[PodView, str]]:
    """The pods that would be left without a place, or on a node that is not initialized, each with why."""
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
    """The cheapest price of the first type of a new node; 0 where it has none."""
    if not proposal.types:
        return 0.0
    price = float(proposal.node.template.catalogue.find_cheapest(proposal.node.requirements)[proposal.types[0]])
    return price if isfinite(price) else 0.0


def filter_by_price(proposal: Proposal, price: float) -> str:
    """Keep the types that cost less even at worst; what is wrong with what is left, "" where nothing is."""
    catalogue, requirements = proposal.node.template.catalogue, proposal.node.requirements
    worst = catalogue.worst_launch_prices(requirements)
    proposal.types = [place for place in proposal.types if worst[place] < price]
    return describe_shortfall(find_shortfall(catalogue, proposal.types, requirements)[1])


def _narrow_replacement(
    context: SchedulingContext, moved: Sequence[DisruptionCandidate], outcome: ConsolidationOutcome
) -> str:
    """Narrow the new node to what is cheaper; why it cannot be, "" where it can."""
    proposal = outcome.solution.new[0]
    node, catalogue = proposal.node, proposal.node.template.catalogue
    allowed = node.requirements.requirement_for(CAPACITY_TYPE)
    spot = allowed.has(SPOT)
    from_spot = spot and all(candidate.capacity_type == SPOT for candidate in moved)
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
    """Keep the cheapest types of a spot node that replaces one; why there are too few, "" where there are enough."""
    if len(proposal.types) < FLEXIBILITY:
        return (
            f"SpotToSpotConsolidation requires {FLEXIBILITY} cheaper instance type options than the current"
            f" candidate to consolidate, got {len(proposal.types)}"
        )
    node = proposal.node
    needed, _ = find_shortfall(node.template.catalogue, proposal.types, node.requirements)
    proposal.types = proposal.types[: max(FLEXIBILITY, needed)]
    return ""


def _describe_uninitialized(machine: StateNode) -> str:
    parts = [f"nodeclaim/{machine.claim.name}"] if machine.claim is not None else []
    parts += [f"node/{machine.node.name}"] if machine.node is not None else []
    return f"would schedule against uninitialized {', '.join(parts)}"
