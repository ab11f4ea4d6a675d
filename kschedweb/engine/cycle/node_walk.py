"""The walk over the nodes: where it begins, when it ends, and which of the best nodes is chosen."""

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
# Larger than the position of any filter, so that the minimum finds the first that rejects a node.
NOWHERE: int = np.iinfo(np.int32).max
NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Filtered:
    """The results of the filters on all nodes."""

    columns: list[FilterColumn]
    # int32[nodes]: the position of the first of `columns` that rejects the node, NOWHERE if none does.
    first: Codes
    # The positions of the nodes that pass, in node order.
    feasible: NDArray[np.intp]
    # The positions of the nodes to look at, in node order; None for all nodes.
    considered_nodes: NDArray[np.intp] | None = None

    @classmethod
    def from_columns(cls, columns: list[FilterColumn], size: int) -> Filtered:
        """Create it from columns of ``size`` nodes, all of which are looked at."""
        first: Codes = np.full(size, NOWHERE, dtype=np.int32)
        for position, column in enumerate(columns):
            first = merge_first_rejections(first, column, position)
        return cls(columns, first, np.flatnonzero(first == NOWHERE))

    @property
    def considered_count(self) -> int:
        return len(self.first) if self.considered_nodes is None else len(self.considered_nodes)

    def with_nominated_column(self, nominated: FilterColumn | None) -> Filtered:
        """Return it with a first column: the verdicts that hold if nominated pods are counted."""
        if nominated is None:
            return self
        later = np.where(self.first == NOWHERE, self.first, self.first + 1)
        first = np.where(nominated.codes != 0, np.int32(0), later)
        return Filtered([nominated, *self.columns], first, np.flatnonzero(first == NOWHERE))

    def restrict_to(self, nodes: NDArray[np.intp]) -> Filtered:
        """Return it restricted to ``nodes``."""
        return replace(self, feasible=nodes[self.first[nodes] == NOWHERE], considered_nodes=nodes)

    def looks_at(self, node: int) -> bool:
        return self.considered_nodes is None or node in self.considered_nodes

    def is_feasible(self, node: int) -> bool:
        return self.looks_at(node) and bool(self.first[node] == NOWHERE)

    def is_rejected(self, node: int) -> bool:
        """Return whether a filter rejects the node, as opposed to failing on it."""
        return self.looks_at(node) and self.first[node] != NOWHERE and self.status(node).code is not Code.ERROR

    def status(self, node: int) -> Status:
        """Return the status of the first filter that rejects the node."""
        column = self.columns[int(self.first[node])]
        return column.verdicts[int(column.codes[node])]

    def find_failing_nodes(self) -> NDArray[np.intp]:
        """Return the nodes on which a filter fails; visiting one of them ends the cycle with an error."""
        failing = []
        for position, column in enumerate(self.columns):
            # A single verdict is success: this column rejects no node.
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
        """Convert it for PostFilter and messages, limited to the nodes that a walk from ``start`` ``visited``."""
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
    """Return ``first`` with ``position`` where ``column`` rejects a node that no earlier filter rejects."""
    if len(column.verdicts) == 1:
        return first
    rejects = column.codes != 0
    return np.where(rejects, np.minimum(first, np.int32(position)), first) if rejects.any() else first


@dataclass(frozen=True, slots=True)
class FoundNodes:
    """The result of a walk over the nodes."""

    # In the order of the walk.
    feasible: NDArray[np.intp]
    # How many nodes were filtered; the nominated node may be one without having been visited.
    evaluated: int
    # How many nodes the walk passed.
    visited: int
    # The failure that ended the walk.
    error: Status | None = None


def find_nodes_that_pass_filters(
    filtered: Filtered, start: int, num_nodes_to_find: int, rejected: int = -1
) -> FoundNodes:
    """Walk once around the nodes from ``start`` until ``num_nodes_to_find`` are feasible.

    The walk ends before the next feasible node. The node ``rejected`` (-1: none) was tried before the walk because it
    is nominated, and counts as evaluated in any case.
    """
    size = filtered.considered_count
    start %= max(size, 1)

    def compute_turns(nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return when the walk comes to each of ``nodes``."""
        ranks = nodes if filtered.considered_nodes is None else np.searchsorted(filtered.considered_nodes, nodes)
        turns: NDArray[np.intp] = (ranks - start) % size
        return turns

    feasible, visited, failure = filtered.feasible, size, None
    if start and feasible.size:
        # Rotating the ordered positions gives the order of the walk without sorting.
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


def find_ranked_nodes(filtered: Filtered, start: int, num_nodes_to_find: int, ranks: Ints) -> FoundNodes:
    """Walk through the nodes by rank, of equal ones as from ``start``, until ``num_nodes_to_find`` are feasible."""
    nodes = filtered.considered_nodes
    if nodes is None:
        nodes = np.arange(len(filtered.first), dtype=np.intp)
    order = np.roll(nodes, -(start % max(len(nodes), 1)))
    order = order[np.argsort(ranks[order], kind="stable")]
    passes, visited, failure = filtered.first[order] == NOWHERE, len(order), None
    if passes.sum() > num_nodes_to_find:
        visited = int(np.flatnonzero(passes)[num_nodes_to_find])
    failing = np.flatnonzero(np.isin(order, filtered.find_failing_nodes()))
    if failing.size and failing[0] < visited:
        visited, failure = int(failing[0]), filtered.status(int(order[failing[0]]))
    return FoundNodes(order[:visited][passes[:visited]], visited, visited, failure)


def heap_root(totals: Ints) -> int:
    """Return the position that kube-scheduler's heap brings to the root, which decides between equally good nodes.

    Building a max-heap is a tournament up a binary tree: a parent yields only to a strictly better child, and the left
    child only to a strictly better right one. So the winner is the best node that comes first when the tree is walked
    from the root down, left before right.
    """
    best = find_highest(totals)
    return int(best[np.argmin(_walk_of_tree(len(totals).bit_length())[best])]) if len(best) > 1 else int(best[0])


def find_highest(totals: Ints) -> NDArray[np.intp]:
    """Return the positions of all that have the highest total."""
    return np.flatnonzero(totals == totals.max())


def compute_lead(totals: Ints) -> int:
    """Return by how much the best of at least two totals exceeds the next best; 0 if several are best."""
    next_best, best = np.partition(totals, -2)[-2:]
    return int(best - next_best)


class Walk(NamedTuple):
    """A walk over the tree of a heap: its places in order, and the turn of each place."""

    places: NDArray[np.intp]
    turns: list[int]


@lru_cache(maxsize=8)
def walk_order(size: int) -> Walk:
    """Return the walk over a heap of ``size``; the best node that comes first in it ends up at the root."""
    places = np.argsort(_walk_of_tree(size.bit_length())[:size])
    turns = np.empty_like(places)
    turns[places] = np.arange(size)
    return Walk(places, turns.tolist())


@cache
def _walk_of_tree(depth: int) -> Ints:
    """Return keys that sort the positions of a binary tree of ``depth`` levels by a walk down from its root."""
    numbers = np.arange(1, 1 << depth, dtype=np.int64)
    # frexp gives the number of bits, which is the level in the tree.
    levels = np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    # The path from the root as bits, the highest first; the level puts an ancestor before its descendants.
    return (numbers << (depth - levels)) * (depth + 1) + levels


def find_positions(snapshot: Snapshot, names: frozenset[str]) -> NDArray[np.intp]:
    """Return the positions of the named nodes that exist, in node order."""
    return np.array(sorted(snapshot.index[name] for name in names if name in snapshot.index), dtype=np.intp)
