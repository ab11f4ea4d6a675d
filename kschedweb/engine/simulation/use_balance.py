"""Measure how evenly the nodes of a simulation were really used."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from kschedweb.engine.simulation.recorded_use import RecordedUse
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

# Percent.
HIGH = 80.0
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class UseBalance:
    """Means over time, in points of the nodes' one-hour CPU watermark unless said else."""

    # Seconds from which on it is measured.
    since: float
    # The highest node less the lowest.
    skew: float
    worst_skew: float
    deviation: float
    # The standard deviation over the mean.
    variation: float
    mean: float
    # The highest node at any time.
    hottest: float
    # Share of node hours above ``HIGH``.
    high: float
    # Share of pod hours in which a pod got less than it wanted.
    short: float
    # Core hours that were wanted and not there.
    unserved: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def compute_skews(levels: Floats) -> Floats:
    """Return the highest less the lowest node at each time. Shape [times]."""
    skew: Floats = levels.max(axis=1) - levels.min(axis=1)
    return skew


def measure_balance(use: RecordedUse, since: float) -> UseBalance:
    """Measure what ``use`` has seen; raises ValueError if nothing was measured after ``since``."""
    levels = use.compute_levels()
    first = round(since / use.interval)
    after = levels[first:]
    if not len(after):
        raise ValueError(f"nothing was measured after {since / HOUR:g} h")
    spread, deviations, means = compute_skews(after), after.std(axis=1), after.mean(axis=1)
    count = len(levels)
    running = max(1, int(use.running[first:count].sum()))
    return UseBalance(
        since=since,
        skew=float(spread.mean()),
        worst_skew=float(spread.max()),
        deviation=float(deviations.mean()),
        variation=float(np.divide(deviations, means, out=np.zeros_like(means), where=means > 0.0).mean()),
        mean=float(means.mean()),
        hottest=float(after.max()),
        high=float((after > HIGH).mean()),
        short=float(use.short[first:count].sum() / running),
        unserved=float(use.unserved[first:count].sum() * use.interval / HOUR),
    )
