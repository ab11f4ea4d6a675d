"""Compute means over time, skew, spread and quantiles from levels at times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.play.outcome import RunOutcome

# Times at which means over time are sampled: each is a row over all nodes.
MOST_TIMES = 512


def times_of(outcome: RunOutcome) -> Floats:
    """Return the times for means: those of samples, evenly thinned, and the end."""
    times = outcome.samples.time
    step = max(1, -(-len(times) // MOST_TIMES))
    # A short run has few samples, so its times are spread evenly instead.
    if len(times) < MOST_TIMES // 8:
        times, step = np.linspace(0.0, outcome.end, MOST_TIMES // 8), 1
    return np.unique(np.append(times[::step], outcome.end))


def compute_skew(levels: Floats) -> Floats:
    """Return the highest less the lowest level of a node at each time, NaN without nodes. Shape [times]."""
    return _by_time(levels, lambda row: float(row.max() - row.min()))


def compute_spread(levels: Floats) -> Floats:
    """Return the standard deviation of levels over nodes at each time, NaN without nodes. Shape [times]."""
    return _by_time(levels, lambda row: float(row.std()))


def _by_time(levels: Floats, compute: Any) -> Floats:
    rows = [row[~np.isnan(row)] for row in levels]
    return np.array([compute(row) if row.size else np.nan for row in rows], dtype=np.float64)


def mean_over_time(values: NDArray[np.float64], times: Floats, end: float) -> float | None:
    """Return the mean over time: each value holds until the next one, the last to ``end``; ``None`` without values."""
    valid = ~np.isnan(values)
    lasts = np.diff(np.append(times, max(end, times[-1]) if times.size else end))
    weight = float(lasts[valid].sum())
    if not valid.any():
        return None
    # A run without length has no weights, and the plain mean is as good.
    return float((values[valid] * lasts[valid]).sum() / weight) if weight else float(values[valid].mean())


def last_level(values: Floats) -> float | None:
    valid = values[~np.isnan(values)]
    return float(valid[-1]) if valid.size else None


def compute_quantile(values: Floats, share: float) -> float | None:
    """Return the smallest value such that at least ``share`` of all values are at most that."""
    if not values.size:
        return None
    return float(np.sort(values)[max(0, int(np.ceil(share * values.size)) - 1)])
