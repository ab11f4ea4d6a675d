"""Whether a difference over seeds is more than chance: paired, without an assumption about how values are spread."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from kschedweb.engine.state.columns import Floats

EXACT = 14  # pairs of which every combination of signs is tried
DRAWS = 20_000
CONFIDENCE = 0.95


def significance(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p-value of a paired permutation test of the mean difference; ``None`` for less than two pairs.

    The pairs belong to one seed each. Were both policies alike, each difference could as well have the other sign: the
    p-value is the share of all ways to set the signs that give a mean at least as far from 0. Up to 14 pairs all ways
    are tried, beyond that 20,000, drawn always the same. Raises ValueError where the lengths differ.
    """
    differences = _differences(first, second)
    count = len(differences)
    if count < 2:
        return None
    if count <= EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=count)))
    else:
        drawn = np.random.default_rng(0).integers(0, 2, (DRAWS, count)) * 2.0 - 1.0
        signs = np.vstack([np.ones((1, count)), drawn])
    sums = np.abs(signs @ differences)
    slack = 1e-9 * float(np.abs(differences).sum())  # sums that are equal but for rounding
    return float((sums >= abs(float(differences.sum())) - slack).mean())


def interval(
    first: Sequence[float], second: Sequence[float], generator: np.random.Generator
) -> tuple[float, float] | None:
    """The 95 % bootstrap interval (percentiles) of the mean of ``second - first``; ``None`` for less than two pairs."""
    differences = _differences(first, second)
    if len(differences) < 2:
        return None
    drawn = generator.integers(0, len(differences), (DRAWS // 4, len(differences)))
    tail = 100.0 * (1.0 - CONFIDENCE) / 2.0
    low, high = np.percentile(differences[drawn].mean(axis=1), [tail, 100.0 - tail])
    return float(low), float(high)


def _differences(first: Sequence[float], second: Sequence[float]) -> Floats:
    if len(first) != len(second):
        raise ValueError(f"there are {len(first)} values and {len(second)}: they must be pairs, one a seed")
    return np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
