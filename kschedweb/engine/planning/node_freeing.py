"""The objectives of freeing nodes: cordoned, and left with only pods of DaemonSets and static pods."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field
from functools import cached_property

import numpy as np

from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.planning.evictable import OF_THE_NODE
from kschedweb.engine.planning.move_refusals import MoveRefusals
from kschedweb.engine.planning.results import BEST, REACHED, TIME, Bound, MoveSearchResult, PlanError, Stop
from kschedweb.engine.planning.trial_cluster import Late, TrialCluster, never
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.state.columns import Floats, Ints
from kschedweb.engine.values import dataclass

# Moves that an empty node counts as, so that it comes first without a division by 0.
MIN_MOVES = 1e-6
# The most candidates for which the search starts over without a node that failed, and tries each failed node again.
FEW = 40
# The resource that limits the number of pods on a node.
PODS = "pods"
CONTROL_PLANE = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
Worth = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class FreedNodes:
    """The objective of freeing as many nodes as possible, or ``at_least`` so many."""

    # None for as many as possible.
    at_least: int | None = None
    name: str = field(default="nodes", init=False)
    unit: str = field(default="nodes", init=False)
    rises: bool = field(default=True, init=False)

    @property
    def target(self) -> float | None:
        return self.at_least

    def compute_gain(self, before: float, value: float) -> float:
        return value - before

    def is_reached(self, value: float) -> bool:
        return self.at_least is not None and value >= self.at_least

    def find_moves(self, trial_cluster: TrialCluster, max_moves: int, price: float) -> MoveSearchResult:
        freeing = Freeing(trial_cluster)
        number = len(freeing.empty)

        def compute_bound(value: float) -> Bound:
            return Bound(freeing.count_fewest_moves(round(value)), float(freeing.bounds.max_freed_nodes()))

        if self.at_least is not None and self.at_least <= number:
            return MoveSearchResult(float(number), [], [], MoveRefusals.stop_reached(), compute_bound)
        listed = freeing.rank_candidates(lambda name: 1.0 - price * len(freeing.pods[name]))
        freed, stop = freeing.free_nodes(listed, self.at_least, max_moves)
        values, reasons = freeing.describe_moves(freed, lambda name: 1.0, float(number))
        return MoveSearchResult(
            float(number), values, reasons, stop, compute_bound, tuple(freed), float(len(freed)), freeing.opened
        )


@dataclass(frozen=True, slots=True)
class SavedCost:
    """The objective of saving the cost of nodes that go; the price of a move is in the same currency."""

    prices: PriceTable
    # Hours over which the saving counts.
    hours: float = 24.0
    name: str = field(default="money", init=False)
    rises: bool = field(default=False, init=False)

    @property
    def unit(self) -> str:
        return f"{self.prices.currency} in {self.hours:g} h"

    @property
    def target(self) -> float | None:
        return None

    def compute_gain(self, before: float, value: float) -> float:
        return before - value

    def is_reached(self, value: float) -> bool:
        return False

    def find_moves(self, trial_cluster: TrialCluster, max_moves: int, price: float) -> MoveSearchResult:
        """Make the moves on the trial cluster; raises PlanError if no node has a price."""
        freeing, cost = Freeing(trial_cluster), _Costs(trial_cluster, self)
        before = cost.cost_without([])
        listed = freeing.rank_candidates(lambda name: cost.compute_saving(name) - price * len(freeing.pods[name]))
        freed, stop = freeing.free_nodes(listed, None, max_moves)
        while len(worthwhile_nodes := cost.keep_worthwhile(freed, lambda name: price * len(freeing.pods[name]))) < len(
            freed
        ):
            late = stop if stop.kind == TIME else None
            freed, stop = freeing.free_nodes(worthwhile_nodes, None, max_moves, never)
            stop = late or stop
        values, reasons = freeing.describe_moves(
            freed, lambda name: -cost.compute_saving(name, freed[: freed.index(name)]), before
        )

        def compute_bound(_: float) -> Bound:
            return Bound(
                freeing.count_fewest_moves(len(freed)), float(freeing.bounds.min_cost(cost.compute_lowest_costs()))
            )

        return MoveSearchResult(
            before, values, reasons, stop, compute_bound, tuple(freed), cost.cost_without(freed), freeing.opened
        )


class _Costs:
    """The cost of nodes over the hours that count."""

    def __init__(self, trial_cluster: TrialCluster, money: SavedCost) -> None:
        self._index, self._hours = trial_cluster.snapshot.index, money.hours
        self._rates = Rates.from_table(money.prices, [node.labels for node in trial_cluster.snapshot.nodes])
        self._all_nodes = np.ones(len(self._index), dtype=np.bool_)
        if np.isnan(self._rates.price).all():
            raise PlanError("the table has no price for any node of the cluster")

    def cost_without(self, removed: Collection[str]) -> float:
        """Return the cost of the cluster without the nodes ``removed``; nodes without a price count as 0."""
        remaining = self._all_nodes.copy()
        remaining[[self._index[name] for name in removed]] = False
        return float(np.nansum(self._rates.price_per_node(remaining)[remaining])) * self._hours

    def compute_saving(self, name: str, removed: Collection[str] = ()) -> float:
        """Return what is saved if this node goes after the nodes ``removed``."""
        return self.cost_without(removed) - self.cost_without([*removed, name])

    def keep_worthwhile(self, freed: list[str], price: Worth) -> list[str]:
        """Return the nodes that save more than their moves cost.

        With commitments, a node may save less once others are gone.
        """
        while freed and (poor := self.find_unprofitable(freed, price)):
            freed = [name for name in freed if name != poor]
        return freed

    def find_unprofitable(self, freed: list[str], price: Worth) -> str:
        """Return a node that saves no more than its moves cost, "" if there is none; the last one first."""
        last = range(len(freed) - 1, -1, -1)
        return next((freed[at] for at in last if self.compute_saving(freed[at], freed[:at]) <= price(freed[at])), "")

    def compute_lowest_costs(self) -> Floats:
        """Return the least that each node may cost, with the best discount that covers it. Shape [nodes]."""
        rates = self._rates
        lowest = np.nan_to_num(rates.price.copy())
        table = rates.table
        if table is None:
            return lowest
        for row, commitment in enumerate(table.commitments):
            discounted = np.nan_to_num(rates.price) * (1.0 - commitment.discount / 100.0)
            covered = rates.covered[row]
            lowest = np.where(covered, np.minimum(lowest, discounted), lowest)
        cost: Floats = np.where(np.isnan(rates.price), 0.0, lowest + table.per_node) * self._hours
        return cost


class FreeingBounds:
    """Bounds for freeing nodes: how many must stay for the pods' requests, if pods could be split and placed anywhere.

    It has the requests of all movable and staying pods, and the room of nodes, with a row for each resource. Pods that
    exist because of their node are subtracted from its room. Nodes in ``stuck`` cannot be emptied.
    """

    def __init__(self, trial_cluster: TrialCluster, stuck: Collection[str]) -> None:
        snapshot = trial_cluster.snapshot
        size = len(snapshot)
        rows = {name: row for row, name in enumerate([*snapshot.resources, PODS])}
        room: Ints = np.vstack([snapshot.allocatable, snapshot.pod_limit[None, :]]).astype(np.int64)
        requested: Ints = np.zeros((len(rows), size), dtype=np.int64)
        for pod in filter(None, snapshot.pods.pods):
            place = snapshot.index[pod.node_name]
            of_node = trial_cluster.stays.get(pod.key, "") in OF_THE_NODE
            target = room if of_node else requested
            for name, amount in {**pod.occupied, PODS: 1}.items():
                if name in rows:
                    target[rows[name], place] += -amount if of_node else amount
        # A node that holds more than its room may stay as it is.
        self._room: Floats = np.maximum(room, requested).astype(np.float64)
        self._requested: Floats = requested.sum(axis=1).astype(np.float64)
        fixed = np.array([name in stuck for name in snapshot.names], dtype=np.bool_)
        closed = np.array([node.unschedulable for node in snapshot.nodes], dtype=np.bool_)
        # Pods on a cordoned node that stays need no room elsewhere.
        stays = fixed & closed
        self._requested -= requested[:, stays].sum(axis=1)
        self._room[:, closed] = 0.0
        self._fixed, self._free = fixed, ~fixed

    def max_freed_nodes(self) -> int:
        """Return the most nodes that can go: for each resource, the roomiest nodes must hold what is requested."""
        candidates = int(self._free.sum())
        return candidates - max((self._count_needed_nodes(row) for row in range(len(self._requested))), default=0)

    def _count_needed_nodes(self, row: int) -> int:
        lacks = self._requested[row] - self._room[row, self._fixed].sum()
        if lacks <= 0.0:
            return 0
        sums = np.cumsum(np.sort(self._room[row, self._free])[::-1])
        return min(int(np.searchsorted(sums, lacks, side="left")) + 1, int(self._free.sum()))

    def min_cost(self, cost: Floats) -> float:
        """Return the least that must be paid if nodes could stay in part, for each resource the cheapest room first."""
        fixed = float(cost[self._fixed].sum())
        return fixed + max((self._min_cost_of_resource(row, cost) for row in range(len(self._requested))), default=0.0)

    def _min_cost_of_resource(self, row: int, cost: Floats) -> float:
        lacks = self._requested[row] - self._room[row, self._fixed].sum()
        room, price = self._room[row, self._free], cost[self._free]
        useful = room > 0.0
        room, price = room[useful], price[useful]
        order = np.argsort(price / room, kind="stable")
        before = np.append(0.0, np.cumsum(room[order]))[:-1]
        used = np.clip(lacks - before, 0.0, room[order])
        return float((price[order] * used / room[order]).sum())


class Freeing:
    """Empties nodes on the trial cluster. Empty nodes are cordoned first, so that no pod is placed there."""

    def __init__(self, trial_cluster: TrialCluster) -> None:
        self.trial_cluster = trial_cluster
        # The pods to be moved, by node.
        self.pods = trial_cluster.movable_by_node()
        pod_counts = {name: 0 for name in self.pods}
        stuck = set()
        for pod in filter(None, trial_cluster.snapshot.pods.pods):
            why = trial_cluster.stays.get(pod.key, "")
            if why not in OF_THE_NODE:
                pod_counts[pod.node_name] += 1
                if why:
                    stuck.add(pod.node_name)
        # Nodes of the control plane are never freed.
        stuck |= {node.name for node in trial_cluster.snapshot.nodes if not CONTROL_PLANE.isdisjoint(node.labels)}
        # Nodes that are empty already.
        self.empty = frozenset(name for name, number in pod_counts.items() if not number and name not in stuck)
        # Nodes that cannot be emptied.
        self.stuck = frozenset(stuck)
        self._refusals = MoveRefusals()

    @cached_property
    def bounds(self) -> FreeingBounds:
        return FreeingBounds(self.trial_cluster, self.stuck)

    @property
    def candidates(self) -> list[str]:
        return [name for name in self.pods if name not in self.stuck]

    def count_fewest_moves(self, number: int) -> int:
        """Return the fewest moves after which ``number`` nodes are empty."""
        return sum(sorted(len(self.pods[name]) for name in self.candidates)[: max(number, 0)])

    def rank_candidates(self, worth: Worth) -> list[str]:
        """Return the nodes worth their moves, by worth for each move, then by the least requested CPU."""
        snapshot = self.trial_cluster.snapshot
        requested = snapshot.resource_row(snapshot.requested, CPU)
        worths = [(worth(name), name) for name in self.candidates]
        keyed = [
            (-value / max(len(self.pods[name]), MIN_MOVES), int(requested[snapshot.index[name]]), name)
            for value, name in worths
            if value > 0
        ]
        return [name for _, _, name in sorted(keyed)]

    def free_nodes(
        self, listed: list[str], num_nodes: int | None, max_moves: int, late: Late | None = None
    ) -> tuple[list[str], Stop]:
        """Empty ``num_nodes`` of the nodes ``listed``, or as many as possible, with at most ``max_moves`` moves.

        All nodes that are to go are cordoned first. If one cannot be emptied, the others are tried again without it.
        With many candidates it stays cordoned until the moves are done, and is then ``opened``; the same happens to all
        remaining nodes once ``late`` (by default the trial cluster's) returns True.
        """
        failed: dict[str, None] = {}
        late = late or self.trial_cluster.late
        self.opened: tuple[str, ...] = ()
        # Asked before any node is cordoned, as cordons take room away.
        bound = self.bounds.max_freed_nodes()
        limit = bound if num_nodes is None else num_nodes
        chosen = self._choose_nodes(listed, failed, limit, max_moves)
        while chosen:
            emptied = self._empty_nodes(chosen, late)
            if late() or (num_nodes is None and len(listed) > FEW):
                emptied_names = frozenset(emptied)
                self.opened = tuple(name for name in chosen if name not in emptied_names)
                chosen = emptied
                break
            if len(emptied) == len(chosen):
                break
            failed |= dict.fromkeys(name for name in chosen if name not in emptied)
            chosen = emptied if num_nodes is None else self._choose_nodes(listed, failed, limit, max_moves)
        else:
            self._empty_nodes([])
        if num_nodes is None and len(listed) <= FEW and not late():
            chosen = self._one_more(chosen, listed, max_moves, late)
        stop = self._find_stop_reason(chosen, listed, num_nodes, max_moves)
        return chosen, MoveRefusals.stop_out_of_time() if late() and stop.kind not in (REACHED, BEST) else stop

    def _choose_nodes(self, listed: list[str], failed: Collection[str], limit: int, max_moves: int) -> list[str]:
        chosen: list[str] = []
        moves = 0
        for name in listed:
            if name not in failed and len(chosen) < limit and moves + len(self.pods[name]) <= max_moves:
                chosen.append(name)
                moves += len(self.pods[name])
        return chosen

    def _one_more(self, chosen: list[str], listed: list[str], max_moves: int, late: Late) -> list[str]:
        """Try to free each other node beside the chosen ones."""
        for name in listed:
            if late():
                break
            if name not in chosen and sum(len(self.pods[node_name]) for node_name in (*chosen, name)) <= max_moves:
                wider = sorted([*chosen, name], key=listed.index)
                if len(self._empty_nodes(wider)) == len(wider):
                    chosen = wider
        self._empty_nodes(chosen)
        return chosen

    def _empty_nodes(self, chosen: list[str], late: Late = never) -> list[str]:
        """Empty these nodes from a fresh start, until it is ``late``; return those that could be emptied."""
        self.trial_cluster.rollback(0)
        self.trial_cluster.cordon_nodes(chosen)
        closed = frozenset(chosen)
        return [name for name in chosen if not late() and self._empty_node(name, closed)]

    def _empty_node(self, name: str, closed: Collection[str]) -> bool:
        """Move all pods of the node, or none."""
        mark = self.trial_cluster.mark()
        # The largest first: small pods still find room later.
        todo = sorted(self.pods[name], key=lambda pod: (-pod.requests.get(CPU, 0), pod.key))
        while todo:
            outcomes = [(pod, self.trial_cluster.move_pod(pod, closed)) for pod in todo]
            unmoved = [pod for pod, outcome in outcomes if not outcome.node]
            # In a new wave pods that were evicted are gone, so that a place may have become free.
            if len(unmoved) == len(todo) and not self.trial_cluster.wave_begun:
                for _, outcome in outcomes:
                    self._refusals.record_outcome(outcome, gained=True)
                self.trial_cluster.rollback(mark)
                return False
            if unmoved:
                self.trial_cluster.end_wave()
            todo = unmoved
        return True

    def _find_stop_reason(self, chosen: list[str], listed: list[str], num_nodes: int | None, max_moves: int) -> Stop:
        if num_nodes is not None and len(chosen) >= num_nodes:
            return MoveRefusals.stop_reached()
        if len(chosen) >= self.bounds.max_freed_nodes():
            return Stop(BEST, "No more nodes can go: the others must hold what the pods request.")
        remaining = [name for name in listed if name not in chosen]
        moves = sum(len(self.pods[name]) for name in chosen)
        if remaining and all(moves + len(self.pods[name]) > max_moves for name in remaining):
            return MoveRefusals.stop_at_max_moves(max_moves)
        return self._refusals.find_stop() if remaining else MoveRefusals().find_stop()

    def describe_moves(self, freed: list[str], change: Worth, before: float) -> tuple[list[float], list[str]]:
        """Return the objective after each move, an equal share of its node's change, and the reason for each move."""
        values, reasons = [], []
        value = before
        for name in freed:
            number = len(self.pods[name])
            change_per_move = change(name) / number if number else 0.0
            for place in range(number):
                value += change_per_move
                values.append(value)
                reasons.append(f"empties node {name}: pod {place + 1} of {number}")
        return values, reasons
