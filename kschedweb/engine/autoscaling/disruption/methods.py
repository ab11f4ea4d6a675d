"""The ways in which Karpenter consolidates: empty nodes, several at once, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random

from kschedweb.engine.autoscaling.disruption.balancing import Balance
from kschedweb.engine.autoscaling.disruption.budgets import allowed
from kschedweb.engine.autoscaling.disruption.candidates import (
    Candidate,
    candidates,
    deletable,
    in_order,
    underused,
)
from kschedweb.engine.autoscaling.disruption.consolidating import (
    Command,
    NoNodePools,
    Outcome,
    cheaper,
    consolidate,
)
from kschedweb.engine.autoscaling.disruption.events import CANDIDATE, UNCONSOLIDATABLE, Events
from kschedweb.engine.autoscaling.offers.catalogue import NEVER
from kschedweb.engine.autoscaling.offers.nodepools import EMPTY, UNDERUTILIZED
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.values import dataclass

MULTI_NODE, SINGLE_NODE = "MultiNode", "SingleNode"
MOST_NODES = 100
"""A command for several nodes is for so many, or one more, as Karpenter counts."""


@dataclass(slots=True)
class Asked:
    """What a method was asked, and its answer; ``budgets`` are None where there was nothing to ask."""

    type: str
    reason: str
    candidates: list[Candidate]
    budgets: dict[str, int] | None = None
    command: Command | None = None
    error: str = ""


@dataclass(slots=True)
class Disruption:
    """Every method asked as if those before had found nothing; ``all`` are the candidates of any of them."""

    methods: list[Asked]
    all: list[Candidate]
    balance: Balance
    events: Events

    @property
    def command(self) -> tuple[Asked, Command] | None:
        """What Karpenter would start: the first command that a method found."""
        return next(((asked, asked.command) for asked in self.methods if asked.command is not None), None)


@dataclass(slots=True)
class Consolidation:
    """One look at a cluster. ``chance`` decides where the original walks a map."""

    ground: Ground
    chance: Random | None = None
    events: Events = field(default_factory=Events)

    def look(self) -> Disruption:
        """Ask each method."""
        world = self.ground.world
        every = candidates(world, self.events)
        balance = Balance(world, every)
        found = []
        for kind, reason, chosen, find in self._methods():
            asked = Asked(kind, reason, [one for one in every if chosen(one, self.events)])
            found.append(asked)
            if asked.candidates:
                asked.budgets = allowed(world, reason)
                try:
                    asked.command = find(in_order(asked.candidates, self.chance), dict(asked.budgets), balance)
                except NoNodePools as error:
                    asked.error = str(error)
        return Disruption(found, every, balance, self.events)

    def _methods(self) -> Sequence[tuple[str, str, Callable[[Candidate, Events], bool], _Find]]:
        return (
            (EMPTY, EMPTY, deletable, self._empty),
            (MULTI_NODE, UNDERUTILIZED, underused, self._several),
            (SINGLE_NODE, UNDERUTILIZED, underused, self._one),
        )

    def _empty(self, ordered: list[Candidate], budgets: dict[str, int], _: Balance) -> Command | None:
        found = _within(ordered, budgets)
        return Command(found) if found else None

    def _several(self, ordered: list[Candidate], budgets: dict[str, int], balance: Balance) -> Command | None:
        """The longest beginning of the candidates that can go together, as far as halving finds it."""
        found = _within(ordered, budgets)
        low, high = 1, min(len(found), MOST_NODES)
        if len(found) <= high:
            high = len(found) - 1
        command: Command | None = None
        while low <= high:
            middle = (low + high) // 2
            tried = self._sensible(found[: middle + 1])
            if tried is not None and balance.approves(tried.candidates, tried.savings, self.events):
                command, low = tried, middle + 1
            else:
                high = middle - 1
        return command

    def _one(self, ordered: list[Candidate], budgets: dict[str, int], balance: Balance) -> Command | None:
        """The first candidate that can go, one of each NodePool in turn."""
        for one in self._in_turn(ordered):
            if not budgets[one.pool.name] or not balance.could_approve(one):
                continue
            try:
                command = self._tried([one]).command
            except NoNodePools:
                continue
            if command is not None and balance.approves([one], command.savings, self.events):
                return command
        return None

    def _in_turn(self, ordered: list[Candidate]) -> list[Candidate]:
        names = list(dict.fromkeys(one.pool.name for one in ordered))
        if self.chance is not None:
            self.chance.shuffle(names)
        by_pool = {name: [one for one in ordered if one.pool.name == name] for name in names}
        longest = max((len(own) for own in by_pool.values()), default=0)
        return [own[turn] for turn in range(longest) for own in by_pool.values() if turn < len(own)]

    def _tried(self, moved: Sequence[Candidate]) -> Outcome:
        outcome = consolidate(self.ground, moved, self.chance)
        if outcome.command is not None and outcome.command.replacement is not None:
            for one in moved:
                self.events.say(one.machine, CANDIDATE, outcome.command.said_of(one))
        elif outcome.why and len(moved) == 1:
            self.events.say(moved[0].machine, UNCONSOLIDATABLE, outcome.why)
        return outcome

    def _sensible(self, moved: Sequence[Candidate]) -> Command | None:
        """A command for several nodes that does not just start anew one of those that it stops."""
        command = self._tried(moved).command
        if command is None or command.replacement is None:
            return command
        wrong = cheaper(command.replacement, _cheapest_kept(command))
        return None if wrong or not command.replacement.types else command


_Find = Callable[[list[Candidate], dict[str, int], Balance], Command | None]


def _within(ordered: Sequence[Candidate], budgets: dict[str, int]) -> list[Candidate]:
    """The candidates that the budgets let go, in their order."""
    found = []
    for one in ordered:
        if budgets[one.pool.name]:
            budgets[one.pool.name] -= 1
            found.append(one)
    return found


def _cheapest_kept(command: Command) -> float:
    """What a new node must be cheaper than: the cheapest node that goes of a type that it could be."""
    prices: dict[str, float] = {}
    for one in command.candidates:
        assert one.type is not None
        labels = Requirements.of_labels(one.machine.labels)
        offered = [each.price for each in one.type.offerings if labels.intersects(each.requirements)]
        known = prices.get(one.type.name)
        if offered:
            prices[one.type.name] = min(offered) if known is None else min(known, *offered)
    assert command.replacement is not None
    catalogue = command.replacement.node.template.catalogue
    going = {one.type.name for one in command.candidates if one.type is not None}
    again = [
        prices.get(name, 0.0) for place in command.replacement.types if (name := catalogue.types[place].name) in going
    ]
    return min(again, default=NEVER)
