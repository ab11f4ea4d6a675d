"""The fewest moves after which all nodes lie within a band, if pods landed wherever one likes.

A band of ``width`` points begins at some level. A node above it has to lose pods; the fewest are its largest. A node
below it has to gain some; the fewest are the largest of all. A move does both at best, so that the number of moves is
at least the larger of the two sums, for the level at which that is least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats, Ints, Mask
from kschedweb.engine.values import dataclass

EPSILON = 1e-9
STEPS = 45
IMPOSSIBLE = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """``level`` is in percent, ``amount`` what the movable pods use, in the unit of ``allocatable``."""

    width: float
    level: Floats
    allocatable: Floats
    counted: Mask
    node: NDArray[np.intp]
    amount: Floats


def fewest_moves(band: Band) -> int:
    """A lower bound of the moves, over all levels at which the band may begin."""
    return _Sums(band).find_fewest_moves()[0]


def best_band(band: Band) -> float:
    """Where a band begins that takes the fewest moves: about the mean, where that does."""
    sums = _Sums(band)
    moves, low = sums.find_fewest_moves()
    level = band.level[band.counted]
    usual = float(level.mean()) - band.width / 2.0
    return usual if sums.count_moves(usual) <= moves else low


class _Sums:
    """Sums over the largest pods of each node, and of all."""

    def __init__(self, band: Band) -> None:
        self._band = band
        order = np.lexsort((-band.amount, band.node))
        self._amount, node = band.amount[order], band.node[order]
        size = len(band.level)
        self._first: Ints = np.searchsorted(node, np.arange(size + 1), side="left").astype(np.int64)
        self._sums: Floats = np.append(0.0, np.cumsum(self._amount))
        self._largest: Floats = np.append(0.0, np.cumsum(np.sort(band.amount)[::-1]))

    def count_pods_to_lose(self, low: float) -> int:
        """How many pods nodes above the band have to lose."""
        band = self._band
        over = (band.level - low - band.width) / 100.0 * band.allocatable
        rows = np.flatnonzero(band.counted & (band.level > low + band.width + EPSILON))
        return sum(self._largest_of(int(row), float(over[row])) for row in rows)

    def _largest_of(self, node: int, amount: float) -> int:
        first, last = int(self._first[node]), int(self._first[node + 1])
        sums = self._sums[first : last + 1] - self._sums[first]
        return _count_largest(sums, amount)

    def count_pods_to_gain(self, low: float) -> int:
        """How many pods nodes below the band have to gain."""
        band = self._band
        rows = np.flatnonzero(band.counted & (band.level < low - EPSILON))
        under = (low - band.level[rows]) / 100.0 * band.allocatable[rows]
        return sum(_count_largest(self._largest, float(amount)) for amount in under)

    def count_moves(self, low: float) -> int:
        return max(self.count_pods_to_lose(low), self.count_pods_to_gain(low))

    def find_fewest_moves(self) -> tuple[int, float]:
        """The fewest moves, and where the band begins for that.

        The higher the band, the fewer pods are to be lost and the more gained: the two cross at one level.
        """
        level = self._band.level[self._band.counted]
        low, high = float(level.min()), max(float(level.min()), float(level.max()) - self._band.width)
        if self.count_pods_to_lose(low) <= self.count_pods_to_gain(low):
            return self.count_moves(low), low
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            low, high = (
                (middle, high) if self.count_pods_to_lose(middle) > self.count_pods_to_gain(middle) else (low, middle)
            )
        # Just below the crossing less is gained, just above less is lost.
        at = min((low, high), key=self.count_moves)
        return min(self.count_moves(at), max(self.count_pods_to_lose(high), self.count_pods_to_gain(low))), at


def _count_largest(sums: Floats, amount: float) -> int:
    """How many of the largest come to ``amount``, by the sums of the first so many."""
    count = int(np.searchsorted(sums, amount * (1.0 - EPSILON) - EPSILON, side="left"))
    return count if count < len(sums) else IMPOSSIBLE
