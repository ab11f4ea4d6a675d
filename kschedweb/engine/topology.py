"""Sums over topology values: how many pods, or how much weight, fall on each value of a node label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.columns import Ints, Mask
from kschedweb.engine.snapshot import Snapshot


class TopologySums:
    """Sums keyed by (label, value). ``recorded`` says whether anything was ever added, were it 0."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._sums: dict[str, Ints] = {}
        self.recorded = False

    def clone(self) -> TopologySums:
        other = TopologySums(self._snapshot)
        other._sums = {key: sums.copy() for key, sums in self._sums.items()}
        other.recorded = self.recorded
        return other

    @property
    def empty(self) -> bool:
        """Whether every sum is 0."""
        return not any(sums.any() for sums in self._sums.values())

    def add(self, key: str, nodes: NDArray[np.int32], weight: int = 1) -> None:
        """Add ``weight`` for each of ``nodes`` (positions, with repetitions) at the node's value of label ``key``."""
        column = self._snapshot.label(key)
        codes = column.codes[nodes]
        codes = codes[codes >= 0]
        if not codes.size:
            return
        self.recorded = True
        sums = self._sums.setdefault(key, np.zeros(len(column.values), dtype=np.int64))
        sums += np.bincount(codes, minlength=len(column.values)) * weight

    def at_nodes(self, key: str) -> Ints:
        """The sum at each node's value of ``key``; 0 where the node has no such label. Shape [nodes]."""
        sums = self._sums.get(key)
        if sums is None:
            return np.zeros(len(self._snapshot), dtype=np.int64)
        return np.append(sums, 0)[self._snapshot.label(key).codes]

    def total_at_nodes(self) -> Ints:
        """The sums of all labels a node has. Shape [nodes]."""
        return sum((self.at_nodes(key) for key in self._sums), np.zeros(len(self._snapshot), dtype=np.int64))

    def positive_at_nodes(self) -> Mask:
        """Which nodes have a label value whose sum is above 0."""
        mask = np.zeros(len(self._snapshot), dtype=np.bool_)
        for key in self._sums:
            mask |= self.at_nodes(key) > 0
        return mask
