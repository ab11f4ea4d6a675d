"""Which of many trials are best: by one objective their order, by several those that no other beats in all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats


def turned(values: Floats, lower: Sequence[bool]) -> Floats:
    """``values`` f8[trials, objectives] such that less is better in each column; ``lower`` says where it is already."""
    return np.where(np.asarray(lower, dtype=np.bool_), values, -values)


def front(costs: Floats) -> NDArray[np.bool_]:
    """The trials of the Pareto front: no other is at least as good in every column and better in one.

    ``costs`` is f8[trials, objectives], less is better. Trials that are alike are in it together; one with nan is not.
    """
    known = ~np.isnan(costs).any(axis=1)
    best = np.array(known)
    for row in np.flatnonzero(known):
        no_worse = (costs[known] <= costs[row]).all(axis=1)
        better = (costs[known] < costs[row]).any(axis=1)
        best[row] = not bool((no_worse & better).any())
    return best


def distances(costs: Floats, members: NDArray[np.bool_]) -> Floats:
    """How far each member of the front is from the best value in every column at once; nan for the others.

    Each column is scaled to 0 for the front's best and 1 for its worst value; the distance is Euclid's, divided by
    the square root of the number of columns, so that it is between 0 and 1.
    """
    found = np.full(len(costs), np.nan)
    if members.any():
        chosen = costs[members]
        low, high = chosen.min(axis=0), chosen.max(axis=0)
        width = np.where(high > low, high - low, 1.0)
        found[members] = np.sqrt((((chosen - low) / width) ** 2).mean(axis=1))
    return found
