"""Nodes freed: cordoned, and left with nothing but pods of DaemonSets and static pods."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field
from functools import cached_property

import numpy as np

from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.planning.evictable import OF_THE_NODE
from kschedweb.engine.planning.ground import Ground, Late, never
from kschedweb.engine.planning.packing import Packing
from kschedweb.engine.planning.results import BEST, REACHED, TIME, Bound, Found, PlanError, Stop
from kschedweb.engine.planning.stopping import Refusals
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.table import PriceTable
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

LEAST = 1e-6  # moves: a node that is empty already comes first
FEW = 40  # candidates up to which others are asked anew without one that failed, and it once more beside them
CONTROL_PLANE = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
Worth = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Nodes:
    """As many nodes freed as can be, or ``at_least`` so many."""

    at_least: int | None = None
    name: str = field(default="nodes", init=False)
    unit: str = field(default="nodes", init=False)
    rises: bool = field(default=True, init=False)

    @property
    def target(self) -> float | None:
        return self.at_least

    def gained(self, before: float, value: float) -> float:
        return value - before

    def reached(self, value: float) -> bool:
        return self.at_least is not None and value >= self.at_least

    def search(self, ground: Ground, most: int, price: float) -> Found:
        freeing = Freeing(ground)
        number = len(freeing.empty)

        def bound(value: float) -> Bound:
            return Bound(freeing.fewest(round(value)), float(freeing.packing.most_freed()))

        if self.at_least is not None and self.at_least <= number:
            return Found(float(number), [], [], Refusals.reached(), bound)
        listed = freeing.listed(lambda name: 1.0 - price * len(freeing.pods[name]))
        freed, stop = freeing.free(listed, self.at_least, most)
        values, reasons = freeing.told(freed, lambda name: 1.0, float(number))
        return Found(float(number), values, reasons, stop, bound, tuple(freed), float(len(freed)), freeing.opened)


@dataclass(frozen=True, slots=True)
class Money:
    """Cost an hour saved by nodes that go, over ``hours``; the price of a move is in the same currency."""

    prices: PriceTable
    hours: float = 24.0
    name: str = field(default="money", init=False)
    rises: bool = field(default=False, init=False)

    @property
    def unit(self) -> str:
        return f"{self.prices.currency} in {self.hours:g} h"

    @property
    def target(self) -> float | None:
        return None

    def gained(self, before: float, value: float) -> float:
        return before - value

    def reached(self, value: float) -> bool:
        return False

    def search(self, ground: Ground, most: int, price: float) -> Found:
        """Raises PlanError where no node has a price."""
        freeing, cost = Freeing(ground), _Costs(ground, self)
        before = cost.of([])
        listed = freeing.listed(lambda name: cost.saved(name) - price * len(freeing.pods[name]))
        freed, stop = freeing.free(listed, None, most)
        while len(kept := cost.worthwhile(freed, lambda name: price * len(freeing.pods[name]))) < len(freed):
            late = stop if stop.kind == TIME else None
            freed, stop = freeing.free(kept, None, most, never)
            stop = late or stop
        values, reasons = freeing.told(freed, lambda name: -cost.saved(name, freed[: freed.index(name)]), before)

        def bound(_: float) -> Bound:
            return Bound(freeing.fewest(len(freed)), float(freeing.packing.least_cost(cost.lowest())))

        return Found(before, values, reasons, stop, bound, tuple(freed), cost.of(freed), freeing.opened)


class _Costs:
    """What nodes cost over the hours that count."""

    def __init__(self, ground: Ground, money: Money) -> None:
        self._index, self._hours = ground.snapshot.index, money.hours
        self._rates = Rates.of(money.prices, [node.labels for node in ground.snapshot.nodes])
        self._there = np.ones(len(self._index), dtype=np.bool_)
        if np.isnan(self._rates.price).all():
            raise PlanError("the table has no price for any node of the cluster")

    def of(self, gone: Collection[str]) -> float:
        """What the cluster costs without the nodes ``gone``; nodes without a price count as 0."""
        there = self._there.copy()
        there[[self._index[name] for name in gone]] = False
        return float(np.nansum(self._rates.hourly(there)[there])) * self._hours

    def saved(self, name: str, gone: Collection[str] = ()) -> float:
        """What it saves that this node goes after the nodes ``gone``."""
        return self.of(gone) - self.of([*gone, name])

    def worthwhile(self, freed: list[str], price: Worth) -> list[str]:
        """Those that are worth their moves: with commitments a node may save less once others are gone."""
        while freed and (poor := self.poor(freed, price)):
            freed = [name for name in freed if name != poor]
        return freed

    def poor(self, freed: list[str], price: Worth) -> str:
        """A node that saves less than its moves cost, "" where there is none; the last one first."""
        last = range(len(freed) - 1, -1, -1)
        return next((freed[at] for at in last if self.saved(freed[at], freed[:at]) <= price(freed[at])), "")

    def lowest(self) -> Floats:
        """The least that each node may cost, with every discount that covers it. Shape [nodes]."""
        rates = self._rates
        least = np.nan_to_num(rates.price.copy())
        table = rates.table
        if table is None:
            return least
        for row, commitment in enumerate(table.commitments):
            discounted = np.nan_to_num(rates.price) * (1.0 - commitment.discount / 100.0)
            covered = rates.covered[row]
            least = np.where(covered, np.minimum(least, discounted), least)
        cost: Floats = np.where(np.isnan(rates.price), 0.0, least + table.per_node) * self._hours
        return cost


class Freeing:
    """Empties nodes on the ground. ``pods`` are those to be moved, by node; ``empty`` the nodes that are so already.

    Those are cordoned before all others, so that nothing is put there.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.pods = ground.on()
        there = {name: 0 for name in self.pods}
        stuck = set()
        for pod in filter(None, ground.snapshot.pods.pods):
            why = ground.stays.get(pod.key, "")
            if why not in OF_THE_NODE:
                there[pod.node_name] += 1
                if why:
                    stuck.add(pod.node_name)
        stuck |= {node.name for node in ground.snapshot.nodes if not CONTROL_PLANE.isdisjoint(node.labels)}
        self.empty = frozenset(name for name, number in there.items() if not number and name not in stuck)
        self.stuck = frozenset(stuck)
        self._refusals = Refusals()

    @cached_property
    def packing(self) -> Packing:
        return Packing(self.ground, self.stuck)

    @property
    def candidates(self) -> list[str]:
        return [name for name in self.pods if name not in self.stuck]

    def fewest(self, number: int) -> int:
        """The fewest moves after which so many nodes are empty."""
        return sum(sorted(len(self.pods[name]) for name in self.candidates)[: max(number, 0)])

    def listed(self, worth: Worth) -> list[str]:
        """Nodes whose going is worth its moves: what is worth most a move first, of those the least requested."""
        snapshot = self.ground.snapshot
        requested = snapshot.amounts(snapshot.requested, CPU)
        found = [(worth(name), name) for name in self.candidates]
        keyed = [
            (-value / max(len(self.pods[name]), LEAST), int(requested[snapshot.index[name]]), name)
            for value, name in found
            if value > 0
        ]
        return [name for _, _, name in sorted(keyed)]

    def free(
        self, listed: list[str], wanted: int | None, most: int, late: Late | None = None
    ) -> tuple[list[str], Stop]:
        """Empty ``wanted`` of the nodes, or as many as can be, with at most so many moves.

        All nodes that are to go are cordoned first. Where one cannot be emptied the others are asked anew without it;
        where many nodes could go it stays cordoned instead until the moves are done, and is then ``opened``.
        So do all others once ``late``, by default the ground's, says so.
        """
        failed: dict[str, None] = {}
        late = late or self.ground.late
        self.opened: tuple[str, ...] = ()
        bound = self.packing.most_freed()  # before any node is cordoned
        limit = bound if wanted is None else wanted
        chosen = self._choose(listed, failed, limit, most)
        while chosen:
            done = self._tried(chosen, late)
            if late() or (wanted is None and len(listed) > FEW):
                there = frozenset(done)
                self.opened = tuple(name for name in chosen if name not in there)
                chosen = done
                break
            if len(done) == len(chosen):
                break
            failed |= dict.fromkeys(name for name in chosen if name not in done)
            chosen = done if wanted is None else self._choose(listed, failed, limit, most)
        else:
            self._tried([])
        if wanted is None and len(listed) <= FEW and not late():
            chosen = self._one_more(chosen, listed, most, late)
        stop = self._stop(chosen, listed, wanted, most)
        return chosen, Refusals.late() if late() and stop.kind not in (REACHED, BEST) else stop

    def _choose(self, listed: list[str], failed: Collection[str], limit: int, most: int) -> list[str]:
        chosen: list[str] = []
        moves = 0
        for name in listed:
            if name not in failed and len(chosen) < limit and moves + len(self.pods[name]) <= most:
                chosen.append(name)
                moves += len(self.pods[name])
        return chosen

    def _one_more(self, chosen: list[str], listed: list[str], most: int, late: Late) -> list[str]:
        """Try each other node beside those that can go."""
        for name in listed:
            if late():
                break
            if name not in chosen and sum(len(self.pods[one]) for one in (*chosen, name)) <= most:
                wider = sorted([*chosen, name], key=listed.index)
                if len(self._tried(wider)) == len(wider):
                    chosen = wider
        self._tried(chosen)
        return chosen

    def _tried(self, chosen: list[str], late: Late = never) -> list[str]:
        """Empty these nodes from the beginning, until it is ``late``; returns those that could be."""
        self.ground.rollback(0)
        self.ground.cordon(chosen)
        closed = frozenset(chosen)
        return [name for name in chosen if not late() and self._emptied(name, closed)]

    def _emptied(self, name: str, closed: Collection[str]) -> bool:
        """Move all pods of the node, or none."""
        mark = self.ground.mark()
        todo = sorted(self.pods[name], key=lambda pod: (-pod.requests.get(CPU, 0), pod.key))
        while todo:
            tried = [(pod, self.ground.move(pod, closed)) for pod in todo]
            left = [pod for pod, one in tried if not one.node]
            if len(left) == len(todo) and not self.ground.wave_begun:
                for _, one in tried:
                    self._refusals.heard(one, gained=True)
                self.ground.rollback(mark)
                return False
            if left:
                self.ground.end_wave()
            todo = left
        return True

    def _stop(self, chosen: list[str], listed: list[str], wanted: int | None, most: int) -> Stop:
        if wanted is not None and len(chosen) >= wanted:
            return Refusals.reached()
        if len(chosen) >= self.packing.most_freed():
            return Stop(BEST, "No more nodes can go: the others must hold what the pods request.")
        others = [name for name in listed if name not in chosen]
        moves = sum(len(self.pods[name]) for name in chosen)
        if others and all(moves + len(self.pods[name]) > most for name in others):
            return Refusals.most(most)
        return self._refusals.stop() if others else Refusals().stop()

    def told(self, freed: list[str], change: Worth, before: float) -> tuple[list[float], list[str]]:
        """The objective after each move, each with its part of what its node changes, and why each is made."""
        values, reasons = [], []
        value = before
        for name in freed:
            number = len(self.pods[name])
            each = change(name) / number if number else 0.0
            for place in range(number):
                value += each
                values.append(value)
                reasons.append(f"empties node {name}: pod {place + 1} of {number}")
        return values, reasons
