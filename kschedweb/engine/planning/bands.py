"""A lower bound of the moves after which all nodes lie within a band of levels, if pods landed anywhere.

A band of ``width`` points begins at some level. A node above it has to lose pods; the fewest are its largest ones. A
node below it has to gain some; the fewest are the largest of all. A move does both at best, so the moves are at least
the larger of the two sums, at the level where that is least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats, Ints, Mask
from kschedweb.engine.values import dataclass

# Tolerates rounding of levels, in points, and of sums, as a share.
EPSILON = 1e-9
# Halvings, which bring the level of the crossing to within 1e-11 points.
STEPS = 45
# More moves than there can be.
IMPOSSIBLE = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Levels of nodes, and the movable pods on them."""

    # Percentage points.
    width: float
    # Per cent, by node.
    level: Floats
    # By node.
    allocatable: Floats
    # The nodes that have to lie within the band.
    counted: Mask
    # The position of each movable pod's node.
    node: NDArray[np.intp]
    # What each movable pod uses, in the unit of `allocatable`.
    amount: Floats


def fewest_moves(band: Band) -> int:
    """Return a lower bound of the moves, over all levels at which the band may begin."""
    return _Sums(band).find_fewest_moves()[0]


def best_band(band: Band) -> float:
    """Return where a band begins that takes the fewest moves: around the mean, if that takes no more."""
    sums = _Sums(band)
    moves, low = sums.find_fewest_moves()
    level = band.level[band.counted]
    usual = float(level.mean()) - band.width / 2.0
    return usual if sums.count_moves(usual) <= moves else low


class _Sums:
    """Sums over the largest pods of each node, and of all nodes."""

    def __init__(self, band: Band) -> None:
        self._band = band
        order = np.lexsort((-band.amount, band.node))
        self._amount, node = band.amount[order], band.node[order]
        size = len(band.level)
        self._first: Ints = np.searchsorted(node, np.arange(size + 1), side="left").astype(np.int64)
        self._sums: Floats = np.append(0.0, np.cumsum(self._amount))
        self._largest: Floats = np.append(0.0, np.cumsum(np.sort(band.amount)[::-1]))

    def count_pods_to_lose(self, low: float) -> int:
        """Return how many pods the nodes above the band have to lose."""
        band = self._band
        over = (band.level - low - band.width) / 100.0 * band.allocatable
        rows = np.flatnonzero(band.counted & (band.level > low + band.width + EPSILON))
        return sum(self._largest_of(int(row), float(over[row])) for row in rows)

    def _largest_of(self, node: int, amount: float) -> int:
        first, last = int(self._first[node]), int(self._first[node + 1])
        sums = self._sums[first : last + 1] - self._sums[first]
        return _count_largest(sums, amount)

    def count_pods_to_gain(self, low: float) -> int:
        """Return how many pods the nodes below the band have to gain."""
        band = self._band
        rows = np.flatnonzero(band.counted & (band.level < low - EPSILON))
        under = (low - band.level[rows]) / 100.0 * band.allocatable[rows]
        return sum(_count_largest(self._largest, float(amount)) for amount in under)

    def count_moves(self, low: float) -> int:
        return max(self.count_pods_to_lose(low), self.count_pods_to_gain(low))

    def find_fewest_moves(self) -> tuple[int, float]:
        """Return the fewest moves, and where the band begins for them.

        The higher the band, the fewer pods have to be lost and the more gained: the two numbers cross at one level.
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
    """Return how many of the largest pods add up to ``amount``, by the sums of the first so many."""
    count = int(np.searchsorted(sums, amount * (1.0 - EPSILON) - EPSILON, side="left"))
    return count if count < len(sums) else IMPOSSIBLE
