"""Karpenter's consolidation methods: empty nodes, several nodes at once, one node at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode
from kschedweb.engine.autoscaling.disruption.balanced_scoring import BalancedScorer
from kschedweb.engine.autoscaling.disruption.candidates import (
    DisruptionCandidate,
    get_candidates,
    is_deletable,
    is_underutilized,
    sort_candidates,
)
from kschedweb.engine.autoscaling.disruption.consolidation import (
    Command,
    ConsolidationOutcome,
    NoNodePools,
    compute_consolidation,
    filter_by_price,
)
from kschedweb.engine.autoscaling.disruption.events import CANDIDATE, UNCONSOLIDATABLE, Events
from kschedweb.engine.autoscaling.offers.catalogue import NEVER
from kschedweb.engine.autoscaling.offers.nodepools import EMPTY, UNDERUTILIZED
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.values import dataclass

MULTI_NODE, SINGLE_NODE = "MultiNode", "SingleNode"
# The most nodes of one command. The halving below may try one more, as Karpenter's `firstNConsolidationOption` does.
MOST_NODES = 100


@dataclass(slots=True)
class MethodResult:
    """The result of one consolidation method."""

    # EMPTY, MULTI_NODE or SINGLE_NODE.
    type: str
    # The reason of disruption, by which NodePools set their budgets.
    reason: str
    # The nodes that the method considers.
    candidates: list[DisruptionCandidate]
    # Nodes that may be disrupted, by NodePool; None if the method has no candidates.
    budgets: dict[str, int] | None = None
    # None if the method finds nothing to do, or fails.
    command: Command | None = None
    # The message of an error that stopped the method, "" for none.
    error: str = ""


@dataclass(slots=True)
class Disruption:
    """The results of all methods, each run as if the ones before it had found nothing."""

    # In the order in which Karpenter tries them.
    methods: list[MethodResult]
    # The candidates of all methods.
    candidates: list[DisruptionCandidate]
    # Scores the moves of NodePools whose consolidation policy is Balanced.
    scorer: BalancedScorer
    events: Events

    @property
    def command(self) -> tuple[MethodResult, Command] | None:
        """The command that Karpenter would start, with its method: the first that a method found."""
        return next(((method, method.command) for method in self.methods if method.command is not None), None)


@dataclass(slots=True)
class Consolidation:
    """One round of consolidation of a cluster."""

    context: SchedulingContext
    # Decides the order where Karpenter ranges over a Go map; None keeps the order given.
    chance: Random | None = None
    events: Events = field(default_factory=Events)

    def run_methods(self) -> Disruption:
        """Run every method and return all results."""
        world = self.context.world
        all_candidates = get_candidates(world, self.events)
        scorer = BalancedScorer(world, all_candidates)
        results = []
        for kind, reason, should_disrupt, compute_command in self._list_methods():
            candidates = [candidate for candidate in all_candidates if should_disrupt(candidate, self.events)]
            result = MethodResult(kind, reason, candidates)
            results.append(result)
            if candidates:
                result.budgets = build_disruption_budgets(world, reason)
                try:
                    # The methods take what they use from a copy of the budgets.
                    result.command = compute_command(
                        sort_candidates(candidates, self.chance), dict(result.budgets), scorer
                    )
                except NoNodePools as error:
                    result.error = str(error)
        return Disruption(results, all_candidates, scorer, self.events)

    def _list_methods(
        self,
    ) -> Sequence[tuple[str, str, Callable[[DisruptionCandidate, Events], bool], _ComputeCommand]]:
        """Return type, reason, Karpenter's `ShouldDisrupt` and its `ComputeCommands` of each method."""
        return (
            (EMPTY, EMPTY, is_deletable, self._consolidate_empty),
            (MULTI_NODE, UNDERUTILIZED, is_underutilized, self._consolidate_multi_node),
            (SINGLE_NODE, UNDERUTILIZED, is_underutilized, self._consolidate_single_node),
        )

    def _consolidate_empty(
        self, ordered: list[DisruptionCandidate], budgets: dict[str, int], _: BalancedScorer
    ) -> Command | None:
        disruptable = _filter_by_budgets(ordered, budgets)
        return Command(disruptable) if disruptable else None

    def _consolidate_multi_node(
        self, ordered: list[DisruptionCandidate], budgets: dict[str, int], scorer: BalancedScorer
    ) -> Command | None:
        """Return a command for the longest prefix of the candidates that can be disrupted together.

        The prefix is searched by halving, so a longer one may be missed.
        """
        disruptable = _filter_by_budgets(ordered, budgets)
        # Positions of the prefix's last node; it begins with two nodes.
        low, high = 1, min(len(disruptable) - 1, MOST_NODES)
        command: Command | None = None
        while low <= high:
            middle = (low + high) // 2
            option = self._filter_out_same_instance_type(disruptable[: middle + 1])
            if option is not None and scorer.approves(option.candidates, option.savings, self.events):
                command, low = option, middle + 1
            else:
                high = middle - 1
        return command

    def _consolidate_single_node(
        self, ordered: list[DisruptionCandidate], budgets: dict[str, int], scorer: BalancedScorer
    ) -> Command | None:
        """Return a command for the first candidate that can be disrupted, taking NodePools in turn."""
        for candidate in self._interleave_pools(ordered):
            if not budgets[candidate.pool.name] or not scorer.could_approve(candidate):
                continue
            try:
                command = self._try_consolidation([candidate]).command
            except NoNodePools:
                continue
            if command is not None and scorer.approves([candidate], command.savings, self.events):
                return command
        return None

    def _interleave_pools(self, ordered: list[DisruptionCandidate]) -> list[DisruptionCandidate]:
        """Return the first candidate of each NodePool, then the second of each, and so on."""
        # Karpenter ranges over a map of NodePools here, in an order of no meaning.
        names = list(dict.fromkeys(candidate.pool.name for candidate in ordered))
        if self.chance is not None:
            self.chance.shuffle(names)
        by_pool = {name: [candidate for candidate in ordered if candidate.pool.name == name] for name in names}
        longest = max((len(pool_candidates) for pool_candidates in by_pool.values()), default=0)
        return [
            pool_candidates[turn]
            for turn in range(longest)
            for pool_candidates in by_pool.values()
            if turn < len(pool_candidates)
        ]

    def _try_consolidation(self, candidates: Sequence[DisruptionCandidate]) -> ConsolidationOutcome:
        """Compute the consolidation of these nodes together, and publish Karpenter's event about the result."""
        outcome = compute_consolidation(self.context, candidates, self.chance)
        if outcome.command is not None and outcome.command.replacement is not None:
            for candidate in candidates:
                self.events.publish(candidate.machine, CANDIDATE, outcome.command.describe_candidate(candidate))
        elif outcome.why and len(candidates) == 1:
            self.events.publish(candidates[0].machine, UNCONSOLIDATABLE, outcome.why)
        return outcome

    def _filter_out_same_instance_type(self, candidates: Sequence[DisruptionCandidate]) -> Command | None:
        """Return a command for several nodes, unless it only launches a node of a type that it removes.

        As Karpenter's `filterOutSameInstanceType`: the replacement must be cheaper than any node it could equal.
        """
        command = self._try_consolidation(candidates).command
        if command is None or command.replacement is None:
            return command
        problem = filter_by_price(command.replacement, _max_replacement_price(command))
        return None if problem or not command.replacement.types else command


def build_disruption_budgets(world: ClusterState, reason: str) -> dict[str, int]:
    """Return the number of nodes of each NodePool that may be disrupted for ``reason``.

    That is what its budgets allow, less the nodes that are leaving or not ready. As `BuildDisruptionBudgetMapping`.
    """
    counted = [state_node for state_node in world.machines if _counts_for_budgets(state_node)]
    total = Counter(state_node.pool for state_node in counted)
    disrupting = Counter(
        state_node.pool
        for state_node in counted
        if state_node.is_marked_for_deletion or state_node.is_rebooting or not _is_ready(state_node)
    )
    return {
        name: max(pool.allowed_disruptions(total[name], reason, world.now) - disrupting[name], 0)
        for name, pool in world.pools_by_name.items()
    }


def _counts_for_budgets(machine: StateNode) -> bool:
    """Return whether a share of the NodePool's nodes includes this node: initialized, and not terminating."""
    if machine.claim is None or not (machine.is_initialized or machine.is_rebooting):
        return False
    return not machine.claim.is_condition_true("InstanceTerminating")


def _is_ready(machine: StateNode) -> bool:
    return machine.node is not None and machine.node.ready


# Candidates in Karpenter's order, budgets by NodePool, and the scorer -> the command; None if there is nothing to do.
_ComputeCommand = Callable[[list[DisruptionCandidate], dict[str, int], BalancedScorer], Command | None]


def _filter_by_budgets(ordered: Sequence[DisruptionCandidate], budgets: dict[str, int]) -> list[DisruptionCandidate]:
    """Return the candidates that the budgets allow, in their order; take each from its budget."""
    disruptable = []
    for candidate in ordered:
        if budgets[candidate.pool.name]:
            budgets[candidate.pool.name] -= 1
            disruptable.append(candidate)
    return disruptable


def _max_replacement_price(command: Command) -> float:
    """Return the price of an hour that the replacement must stay below.

    That is the lowest price of the removed nodes whose instance type the replacement may have; NEVER if none has.
    """
    prices: dict[str, float] = {}
    for candidate in command.candidates:
        assert candidate.type is not None
        labels = Requirements.of_labels(candidate.machine.labels)
        offered = [offering.price for offering in candidate.type.offerings if labels.intersects(offering.requirements)]
        known_price = prices.get(candidate.type.name)
        if offered:
            prices[candidate.type.name] = min(offered) if known_price is None else min(known_price, *offered)
    assert command.replacement is not None
    catalogue = command.replacement.node.template.catalogue
    removed_types = {candidate.type.name for candidate in command.candidates if candidate.type is not None}
    reused_prices = [
        # A removed type without a known price counts as free, so nothing is cheaper than it.
        prices.get(name, 0.0)
        for place in command.replacement.types
        if (name := catalogue.types[place].name) in removed_types
    ]
    return min(reused_prices, default=NEVER)
