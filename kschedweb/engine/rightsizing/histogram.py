"""Decaying histograms, one for each row: a sample weighs half as much as one that is a half-life younger.

Buckets grow by 5 %. A bucket whose weight is below ``EPSILON`` counts as empty, but keeps its weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.rightsizing.go_floats import Floats, exp2, log, power

Ints: TypeAlias = NDArray[np.int64]
# The original's growth of buckets and `epsilon`.
RATIO, EPSILON = 1.05, 0.0001
# Half-lives: a sample that is farther from the reference moves it, so that no weight overflows.
FARTHEST = 100
# The longest half-life in nanoseconds: the original multiplies it by `FARTHEST` in 64 bits.
LONGEST = (2**63 - 1) // FARTHEST
_LOG_RATIO = log(np.array([RATIO]))
# Nanoseconds from the year 1, which Go's `Time.Round` counts from, to the epoch.
_YEAR_ONE = 62_135_596_800 * 10**9
# An exponent of 2 that turns any weight into 0.
_NONE = -(2**14)


class Buckets:
    """Buckets that grow by 5 %. The first is [0, ``first``); the last has no end and starts at ``maximum`` or above."""

    def __init__(self, first: float, maximum: float) -> None:
        self.first = first
        self.count = int(np.ceil(self._compute_position(np.array([maximum]))[0])) + 1
        powers = np.array([power(RATIO, place) for place in range(self.count)])
        # float64[buckets].
        self.starts: Floats = first * (powers - 1) / (RATIO - 1)

    def find_buckets(self, values: Floats) -> Ints:
        """Return the bucket of each value, which is 0 or more."""
        places = self._compute_position(np.maximum(values, self.first)).astype(np.int64)
        return np.where(values < self.first, 0, np.minimum(places, self.count - 1))

    def _compute_position(self, values: Floats) -> Floats:
        position: Floats = log(values * (RATIO - 1) / self.first + 1) / _LOG_RATIO
        return position


# Cores.
CPU_BUCKETS = Buckets(0.01, 1000.0)
# Bytes.
MEMORY_BUCKETS = Buckets(1e7, 1e12)


class Histograms:
    """Histograms over the same buckets, one for each row.

    Times are int64 nanoseconds of the epoch, from 1970 to 2200.
    """

    def __init__(self, buckets: Buckets, half_life: int, rows: int) -> None:
        self.buckets, self.half_life = buckets, half_life
        # float64[rows, buckets].
        self.weights: Floats = np.zeros((rows, buckets.count))
        self.total: Floats = np.zeros(rows)
        # The first bucket that is not empty; the last bucket if all are.
        self._low: Ints = np.full(rows, buckets.count - 1)
        # The last bucket that is not empty; the first bucket if all are.
        self._high: Ints = np.zeros(rows, np.int64)
        # Samples of this time keep their weight, and younger ones weigh more, so that old ones need no update.
        self._reference: Ints = np.zeros(rows, np.int64)
        self._initialized = np.zeros(rows, bool)

    def add_samples(self, rows: Ints, values: Floats, weight: float, times: Ints) -> None:
        """Add samples, one after the other, each to its row."""
        buckets = self.buckets.find_buckets(values)
        for places, amounts in self._weigh_samples(rows, weight, times):
            self._add_weights(rows[places], buckets[places], amounts)

    def replace_samples(self, rows: Ints, replaced: Floats, values: Floats, weight: float, times: Ints) -> None:
        """Add samples, one after the other; one that replaces an earlier sample of its time has that subtracted first.

        ``replaced`` is the value of the earlier sample, 0 for none.
        """
        buckets, earlier_buckets = self.buckets.find_buckets(values), self.buckets.find_buckets(replaced)
        for places, amounts in self._weigh_samples(rows, weight, times):
            # Those of different rows are added side by side.
            for turn in _split_turns(rows[places]):
                at = places[turn]
                replacing = replaced[at] > 0
                changed = at[replacing]
                self._subtract_weights(rows[changed], earlier_buckets[changed], amounts[turn[replacing]])
                self._add_weights(rows[at], buckets[at], amounts[turn])

    def percentile(self, share: float) -> Floats:
        """Return the end of the bucket up to which ``share`` of the weight lies; 0 for an empty histogram.

        float64[rows].
        """
        rows, places = np.arange(len(self.total)), np.arange(self.buckets.count)
        in_range = (places >= self._low[:, None]) & (places < self._high[:, None])
        # Bucket by bucket, in the order in which the original adds.
        sums = np.cumsum(np.where(in_range, self.weights, 0.0), axis=1)
        enough = in_range & (sums >= (share * self.total)[:, None])
        last = np.maximum(self._low, self._high)
        bucket = np.where(enough.any(axis=1), enough.argmax(axis=1), last)
        ends = self.buckets.starts[np.minimum(bucket + 1, self.buckets.count - 1)]
        return np.where(self.weights[rows, self._low] < EPSILON, 0.0, ends)

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Return the whole state of the rows as columns."""
        return {
            "weights": self.weights,
            "total": self.total,
            "low": self._low,
            "high": self._high,
            "reference": self._reference,
            "begun": self._initialized,
        }

    def copy_rows(self, columns: Mapping[str, NDArray[Any]], source: Ints, target: Ints) -> None:
        """Copy the rows ``source`` of another one's ``columns`` to the rows ``target`` of this one."""
        for name, column in self.to_columns().items():
            column[target] = columns[name][source]

    def _weigh_samples(self, rows: Ints, weight: float, times: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Yield the places of samples with their weights, those together that are weighed by the same references."""
        left = np.arange(len(rows))
        while len(left):
            late = self._find_late(rows[left], times[left])
            # Samples before a row's first late one are weighed by the old reference.
            first = np.full(len(self.total), len(left))
            np.minimum.at(first, rows[left[late]], np.flatnonzero(late))
            now = np.arange(len(left)) < first[rows[left]]
            places = left[now]
            yield places, weight * self._decay_factor(rows[places], times[places])
            if not late.any():
                return
            moved = np.flatnonzero(first < len(left))
            self._shift_reference_timestamp(moved, times[left[first[moved]]])
            left = left[~now]

    def _find_late(self, rows: Ints, times: Ints) -> NDArray[np.bool_]:
        return ~self._initialized[rows] | (times - self._reference[rows] > FARTHEST * self.half_life)

    def _decay_factor(self, rows: Ints, times: Ints) -> Floats:
        return exp2((times - self._reference[rows]).astype(np.float64) / self.half_life)

    def _add_weights(self, rows: Ints, buckets: Ints, amounts: Floats) -> None:
        np.add.at(self.weights, (rows, buckets), amounts)
        np.add.at(self.total, rows, amounts)
        filled = self.weights[rows, buckets] >= EPSILON
        np.minimum.at(self._low, rows[filled], buckets[filled])
        np.maximum.at(self._high, rows[filled], buckets[filled])

    def _subtract_weights(self, rows: Ints, buckets: Ints, amounts: Floats) -> None:
        """Subtract the weights of samples that were added before; each row occurs at most once."""
        self.total[rows] = _subtract_weights(self.total[rows], amounts)
        self.weights[rows, buckets] = remaining = _subtract_weights(self.weights[rows, buckets], amounts)
        emptied = rows[remaining < EPSILON]
        if len(emptied):
            self._update_min_and_max_bucket(emptied)

    def _shift_reference_timestamp(self, rows: Ints, times: Ints) -> None:
        """Set the reference to the multiple of the half-life nearest to ``times``, halves rounded up.

        As `shiftReferenceTimestamp` does.
        """
        over = (times % self.half_life + _YEAR_ONE % self.half_life) % self.half_life
        reference = times - over + np.where(2 * over >= self.half_life, self.half_life, 0)
        shift = (self._reference[rows] - reference).astype(np.float64) / self.half_life
        exponent = np.where(self._initialized[rows], np.maximum(np.floor(shift + 0.5), _NONE), 0)
        # A power of 2 scales weights without rounding.
        factor = np.ldexp(1.0, exponent.astype(np.int64))
        places = np.arange(self.buckets.count)
        in_range = (places >= self._low[rows, None]) & (places <= self._high[rows, None])
        self.weights[rows] *= np.where(in_range, factor[:, None], 1.0)
        self.total[rows] *= factor
        self._reference[rows], self._initialized[rows] = reference, True
        self._update_min_and_max_bucket(rows)

    def _update_min_and_max_bucket(self, rows: Ints) -> None:
        """Find the first and last bucket that is not empty, after weights became smaller."""
        places, filled = np.arange(self.buckets.count), self.weights[rows] >= EPSILON
        upward, downward = (places >= self._low[rows, None]) & filled, (places <= self._high[rows, None]) & filled
        self._low[rows] = np.where(upward.any(axis=1), upward.argmax(axis=1), self.buckets.count - 1)
        last = self.buckets.count - 1 - downward[:, ::-1].argmax(axis=1)
        self._high[rows] = np.where(downward.any(axis=1), last, 0)


def _split_turns(rows: Ints) -> list[Ints]:
    """Return the places of ``rows`` by turn: the first place of each row, then the second of each, and so on."""
    by_row = np.argsort(rows, kind="stable")
    ordered = rows[by_row]
    turns = np.empty(len(rows), np.int64)
    turns[by_row] = np.arange(len(rows)) - np.searchsorted(ordered, ordered)
    return np.split(np.argsort(turns, kind="stable"), np.cumsum(np.bincount(turns))[:-1]) if len(rows) else []


def _subtract_weights(values: Floats, amounts: Floats) -> Floats:
    difference = values - amounts
    return np.where(difference < EPSILON, 0.0, difference)
