"""The policy Balanced: whether what a move saves is worth what it disturbs."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.disruption.candidates import Candidate
from kschedweb.engine.autoscaling.disruption.events import APPROVED, Events
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.validation.golang import plain_sum
from kschedweb.engine.values import dataclass

K = 2
"""A move must save at least a K-th of the share that it disturbs."""
_PRICED_BY = (INSTANCE_TYPE, CAPACITY_TYPE, ZONE, NODEPOOL)


@dataclass(frozen=True, slots=True)
class Score:
    """The shares of a NodePool that a move saves (of the cost) and disturbs (of the cost of disruption)."""

    savings: float
    disruption: float

    @property
    def value(self) -> float:
        if self.savings <= 0:
            return 0.0
        return inf if self.disruption == 0 else self.savings / self.disruption

    @property
    def approved(self) -> bool:
        return self.value >= 1.0 / K

    def __str__(self) -> str:
        value = "+Inf" if self.value == inf else f"{self.value:.2f}"
        shares = f"savings {self.savings * 100:.1f}%, disruption {self.disruption * 100:.1f}%"
        return f"score {value} {'>=' if self.approved else '<'} threshold {1.0 / K:.2f} (k: {K}, {shares})"


class Balance:
    """What the NodePools of the candidates cost, and what it costs to disrupt all their nodes."""

    def __init__(self, world: World, candidates: Sequence[Candidate]) -> None:
        known = {one.name: one for one in candidates}
        self._disruption: dict[str, float] = {}
        for machine in world.machines:
            if NODEPOOL in machine.labels:
                found = known.get(machine.name)
                cost = machine.disruption_cost if found is None else found.reschedule_cost
                self._disruption[machine.pool] = self._disruption.get(machine.pool, 0.0) + cost
        of_claims = _cost_of_claims(world)
        pools = {one.pool.name for one in candidates}
        self._cost = {
            name: of_claims.get(name, 0.0) or plain_sum(one.price for one in candidates if one.pool.name == name)
            for name in pools
        }

    def scores(self, moved: Sequence[Candidate], savings: float) -> dict[str, Score]:
        """The score of a move for each NodePool with the policy Balanced."""
        total = plain_sum(one.price for one in moved)
        names = list(dict.fromkeys(one.pool.name for one in moved))
        found = {}
        for name in names:
            own = [one for one in moved if one.pool.name == name]
            if own[0].balanced:
                saved = savings
                if total > 0 and len(names) > 1:
                    saved = savings * (plain_sum(one.price for one in own) / total)
                found[name] = self._score(name, saved, plain_sum(one.reschedule_cost for one in own))
        return found

    def approves(self, moved: Sequence[Candidate], savings: float, events: Events) -> bool:
        """Whether each NodePool with the policy Balanced agrees."""
        found = self.scores(moved, savings)
        for score in found.values():
            if len(moved) == 1 and score.approved:
                events.say(moved[0].machine, APPROVED, str(score))
        return all(score.approved for score in found.values())

    def could_approve(self, one: Candidate) -> bool:
        """Whether it would if all of the node's price were saved."""
        if not one.balanced or self._cost.get(one.pool.name, 0.0) <= 0:
            return True
        return self._score(one.pool.name, one.price, one.reschedule_cost).approved

    def best_score(self, one: Candidate) -> Score:
        """The score if all of the node's price were saved."""
        return self._score(one.pool.name, one.price, one.reschedule_cost)

    def _score(self, name: str, savings: float, disruption: float) -> Score:
        cost, whole = self._cost.get(name, 0.0), self._disruption.get(name, 0.0)
        if cost <= 0 or whole <= 0:
            return Score(0.0, 0.0)
        return Score(savings / cost, disruption / whole)


def _cost_of_claims(world: World) -> dict[str, float]:
    """What the NodeClaims of each NodePool cost an hour; a price that is unknown counts as 0."""
    found: dict[str, float] = {}
    for machine in world.machines:
        claim = machine.claim
        if claim is None or any(key not in claim.labels for key in _PRICED_BY):
            continue
        name = claim.labels[NODEPOOL]
        catalogue = world.catalogues.get(name)
        sold = None if catalogue is None else catalogue.by_name.get(claim.labels[INSTANCE_TYPE])
        price = None if sold is None else sold.price(claim.labels[ZONE], claim.labels[CAPACITY_TYPE])
        found[name] = found.get(name, 0.0) + (price or 0.0)
    return found
