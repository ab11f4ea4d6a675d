"""The consolidation policy Balanced: it weighs the savings of a move against its disruption."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.disruption.candidates import DisruptionCandidate
from kschedweb.engine.autoscaling.disruption.events import APPROVED, Events
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.validation.golang import plain_sum
from kschedweb.engine.values import dataclass

# A move must save at least a K-th of the share that it disrupts.
K = 2
# Labels that a NodeClaim needs to have a price.
_PRICED_BY = (INSTANCE_TYPE, CAPACITY_TYPE, ZONE, NODEPOOL)


@dataclass(frozen=True, slots=True)
class Score:
    """A move as shares of its NodePool."""

    # The share of the NodePool's price that the move saves.
    savings: float
    # The share of the NodePool's cost of disruption that the move causes.
    disruption: float

    @property
    def value(self) -> float:
        if self.savings <= 0:
            return 0.0
        return inf if self.disruption == 0 else self.savings / self.disruption

    @property
    def is_approved(self) -> bool:
        return self.value >= 1.0 / K

    def __str__(self) -> str:
        value = "+Inf" if self.value == inf else f"{self.value:.2f}"
        shares = f"savings {self.savings * 100:.1f}%, disruption {self.disruption * 100:.1f}%"
        return f"score {value} {'>=' if self.is_approved else '<'} threshold {1.0 / K:.2f} (k: {K}, {shares})"


class BalancedScorer:
    """Scores moves against the price of the candidates' NodePools and the cost of disrupting all their nodes."""

    def __init__(self, world: ClusterState, candidates: Sequence[DisruptionCandidate]) -> None:
        candidates_by_name = {candidate.name: candidate for candidate in candidates}
        self._disruption: dict[str, float] = {}
        for machine in world.machines:
            if NODEPOOL in machine.labels:
                candidate = candidates_by_name.get(machine.name)
                cost = machine.disruption_cost if candidate is None else candidate.reschedule_cost
                self._disruption[machine.pool] = self._disruption.get(machine.pool, 0.0) + cost
        of_claims = _cost_of_claims(world)
        pools = {candidate.pool.name for candidate in candidates}
        self._cost = {
            # The candidates' prices stand in for a NodePool whose NodeClaims have no known price.
            name: of_claims.get(name, 0.0)
            or plain_sum(candidate.price for candidate in candidates if candidate.pool.name == name)
            for name in pools
        }

    def compute_scores(self, moved: Sequence[DisruptionCandidate], savings: float) -> dict[str, Score]:
        """Return the score of a move for each NodePool with the policy Balanced."""
        total = plain_sum(candidate.price for candidate in moved)
        names = list(dict.fromkeys(candidate.pool.name for candidate in moved))
        scores = {}
        for name in names:
            pool_candidates = [candidate for candidate in moved if candidate.pool.name == name]
            if pool_candidates[0].is_balanced:
                saved = savings
                if total > 0 and len(names) > 1:
                    # The savings are divided by the prices of the nodes that each NodePool gives up.
                    saved = savings * (plain_sum(candidate.price for candidate in pool_candidates) / total)
                scores[name] = self._compute_score(
                    name, saved, plain_sum(candidate.reschedule_cost for candidate in pool_candidates)
                )
        return scores

    def approves(self, moved: Sequence[DisruptionCandidate], savings: float, events: Events) -> bool:
        """Return whether every NodePool with the policy Balanced approves the move."""
        scores = self.compute_scores(moved, savings)
        for score in scores.values():
            # Karpenter publishes this event for single nodes only.
            if len(moved) == 1 and score.is_approved:
                events.publish(moved[0].machine, APPROVED, str(score))
        return all(score.is_approved for score in scores.values())

    def could_approve(self, candidate: DisruptionCandidate) -> bool:
        """Return whether the move would be approved if it saved the node's whole price."""
        if not candidate.is_balanced or self._cost.get(candidate.pool.name, 0.0) <= 0:
            return True
        return self._compute_score(candidate.pool.name, candidate.price, candidate.reschedule_cost).is_approved

    def best_score(self, candidate: DisruptionCandidate) -> Score:
        """Return the score of the move if it saved the node's whole price."""
        return self._compute_score(candidate.pool.name, candidate.price, candidate.reschedule_cost)

    def _compute_score(self, name: str, savings: float, disruption: float) -> Score:
        cost, whole = self._cost.get(name, 0.0), self._disruption.get(name, 0.0)
        if cost <= 0 or whole <= 0:
            return Score(0.0, 0.0)
        return Score(savings / cost, disruption / whole)


def _cost_of_claims(world: ClusterState) -> dict[str, float]:
    """Return the price an hour of the NodeClaims of each NodePool; an unknown price counts as 0."""
    costs: dict[str, float] = {}
    for machine in world.machines:
        claim = machine.claim
        if claim is None or any(key not in claim.labels for key in _PRICED_BY):
            continue
        name = claim.labels[NODEPOOL]
        catalogue = world.catalogues.get(name)
        sold = None if catalogue is None else catalogue.by_name.get(claim.labels[INSTANCE_TYPE])
        price = None if sold is None else sold.find_price(claim.labels[ZONE], claim.labels[CAPACITY_TYPE])
        costs[name] = costs.get(name, 0.0) + (price or 0.0)
    return costs
