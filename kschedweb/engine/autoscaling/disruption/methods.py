"""The ways in which Karpenter consolidates: empty nodes, several at once, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random

from kschedweb.engine.autoscaling.disruption.balanced_scoring import BalancedScorer
from kschedweb.engine.autoscaling.disruption.budgets import build_disruption_budgets
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
MOST_NODES = 100
"""A command for several nodes is for so many, or one more, as Karpenter counts."""


@dataclass(slots=True)
class MethodResult:
    """What a method was asked, and its answer; ``budgets`` are None where there was nothing to ask."""

    type: str
    reason: str
    candidates: list[DisruptionCandidate]
    budgets: dict[str, int] | None = None
    command: Command | None = None
    error: str = ""


@dataclass(slots=True)
class Disruption:
    """Every method asked as if those before had found nothing; ``all`` are the candidates of any of them."""

    methods: list[MethodResult]
    all: list[DisruptionCandidate]
    balance: BalancedScorer
    events: Events

    @property
    def command(self) -> tuple[MethodResult, Command] | None:
        """What Karpenter would start: the first command that a method found."""
        return next(((method, method.command) for method in self.methods if method.command is not None), None)


@dataclass(slots=True)
class Consolidation:
    """One look at a cluster. ``chance`` decides where the original walks a map."""

    context: SchedulingContext
    chance: Random | None = None
    events: Events = field(default_factory=Events)

    def run_methods(self) -> Disruption:
        """Ask each method."""
        world = self.context.world
        all_candidates = get_candidates(world, self.events)
        balance = BalancedScorer(world, all_candidates)
        results = []
        for kind, reason, chosen, find in self._list_methods():
            result = MethodResult(
                kind, reason, [candidate for candidate in all_candidates if chosen(candidate, self.events)]
            )
            results.append(result)
            if result.candidates:
                result.budgets = build_disruption_budgets(world, reason)
                try:
                    result.command = find(
                        sort_candidates(result.candidates, self.chance), dict(result.budgets), balance
                    )
                except NoNodePools as error:
                    result.error = str(error)
        return Disruption(results, all_candidates, balance, self.events)

    def _list_methods(self) -> Sequence[tuple[str, str, Callable[[DisruptionCandidate, Events], bool], _Find]]:
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
        self, ordered: list[DisruptionCandidate], budgets: dict[str, int], balance: BalancedScorer
    ) -> Command | None:
        """The longest beginning of the candidates that can go together, as far as halving finds it."""
        disruptable = _filter_by_budgets(ordered, budgets)
        low, high = 1, min(len(disruptable), MOST_NODES)
        if len(disruptable) <= high:
            high = len(disruptable) - 1
        command: Command | None = None
        while low <= high:
            middle = (low + high) // 2
            option = self._filter_out_same_instance_type(disruptable[: middle + 1])
            if option is not None and balance.approves(option.candidates, option.savings, self.events):
                command, low = option, middle + 1
            else:
                high = middle - 1
        return command

    def _consolidate_single_node(
        self, ordered: list[DisruptionCandidate], budgets: dict[str, int], balance: BalancedScorer
    ) -> Command | None:
        """The first candidate that can go, one of each NodePool in turn."""
        for candidate in self._interleave_pools(ordered):
            if not budgets[candidate.pool.name] or not balance.could_approve(candidate):
                continue
            try:
                command = self._try_consolidation([candidate]).command
            except NoNodePools:
                continue
            if command is not None and balance.approves([candidate], command.savings, self.events):
                return command
        return None

    def _interleave_pools(self, ordered: list[DisruptionCandidate]) -> list[DisruptionCandidate]:
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

    def _try_consolidation(self, moved: Sequence[DisruptionCandidate]) -> ConsolidationOutcome:
        outcome = compute_consolidation(self.context, moved, self.chance)
        if outcome.command is not None and outcome.command.replacement is not None:
            for candidate in moved:
                self.events.publish(candidate.machine, CANDIDATE, outcome.command.describe_candidate(candidate))
        elif outcome.why and len(moved) == 1:
            self.events.publish(moved[0].machine, UNCONSOLIDATABLE, outcome.why)
        return outcome

    def _filter_out_same_instance_type(self, moved: Sequence[DisruptionCandidate]) -> Command | None:
        """A command for several nodes that does not just start anew one of those that it stops."""
        command = self._try_consolidation(moved).command
        if command is None or command.replacement is None:
            return command
        wrong = filter_by_price(command.replacement, _cheapest_kept(command))
        return None if wrong or not command.replacement.types else command


_Find = Callable[[list[DisruptionCandidate], dict[str, int], BalancedScorer], Command | None]


def _filter_by_budgets(ordered: Sequence[DisruptionCandidate], budgets: dict[str, int]) -> list[DisruptionCandidate]:
    """The candidates that the budgets let go, in their order."""
    disruptable = []
    for candidate in ordered:
        if budgets[candidate.pool.name]:
            budgets[candidate.pool.name] -= 1
            disruptable.append(candidate)
    return disruptable


def _cheapest_kept(command: Command) -> float:
    """What a new node must be cheaper than: the cheapest node that goes of a type that it could be."""
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
    going = {candidate.type.name for candidate in command.candidates if candidate.type is not None}
    reused_prices = [
        prices.get(name, 0.0) for place in command.replacement.types if (name := catalogue.types[place].name) in going
    ]
    return min(reused_prices, default=NEVER)
