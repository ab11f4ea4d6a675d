"""Arithmetic that score plugins share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Ints

MAX_NODE_SCORE = 100


def default_normalize(scores: Ints, *, reverse: bool = False) -> Ints:
    """Scale so that the highest score becomes 100; ``reverse`` makes the highest the worst."""
    highest = max(0, int(scores.max(initial=0)))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    scaled = truncated(MAX_NODE_SCORE * scores, highest)
    return MAX_NODE_SCORE - scaled if reverse else scaled


def truncated(numerator: Ints, denominator: int | Ints) -> Ints:
    """Integer division as Go does it: towards zero."""
    quotient: Ints = np.abs(numerator) // np.abs(denominator)
    return np.where((numerator < 0) != (np.asarray(denominator) < 0), -quotient, quotient)


def share_of(part: Ints, whole: Ints, most: int) -> Ints:
    """What ``part`` is of ``whole``, cut to so many in ``most``; absurd amounts wrap round in 64 bits, as in Go."""
    multiple = part * most
    share: Ints = multiple // whole
    if share.size and share.min() < 0:
        share += (share < 0) & (share * whole != multiple)  # Go cuts toward 0
    return share


def rounded(values: NDArray[np.float64]) -> Ints:
    """To the nearest whole number, halves away from zero, as Go's math.Round."""
    whole = np.trunc(values)
    return (whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0.0)).astype(np.int64)
