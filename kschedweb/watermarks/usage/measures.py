"""Measures of recorded use: skew, distribution, and the hottest and coldest nodes.

All are functions of arrays. Rows are times, columns are nodes; values are percent of allocatable, NaN if unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats

Ints = NDArray[np.int64]

# Percent of the nodes at or below a quantile.
SHARES = (0, 5, 25, 50, 75, 95, 100)
# Points of a histogram's bar.
BIN = 5.0
MOST_BARS = 80


@dataclass(frozen=True)
class Skew:
    """The skew of nodes at each time: [times], NaN if no node is known."""

    # Percent of the hottest node.
    top: Floats
    # Percent of the coldest node.
    bottom: Floats
    mean: Floats
    # Of the population, in points.
    deviation: Floats
    # The column of the hottest node; -1: none.
    hottest: Ints
    coldest: Ints
    # The number of nodes with a figure.
    node_count: Ints

    @property
    def points(self) -> Floats:
        """The skew: hottest minus coldest."""
        return self.top - self.bottom

    @property
    def variation(self) -> Floats:
        """The coefficient of variation in percent; NaN if the mean is 0."""
        return 100 * np.divide(self.deviation, self.mean, out=np.full_like(self.mean, np.nan), where=self.mean > 0)

    def last_known(self) -> int | None:
        """Return the newest time at which any node is known."""
        times = np.flatnonzero(self.node_count)
        return int(times[-1]) if times.size else None


def compute_skew(values: Floats) -> Skew:
    """Return skew, deviation and extremes over the columns of ``values`` [times, nodes]."""
    values = np.asarray(values, dtype=np.float64)
    present = ~np.isnan(values)
    counts = present.sum(axis=1)
    some = counts > 0
    # Infinities in place of NaN: nanmax would warn about rows without values, and is slower.
    high = np.where(present, values, -np.inf)
    low = np.where(present, values, np.inf)
    total = np.where(present, values, 0.0).sum(axis=1)
    mean = np.divide(total, counts, out=np.full(len(values), np.nan), where=some)
    # Deviations from the mean instead of a mean of squares, which would lose digits.
    spread = np.where(present, values - mean[:, None], 0.0)
    squares = np.einsum("ij,ij->i", spread, spread)
    deviation = np.sqrt(np.divide(squares, counts, out=np.full(len(values), np.nan), where=some))
    if values.shape[1] == 0:
        none, nobody = np.full(len(values), np.nan), np.full(len(values), -1)
        return Skew(none, none, mean, deviation, nobody, nobody, counts)
    return Skew(
        top=np.where(some, high.max(axis=1), np.nan),
        bottom=np.where(some, low.min(axis=1), np.nan),
        mean=mean,
        deviation=deviation,
        hottest=np.where(some, high.argmax(axis=1), -1),
        coldest=np.where(some, low.argmin(axis=1), -1),
        node_count=counts,
    )


@dataclass(frozen=True)
class Distribution:
    """The distribution of nodes at one time."""

    # [bars + 1], in percent.
    edges: Floats
    # [bars], nodes in each.
    counts: Ints
    # [SHARES], in percent.
    quantiles: Floats
    mean: float
    deviation: float
    node_count: int


def compute_distribution(values: Floats) -> Distribution | None:
    """Return the distribution of ``values`` [nodes]; ``None`` if no node is known.

    Bars are 5 points wide, from 0 to 100 or to the highest value; above 400 they are wider.
    """
    present = values[~np.isnan(values)]
    if not present.size:
        return None
    highest = max(100.0, float(present.max()))
    width = BIN * np.ceil(highest / (MOST_BARS * BIN))
    edges = width * np.arange(np.ceil(highest / width) + 1)
    # Sources may round use to slightly below 0.
    counts, _ = np.histogram(np.maximum(present, 0.0), edges)
    quantiles = np.percentile(present, SHARES)
    return Distribution(edges, counts, quantiles, float(present.mean()), float(present.std()), int(present.size))


@dataclass(frozen=True)
class HeatmapRow:
    """A row of the heatmap: one node, or consecutive ones in the order."""

    label: str
    # Positions in the order, from 1.
    first: int
    last: int
    # [times] percent, over the nodes of the row.
    mean: Floats
    low: float
    high: float

    @property
    def is_group(self) -> bool:
        return self.last > self.first


def order_columns(names: Sequence[str], mean: Floats, by_name: bool = False) -> Ints:
    """Return columns in the order of a heatmap: highest ``mean`` first, unknown ones last; or by name."""
    if by_name:
        return np.array(sorted(range(len(names)), key=lambda column: names[column]), dtype=np.int64)
    return np.argsort(np.where(np.isnan(mean), np.inf, -mean), kind="stable")


def compute_means(values: Floats, axis: int = 0) -> Floats:
    """Return means of known values along ``axis``; NaN if none is known."""
    present = ~np.isnan(values)
    count = present.sum(axis=axis)
    total = np.where(present, values, 0.0).sum(axis=axis)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def group_rows(
    names: Sequence[str], values: Floats, order: Ints, first: int, last: int, limit: int
) -> list[HeatmapRow]:
    """Return positions ``first`` to ``last`` (from 1) of ``order`` as at most ``limit`` rows of neighbouring nodes."""
    places = np.arange(first - 1, min(last, len(order)))
    rows = []
    for part in np.array_split(places, min(limit, len(places))) if places.size else []:
        columns = order[part]
        block = values[:, columns]
        present = block[~np.isnan(block)]
        begin, end = int(part[0]) + 1, int(part[-1]) + 1
        label = names[int(columns[0])] if begin == end else f"places {begin:,} to {end:,}"
        low, high = (float(present.min()), float(present.max())) if present.size else (np.nan, np.nan)
        rows.append(HeatmapRow(label, begin, end, compute_means(block, axis=1), low, high))
    return rows


@dataclass(frozen=True)
class Extreme:
    """One of the hottest or coldest nodes: percent now, and over the shown time."""

    name: str
    now: float
    mean: float
    low: float
    high: float


def find_extremes(names: Sequence[str], values: Floats, at: int, count: int) -> tuple[list[Extreme], list[Extreme]]:
    """Return the ``count`` hottest and the ``count`` coldest nodes at time ``at`` (a row of ``values``)."""
    now = values[at]
    columns = np.flatnonzero(~np.isnan(now))
    rising = columns[np.argsort(now[columns], kind="stable")]

    def describe_column(column: int) -> Extreme:
        column_values = values[:, column]
        column_values = column_values[~np.isnan(column_values)]
        return Extreme(
            names[column],
            float(now[column]),
            float(column_values.mean()),
            float(column_values.min()),
            float(column_values.max()),
        )

    return [describe_column(int(column)) for column in rising[::-1][:count]], [
        describe_column(int(column)) for column in rising[:count]
    ]
