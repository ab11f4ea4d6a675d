"""Levels at times, and what a run makes of them: means that hold over time, skew, spread and shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.play.outcome import Outcome

MOST_TIMES = 512  # times at which means over time are sampled


def times_of(outcome: Outcome) -> Floats:
    """The times for means: those of samples, evenly thinned, and the end."""
    times = outcome.samples.time
    step = max(1, -(-len(times) // MOST_TIMES))
    if len(times) < MOST_TIMES // 8:  # a short run, of which there are few samples
        times, step = np.linspace(0.0, outcome.end, MOST_TIMES // 8), 1
    return np.unique(np.append(times[::step], outcome.end))


def skew(levels: Floats) -> Floats:
    """The level of the highest less that of the lowest node at each time, nan without nodes. Shape [times]."""
    return _by_time(levels, lambda known: float(known.max() - known.min()))


def spread(levels: Floats) -> Floats:
    return _by_time(levels, lambda known: float(known.std()))


def _by_time(levels: Floats, of: Any) -> Floats:
    rows = [row[~np.isnan(row)] for row in levels]
    return np.array([of(row) if row.size else np.nan for row in rows], dtype=np.float64)


def mean(values: NDArray[np.float64], times: Floats, end: float) -> float | None:
    """The mean over time: each value holds until the next one, the last to ``end``; ``None`` without values."""
    known = ~np.isnan(values)
    lasts = np.diff(np.append(times, max(end, times[-1]) if times.size else end))
    weight = float(lasts[known].sum())
    if not known.any():
        return None
    return float((values[known] * lasts[known]).sum() / weight) if weight else float(values[known].mean())


def last(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known[-1]) if known.size else None


def quantile(values: Floats, share: float) -> float | None:
    """The smallest value such that at least ``share`` of all values are at most that."""
    if not values.size:
        return None
    return float(np.sort(values)[max(0, int(np.ceil(share * values.size)) - 1)])
