"""How evenly the nodes of a simulation were really used."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from kschedweb.engine.simulation.recorded_use import RecordedUse
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

HIGH = 80.0  # percent
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class UseBalance:
    """Means over time from ``since`` (seconds) on, in points of the nodes' one-hour CPU watermark unless said else.

    ``skew`` is the highest node less the lowest; ``variation`` the standard deviation over the mean; ``hottest`` the
    highest node. ``high`` is the share of node hours above 80 %. ``short`` is the share of pod hours in which a pod got
    less than it wanted, ``unserved`` the core hours that were wanted and not there.
    """

    since: float
    skew: float
    worst_skew: float
    deviation: float
    variation: float
    mean: float
    hottest: float
    high: float
    short: float
    unserved: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compute_skews(levels: Floats) -> Floats:
    """Highest less lowest node at each time. Shape [times]."""
    skew: Floats = levels.max(axis=1) - levels.min(axis=1)
    return skew


def measure_balance(use: RecordedUse, since: float) -> UseBalance:
    """The measures of what ``use`` has seen; raises ValueError where nothing was measured after ``since``."""
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
