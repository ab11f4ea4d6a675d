"""Significance of differences over seeds: paired tests without an assumption about the distribution."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from kschedweb.engine.state.columns import Floats

EXACT = 14  # most pairs for which every combination of signs is tried
DRAWS = 20_000
CONFIDENCE = 0.95


def significance(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p-value of a paired permutation test of the mean difference; ``None`` for fewer than two pairs.

    Each pair belongs to one seed. If both policies were equal, each difference could as well have the other sign. The
    p-value is the share of sign combinations whose mean is at least as far from 0. Up to 14 pairs, all combinations are
    tried; beyond that, 20,000 from a fixed seed. Raises ValueError if the lengths differ.
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
    slack = 1e-9 * float(np.abs(differences).sum())  # for sums that differ only by rounding
    return float((sums >= abs(float(differences.sum())) - slack).mean())


def interval(
    first: Sequence[float], second: Sequence[float], generator: np.random.Generator
) -> tuple[float, float] | None:
    """The 95 % percentile bootstrap interval of the mean of ``second - first``; ``None`` for fewer than two pairs."""
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
