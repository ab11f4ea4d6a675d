"""Measures of recorded use: skew, distribution, and the hottest and coldest nodes.

All are functions of arrays: rows are times, columns nodes, values percent of allocatable, NaN if unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats

Ints = NDArray[np.int64]

SHARES = (0, 5, 25, 50, 75, 95, 100)  # percent of the nodes at or below a quantile
BIN = 5.0  # points of a histogram's bar
MOST_BARS = 80


@dataclass(frozen=True)
class Skew:
    """Skew of nodes at each time: [times], NaN if no node is known."""

    top: Floats  # percent, the hottest node
    bottom: Floats  # percent, the coldest node
    mean: Floats
    deviation: Floats  # of the population, in points
    hottest: Ints  # column of the hottest node, -1: none
    coldest: Ints
    known: Ints  # number of nodes with a figure

    @property
    def points(self) -> Floats:
        """The skew: hottest minus coldest."""
        return self.top - self.bottom

    @property
    def variation(self) -> Floats:
        """Coefficient of variation in percent; NaN if the mean is 0."""
        return 100 * np.divide(self.deviation, self.mean, out=np.full_like(self.mean, np.nan), where=self.mean > 0)

    def last(self) -> int | None:
        """The newest time at which any node is known."""
        known = np.flatnonzero(self.known)
        return int(known[-1]) if known.size else None


def skew(values: Floats) -> Skew:
    """Skew, deviation and extremes over the columns of ``values`` [times, nodes]."""
    values = np.asarray(values, dtype=np.float64)
    here = ~np.isnan(values)
    known = here.sum(axis=1)
    some = known > 0
    high = np.where(here, values, -np.inf)
    low = np.where(here, values, np.inf)
    total = np.where(here, values, 0.0).sum(axis=1)
    mean = np.divide(total, known, out=np.full(len(values), np.nan), where=some)
    spread = np.where(here, values - mean[:, None], 0.0)
    squares = np.einsum("ij,ij->i", spread, spread)
    deviation = np.sqrt(np.divide(squares, known, out=np.full(len(values), np.nan), where=some))
    if values.shape[1] == 0:
        none, nobody = np.full(len(values), np.nan), np.full(len(values), -1)
        return Skew(none, none, mean, deviation, nobody, nobody, known)
    return Skew(
        top=np.where(some, high.max(axis=1), np.nan),
        bottom=np.where(some, low.min(axis=1), np.nan),
        mean=mean,
        deviation=deviation,
        hottest=np.where(some, high.argmax(axis=1), -1),
        coldest=np.where(some, low.argmin(axis=1), -1),
        known=known,
    )


@dataclass(frozen=True)
class Distribution:
    """The distribution of nodes at one time: the number in each bar, and the quantiles of ``SHARES``."""

    edges: Floats  # [bars + 1] percent
    counts: Ints  # [bars]
    quantiles: Floats  # [SHARES] percent
    mean: float
    deviation: float
    known: int


def distribution(values: Floats) -> Distribution | None:
    """The distribution of ``values`` [nodes]; ``None`` if no node is known.

    Bars are 5 points wide, from 0 to 100 or to the highest value; above 400 they are wider.
    """
    found = values[~np.isnan(values)]
    if not found.size:
        return None
    highest = max(100.0, float(found.max()))
    width = BIN * np.ceil(highest / (MOST_BARS * BIN))
    edges = width * np.arange(np.ceil(highest / width) + 1)
    # sources may round use to slightly below 0
    counts, _ = np.histogram(np.maximum(found, 0.0), edges)
    quantiles = np.percentile(found, SHARES)
    return Distribution(edges, counts, quantiles, float(found.mean()), float(found.std()), int(found.size))


@dataclass(frozen=True)
class HeatmapRow:
    """A row of the heatmap: one node, or consecutive ones in the order; positions are from 1."""

    label: str
    first: int
    last: int
    mean: Floats  # [times] percent, over the nodes of the line
    low: float
    high: float


def ordered(names: Sequence[str], mean: Floats, by_name: bool = False) -> Ints:
    """Columns in the order of a heatmap: highest ``mean`` first, unknown ones last; or by name."""
    if by_name:
        return np.array(sorted(range(len(names)), key=lambda column: names[column]), dtype=np.int64)
    return np.argsort(np.where(np.isnan(mean), np.inf, -mean), kind="stable")


def means(values: Floats, axis: int = 0) -> Floats:
    """Means of known values along ``axis``; NaN if none is known."""
    here = ~np.isnan(values)
    count = here.sum(axis=axis)
    total = np.where(here, values, 0.0).sum(axis=axis)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def lines(names: Sequence[str], values: Floats, order: Ints, first: int, last: int, most: int) -> list[HeatmapRow]:
    """Positions ``first`` to ``last`` (from 1) of ``order`` as at most ``most`` rows of neighbouring nodes."""
    places = np.arange(first - 1, min(last, len(order)))
    rows = []
    for part in np.array_split(places, min(most, len(places))) if places.size else []:
        columns = order[part]
        block = values[:, columns]
        known = block[~np.isnan(block)]
        begin, end = int(part[0]) + 1, int(part[-1]) + 1
        label = names[int(columns[0])] if begin == end else f"places {begin:,} to {end:,}"
        low, high = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
        rows.append(HeatmapRow(label, begin, end, means(block, axis=1), low, high))
    return rows


@dataclass(frozen=True)
class Extreme:
    """One of the hottest or coldest nodes: percent now, and over the shown time."""

    name: str
    now: float
    mean: float
    low: float
    high: float


def extremes(names: Sequence[str], values: Floats, at: int, count: int) -> tuple[list[Extreme], list[Extreme]]:
    """The ``count`` hottest and the ``count`` coldest nodes at time ``at`` (a row of ``values``)."""
    now = values[at]
    known = np.flatnonzero(~np.isnan(now))
    rising = known[np.argsort(now[known], kind="stable")]

    def described(column: int) -> Extreme:
        found = values[:, column]
        found = found[~np.isnan(found)]
        return Extreme(names[column], float(now[column]), float(found.mean()), float(found.min()), float(found.max()))

    return [described(int(one)) for one in rising[::-1][:count]], [described(int(one)) for one in rising[:count]]
