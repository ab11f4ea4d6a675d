"""Tell differences between two policies from chance, over seeds, without further libraries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from kschedweb.engine.state.columns import Floats

# The most pairs for which every combination of signs is tried: 2^14 are quick.
EXACT = 14
# Random combinations of signs for more pairs.
DRAWS = 20_000
# The 97.5 % quantiles of Student's t from one degree of freedom on, and that of the normal distribution beyond them.
QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
NORMAL = 1.96


def compute_p_value(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p-value of a paired permutation test of the mean difference; ``None`` for fewer than two.

    Each pair belongs to one seed. If both policies were equal, each difference could as well have the other sign. The
    p-value is the share of sign combinations whose mean is at least as far from 0. Up to 14 pairs, all combinations are
    tried; beyond that, 20,000 from a fixed seed. Raise ValueError if the lengths differ.
    """
    differences = _paired_differences(first, second)
    count = len(differences)
    if count < 2:
        return None
    if count <= EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=count)))
    else:
        drawn = np.random.default_rng(0).integers(0, 2, (DRAWS, count)) * 2.0 - 1.0
        # The observed signs are among those that are counted, so the p-value is never 0.
        signs = np.vstack([np.ones((1, count)), drawn])
    sums = np.abs(signs @ differences)
    # Sums that differ only by rounding are equal.
    slack = 1e-9 * float(np.abs(differences).sum())
    return float((sums >= abs(float(differences.sum())) - slack).mean())


def compute_spread(first: Sequence[float], second: Sequence[float]) -> float:
    """Return half the width of the 95 % confidence interval of the mean of ``second - first``.

    Each pair belongs to one seed; the interval is Student's, and 0 for fewer than two pairs. Raise ValueError if the
    lengths differ.
    """
    differences = _paired_differences(first, second)
    count = len(differences)
    if count < 2:
        return 0.0
    quantile = QUANTILES[count - 2] if count - 2 < len(QUANTILES) else NORMAL
    return float(quantile * differences.std(ddof=1) / np.sqrt(count))


def _paired_differences(first: Sequence[float], second: Sequence[float]) -> Floats:
    if len(first) != len(second):
        raise ValueError(f"there are {len(first)} values and {len(second)}: they must be pairs, one a seed")
    return np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
