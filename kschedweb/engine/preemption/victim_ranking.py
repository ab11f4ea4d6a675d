"""Nodes ranked by the victims that a pod group would still have to evict there, as `RankNodes` of 1.38 does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

import numpy as np

from kschedweb.engine.preemption.victims import Victim, rank_importance
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.snapshot import Snapshot

# The cost of victims: violations of budgets, then pods by priority from the highest down, then kinds and sizes.
Cost = tuple[int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
# Key of a cycle's state, in which the ranking is passed to Reserve.
RANKING = "DefaultPreemption.ranking"


class VictimRanking:
    """The victims by node, and those that are condemned already by pods of the group that were given a node."""

    def __init__(self, snapshot: Snapshot, violations: Mapping[Victim, int]) -> None:
        """``violations``: all victims, each with the number of its pods that a disruption budget protects."""
        self._violations, self._condemned = violations, set[Victim]()
        self._by_node: dict[int, list[Victim]] = {}
        for victim in sorted(violations, key=rank_importance):
            for node in {snapshot.index[pod.node_name] for pod in victim.pods}:
                self._by_node.setdefault(node, []).append(victim)
        self._ranks: Ints = np.zeros(len(snapshot), dtype=np.int64)
        self._is_stale = True

    @property
    def ranks(self) -> Ints:
        """The rank of each node, the lowest first: 0 if nobody more has to leave it, then by cost. Shape [nodes]."""
        if self._is_stale:
            costs = {
                node: self._compute_cost(surviving)
                for node in self._by_node
                if (surviving := self._list_surviving(node))
            }
            ranked = {cost: rank for rank, cost in enumerate(sorted(set(costs.values())), 1)}
            self._ranks = np.zeros_like(self._ranks)
            for node, cost in costs.items():
                self._ranks[node] = ranked[cost]
            self._is_stale = False
        return self._ranks

    def condemn(self, node: int) -> list[Victim]:
        """Condemn the victims that are left on a node where a pod of the group goes; return them."""
        condemned = self._list_surviving(node)
        self._condemned.update(condemned)
        self._is_stale |= bool(condemned)
        return condemned

    def spare(self, victims: Iterable[Victim]) -> None:
        """Take back what ``condemn`` did."""
        self._condemned.difference_update(victims)
        self._is_stale = True

    def _list_surviving(self, node: int) -> list[Victim]:
        return [victim for victim in self._by_node.get(node, ()) if victim not in self._condemned]

    def _compute_cost(self, victims: list[Victim]) -> Cost:
        """Return a key that orders sets of victims, the most important first, as `CompareVictimSets` does."""
        by_priority = groupby(victims, key=lambda victim: victim.priority)
        return (
            sum(self._violations[victim] for victim in victims),
            tuple((priority, sum(len(victim.pods) for victim in equals)) for priority, equals in by_priority),
            tuple((victim.rank, len(victim.pods)) for victim in victims),
        )
