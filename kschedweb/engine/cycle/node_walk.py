"""The walk over the nodes: where it begins, when enough feasible nodes are found, and which of the best is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE, FilterColumn
from kschedweb.engine.framework.status import Code, Status
from kschedweb.engine.state.columns import Codes, Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

NOTHING_MORE: Mapping[str, Status] = {}
NOWHERE: int = np.iinfo(np.int32).max
NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Filtered:
    """What the filters say of each node.

    ``first`` int32[nodes] is the position of the first of ``columns`` that rejects the node, NOWHERE where none does;
    ``feasible`` are the positions of the nodes that pass, ``considered_nodes`` of those that are looked at. Both are in
    node order, and ``None`` for all nodes.
    """

    columns: list[FilterColumn]
    first: Codes
    feasible: NDArray[np.intp]
    considered_nodes: NDArray[np.intp] | None = None

    @classmethod
    def from_columns(cls, columns: list[FilterColumn], size: int) -> Filtered:
        """Of ``size`` nodes, all of which are looked at."""
        first: Codes = np.full(size, NOWHERE, dtype=np.int32)
        for position, column in enumerate(columns):
            first = merge_first_rejections(first, column, position)
        return cls(columns, first, np.flatnonzero(first == NOWHERE))

    @property
    def considered_count(self) -> int:
        return len(self.first) if self.considered_nodes is None else len(self.considered_nodes)

    def with_nominated_column(self, nominated: FilterColumn | None) -> Filtered:
        """With one more column, before all others: what the filters say if nominated pods count."""
        if nominated is None:
            return self
        later = np.where(self.first == NOWHERE, self.first, self.first + 1)
        first = np.where(nominated.codes != 0, np.int32(0), later)
        return Filtered([nominated, *self.columns], first, np.flatnonzero(first == NOWHERE))

    def restrict_to(self, nodes: NDArray[np.intp]) -> Filtered:
        """Looking at the nodes ``nodes`` only."""
        return replace(self, feasible=nodes[self.first[nodes] == NOWHERE], considered_nodes=nodes)

    def looks_at(self, node: int) -> bool:
        return self.considered_nodes is None or node in self.considered_nodes

    def is_feasible(self, node: int) -> bool:
        return self.looks_at(node) and bool(self.first[node] == NOWHERE)

    def is_rejected(self, node: int) -> bool:
        """Whether a filter rejected the node, rather than failed."""
        return self.looks_at(node) and self.first[node] != NOWHERE and self.status(node).code is not Code.ERROR

    def status(self, node: int) -> Status:
        """The status of the first filter that rejects the node."""
        column = self.columns[int(self.first[node])]
        return column.verdicts[int(column.codes[node])]

    def find_failing_nodes(self) -> NDArray[np.intp]:
        """The nodes where a filter fails, rather than rejecting them: to visit one ends the cycle."""
        failing = []
        for position, column in enumerate(self.columns):
            if len(column.verdicts) == 1:
                continue
            if codes := [code for code, status in enumerate(column.verdicts) if status.code is Code.ERROR]:
                failing.append(np.flatnonzero((self.first == position) & np.isin(column.codes, codes)))
        if not failing:
            return NONE
        nodes = np.sort(np.concatenate(failing))
        return nodes if self.considered_nodes is None else nodes[np.isin(nodes, self.considered_nodes)]

    def to_diagnosis(
        self,
        snapshot: Snapshot,
        absent: Status,
        start: int = 0,
        visited: int | None = None,
        extra: Mapping[str, Status] = NOTHING_MORE,
    ) -> Diagnosis:
        """The same for PostFilter and for messages: what a walk from ``start`` on knows of the nodes it ``visited``."""
        rejected_by = np.where(self.first == NOWHERE, np.int32(FEASIBLE), self.first)
        visited_nodes = (
            np.arange(len(rejected_by), dtype=np.intp) if self.considered_nodes is None else self.considered_nodes
        )
        if visited is not None:
            visited_nodes = np.roll(visited_nodes, -(start % max(len(visited_nodes), 1)))[:visited]
        if len(visited_nodes) < len(rejected_by):
            excluded = np.ones(len(rejected_by), dtype=np.bool_)
            excluded[visited_nodes] = False
            rejected_by[excluded] = EXCLUDED
        return Diagnosis(snapshot.names, snapshot.index, self.columns, rejected_by, absent, extra=dict(extra))


def merge_first_rejections(first: Codes, column: FilterColumn, position: int) -> Codes:
    """``first``, with the ``position`` of ``column`` where that rejects a node that no earlier filter does."""
    if len(column.verdicts) == 1:
        return first
    rejects = column.codes != 0
    return np.where(rejects, np.minimum(first, np.int32(position)), first) if rejects.any() else first


@dataclass(frozen=True, slots=True)
class FoundNodes:
    """``feasible`` nodes in the order of the walk, how many nodes were evaluated, and the failure that ended it.

    ``visited`` is how many nodes the walk came to. The nominated node may have been evaluated without being visited.
    """

    feasible: NDArray[np.intp]
    evaluated: int
    visited: int
    error: Status | None = None


def find_nodes_that_pass_filters(
    filtered: Filtered, start: int, num_nodes_to_find: int, rejected: int = -1
) -> FoundNodes:
    """Walk once around the nodes from ``start`` on, at most up to a feasible node beyond ``num_nodes_to_find`` others.

    The node ``rejected`` (-1: none) was visited before, being nominated: it counts as evaluated in any case.
    """
    size = filtered.considered_count
    start %= max(size, 1)

    def compute_turns(nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """When the walk comes to each of ``nodes``."""
        ranks = nodes if filtered.considered_nodes is None else np.searchsorted(filtered.considered_nodes, nodes)
        turns: NDArray[np.intp] = (ranks - start) % size
        return turns

    feasible, visited, failure = filtered.feasible, size, None
    if start and feasible.size:
        # The nodes are in order: the walk comes first to those from where it starts.
        first = int(
            np.searchsorted(feasible, start if filtered.considered_nodes is None else filtered.considered_nodes[start])
        )
        if 0 < first < len(feasible):
            feasible = np.concatenate((feasible[first:], feasible[:first]))
    if len(feasible) > num_nodes_to_find:
        visited = int(compute_turns(feasible[num_nodes_to_find : num_nodes_to_find + 1])[0])
        feasible = feasible[:num_nodes_to_find]
    failing = filtered.find_failing_nodes()
    if failing.size and (ends := compute_turns(failing)).min() < visited:
        visited, failure = int(ends.min()), filtered.status(int(failing[ends.argmin()]))
        feasible = feasible[compute_turns(feasible) < visited]
    beyond = rejected >= 0 and (not filtered.looks_at(rejected) or compute_turns(np.array([rejected]))[0] >= visited)
    return FoundNodes(feasible, visited + int(beyond), visited, failure)


def heap_root(totals: Ints) -> int:
    """The position kube-scheduler's heap brings to the root: it decides which of several best nodes is taken.

    Building a max-heap is a tournament up a binary tree: a parent gives way only to a strictly better child, and the
    left child to a strictly better right one. So the winner is the best node that comes first when the tree is walked
    from the root down, left before right.
    """
    best = find_highest(totals)
    return int(best[np.argmin(_walk_of_tree(len(totals).bit_length())[best])]) if len(best) > 1 else int(best[0])


def find_highest(totals: Ints) -> NDArray[np.intp]:
    """The positions of all that are best."""
    return np.flatnonzero(totals == totals.max())


def compute_lead(totals: Ints) -> int:
    """By how much the best of at least two totals is above the next best; 0 where several are best."""
    next_best, best = np.partition(totals, -2)[-2:]
    return int(best - next_best)


class Walk(NamedTuple):
    """The places of a heap in the order in which its tree is walked, and when the walk comes to each place."""

    places: NDArray[np.intp]
    turns: list[int]


@lru_cache(maxsize=8)
def walk_order(size: int) -> Walk:
    """Of a heap of ``size``: of several best, that which is first in this order comes to the root."""
    places = np.argsort(_walk_of_tree(size.bit_length())[:size])
    turns = np.empty_like(places)
    turns[places] = np.arange(size)
    return Walk(places, turns.tolist())


@cache
def _walk_of_tree(depth: int) -> Ints:
    """Keys that sort the positions of a binary tree of ``depth`` levels as a walk down from its root meets them."""
    numbers = np.arange(1, 1 << depth, dtype=np.int64)
    levels = np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    # The path from the root, written as bits from the highest on; an ancestor comes before what is below it.
    return (numbers << (depth - levels)) * (depth + 1) + levels


def find_positions(snapshot: Snapshot, names: frozenset[str]) -> NDArray[np.intp]:
    """The positions of those of the nodes that exist, in node order."""
    return np.array(sorted(snapshot.index[name] for name in names if name in snapshot.index), dtype=np.intp)
