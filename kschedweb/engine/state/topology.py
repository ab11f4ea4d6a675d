"""Counts of pods and sums of weights for each value of a node label."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Ints, Mask
from kschedweb.engine.state.label_groups import Selection
from kschedweb.engine.state.pod_table import Follower, PodDelta
from kschedweb.engine.state.snapshot import Snapshot

# By topology key.
Weights = Mapping[str, int]


class SelectionTally(Follower):
    """The number of pods of a selection at each code of ``codes``; code -1 is not counted."""

    def __init__(self, snapshot: Snapshot, selection: Selection, codes: NDArray[np.intp], size: int) -> None:
        super().__init__(snapshot.pods)
        self._selection, self._codes, self._size = selection, codes, size

    def current_counts(self) -> Ints:
        """Return the current counts. The array changes with the next call. Shape [size]."""
        self._catch_up()
        return self._counts

    def _recount_all(self) -> None:
        codes = self._codes[self._pods.nodes_of(self._selection)]
        # `bincount` takes no negative codes, so -1 counts in an entry that is cut off.
        self._counts = np.bincount(codes + 1, minlength=self._size + 1)[1:]

    def _apply_moves(self, moves: list[PodDelta]) -> None:
        meant = self._pods.groups.match_selection(self._selection)
        for move in moves:
            if meant[move.group] and (code := self._codes[move.node]) >= 0:
                self._counts[code] += move.sign


class TopologySums:
    """Sums by (label, value)."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._sums: dict[str, Ints] = {}
        # Counts the amounts added, also those of 0.
        self.number = 0

    def clone(self) -> TopologySums:
        other = TopologySums(self._snapshot)
        other._sums = {key: sums.copy() for key, sums in self._sums.items()}
        other.number = self.number
        return other

    @property
    def is_empty(self) -> bool:
        """True if every sum is 0."""
        return not any(sums.any() for sums in self._sums.values())

    def add_amount(self, key: str, node: int, amount: int, sign: int = 1) -> None:
        """Add ``amount`` at the value of ``key`` of a node; ``sign`` -1 subtracts it again."""
        code = self._snapshot.label_column(key).codes[node]
        if code >= 0:
            self.number += sign
            self._sums_for(key)[code] += sign * amount

    def add_counts(self, key: str, counts: Ints, weight: int = 1) -> None:
        """Add ``weight`` for each pod counted at the values of ``key``; ``counts`` is not changed."""
        self.number += bool(counts.any())
        amounts = counts if weight == 1 else counts * weight
        # The array may belong to a tally, so it is replaced, not written to.
        self._sums[key] = self._sums[key] + amounts if key in self._sums else amounts

    def add_weights(self, key: str, nodes: NDArray[np.int32], weights: Ints) -> None:
        """Add ``weights[i]`` at the value of ``key`` of node ``nodes[i]``."""
        column = self._snapshot.label_column(key)
        codes = column.codes[nodes]
        has_label = codes >= 0
        if has_label.any():
            self.number += int(np.count_nonzero(has_label))
            sums = self._sums_for(key)
            sums += np.bincount(codes[has_label], weights[has_label], len(column.values)).astype(np.int64)

    def _sums_for(self, key: str) -> Ints:
        if key not in self._sums:
            self._sums[key] = np.zeros(len(self._snapshot.label_column(key).values), dtype=np.int64)
        return self._sums[key]

    def at_nodes(self, key: str) -> Ints:
        """Return the sum at each node's value of ``key``; 0 for a node without the label. Shape [nodes]."""
        sums = self._sums.get(key)
        if sums is None:
            return np.zeros(len(self._snapshot), dtype=np.int64)
        return self._snapshot.label_column(key).at_nodes(sums, 0)

    def total_at_nodes(self) -> Ints:
        """Return the sum over all labels of each node. Shape [nodes]."""
        if not self._sums:
            return np.zeros(len(self._snapshot), dtype=np.int64)
        return functools.reduce(np.add, map(self.at_nodes, self._sums))

    def positive_at_nodes(self) -> Mask:
        """Return the mask of the nodes with a label value whose sum is above 0."""
        mask = np.zeros(len(self._snapshot), dtype=np.bool_)
        for key, sums in self._sums.items():
            mask |= self._snapshot.label_column(key).at_nodes(sums > 0, False)
        return mask


class TermTally(Follower):
    """The sums of the affinity terms of bound pods, for pods of one signature.

    ``weigh(code)`` returns the weights of a term set by topology key; ``candidates()`` the sets that may have any.
    """

    def __init__(
        self, snapshot: Snapshot, candidates: Callable[[], list[int]], weigh: Callable[[int], Weights]
    ) -> None:
        super().__init__(snapshot.pods)
        self._snapshot, self._candidates, self._weigh = snapshot, candidates, functools.cache(weigh)

    def current_sums(self) -> TopologySums:
        """Return the current sums, which change with the next call."""
        self._catch_up()
        return self._sums

    def _recount_all(self) -> None:
        self._sums = TopologySums(self._snapshot)
        by_key: dict[str, dict[int, int]] = {}
        for code in self._candidates():
            for key, weight in self._weigh(code).items():
                by_key.setdefault(key, {})[code] = weight
        terms, nodes = self._pods.terms, self._pods.node
        for key, weights in by_key.items():
            table = np.zeros(len(self._pods.term_sets) + 1, dtype=np.int64)
            counts = np.zeros(len(table), dtype=np.bool_)
            codes = list(weights)
            table[codes], counts[codes] = list(weights.values()), True
            slots = np.flatnonzero(counts[terms])  # code -1 reaches the last entry, which never counts
            self._sums.add_weights(key, nodes[slots], table[terms[slots]])

    def _apply_moves(self, moves: list[PodDelta]) -> None:
        for move in moves:
            if move.terms >= 0:
                for key, weight in self._weigh(move.terms).items():
                    self._sums.add_amount(key, move.node, weight, move.sign)
