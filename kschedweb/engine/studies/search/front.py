"""Find the best of many trials: by order for one objective, by the Pareto front for several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats


def to_costs(values: Floats, lower: Sequence[bool]) -> Floats:
    """Return ``values`` f8[trials, objectives] with signs such that less is better; ``lower`` is true where it is."""
    return np.where(np.asarray(lower, dtype=np.bool_), values, -values)


def find_pareto_front(costs: Floats) -> NDArray[np.bool_]:
    """Return the trials of the Pareto front: no other is at least as good in every column and better in one.

    ``costs`` is f8[trials, objectives], less is better. Equal trials are all in the front; trials with NaN are not.
    """
    valid = ~np.isnan(costs).any(axis=1)
    best = np.array(valid)
    for row in np.flatnonzero(valid):
        no_worse = (costs[valid] <= costs[row]).all(axis=1)
        better = (costs[valid] < costs[row]).any(axis=1)
        best[row] = not bool((no_worse & better).any())
    return best


def compute_distances(costs: Floats, members: NDArray[np.bool_]) -> Floats:
    """Return the distance of each member of the front from the best value of all columns; NaN for others.

    Each column is scaled to 0 for the front's best and 1 for its worst value. The distance is the Euclidean one divided
    by the square root of the number of columns, so it is between 0 and 1.
    """
    distances = np.full(len(costs), np.nan)
    if members.any():
        chosen = costs[members]
        low, high = chosen.min(axis=0), chosen.max(axis=0)
        # A column of equal values adds nothing to distances.
        width = np.where(high > low, high - low, 1.0)
        distances[members] = np.sqrt((((chosen - low) / width) ** 2).mean(axis=1))
    return distances
