"""Estimate from trials how much an objective depends on each dimension of a space."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from kschedweb.engine.state.columns import Floats

# Groups of numbers, so that each has several trials.
MOST_GROUPS = 8
# Trials that an estimate needs at least.
FEWEST = 8


def explained_share(values: Sequence[Hashable], objective: Floats, *, numeric: bool) -> float | None:
    """Return the share of the objective's variance that this dimension alone explains, 0 to 1.

    Trials are grouped by value; more than 8 different numbers form 8 groups of about equal size. The result is epsilon
    squared: the correlation ratio (variance between group means over total variance), less what random groups would
    explain. ``None`` for fewer than 8 trials or fewer than two groups. Interactions of dimensions are not seen.
    """
    groups = group_values(values, numeric=numeric)
    count, kinds = len(objective), int(groups.max(initial=-1)) + 1
    if count < FEWEST or kinds < 2 or count <= kinds:
        return None
    total = float(((objective - objective.mean()) ** 2).sum())
    # A constant objective has a variance of rounding errors alone.
    if total <= 1e-12 * max(1.0, float((objective**2).sum())):
        return 0.0
    sums, sizes = np.bincount(groups, weights=objective), np.bincount(groups)
    between = float((sizes * (sums / sizes - objective.mean()) ** 2).sum())
    return max(0.0, 1.0 - (1.0 - between / total) * (count - 1) / (count - kinds))


def group_values(values: Sequence[Hashable], *, numeric: bool) -> np.ndarray:
    """Return the group of each value, numbered from 0; numbers are grouped in order."""
    distinct = list(dict.fromkeys(values))
    if not numeric or len(distinct) <= MOST_GROUPS:
        if numeric:
            distinct.sort(key=float)  # type: ignore[arg-type]
        place = {value: number for number, value in enumerate(distinct)}
        return np.array([place[value] for value in values], dtype=np.int64)
    numbers = np.array(values, dtype=np.float64)
    edges = np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, MOST_GROUPS + 1)[1:-1]))
    _, groups = np.unique(np.searchsorted(edges, numbers, side="right"), return_inverse=True)
    return groups.astype(np.int64)
