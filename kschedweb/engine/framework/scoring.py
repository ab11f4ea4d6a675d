"""Arithmetic that score plugins share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Ints
from kschedweb.engine.validation.golang import INT64_MAX

# kube-scheduler's `MaxNodeScore`.
MAX_NODE_SCORE = 100
# kube-scheduler's `MaxCustomPriorityScore`: the highest score in the shape of RequestedToCapacityRatio.
MAX_CUSTOM_SCORE = 10


def default_normalize(scores: Ints, *, reverse: bool = False) -> Ints:
    """Scale the scores so that the highest becomes 100, as `DefaultNormalizeScore`. ``reverse`` makes the highest the
    worst.
    """
    highest = max(0, int(scores.max(initial=0)))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    scaled = divide_toward_zero(MAX_NODE_SCORE * scores, highest)
    return MAX_NODE_SCORE - scaled if reverse else scaled


def divide_toward_zero(numerator: Ints, denominator: int | Ints) -> Ints:
    """Divide integers as Go does, truncating towards zero."""
    quotient: Ints = np.abs(numerator) // np.abs(denominator)
    return np.where((numerator < 0) != (np.asarray(denominator) < 0), -quotient, quotient)


def share_of(part: Ints, whole: Ints, scale: int) -> Ints:
    """Return ``part`` * ``scale`` / ``whole``, truncated towards zero. Absurd amounts wrap in 64 bits, as in Go."""
    multiple = part * scale
    share: Ints = multiple // whole
    if share.size and share.min() < 0:
        share += (share < 0) & (share * whole != multiple)  # Go cuts toward 0
    return share


def exact_share_of(part: Ints, whole: Ints, scale: int) -> Ints:
    """Return ``part`` * ``scale`` / ``whole``, exact for all amounts; ``part`` lies between 0 and ``whole``."""
    share: Ints = part * scale // whole
    for place in np.flatnonzero(part > INT64_MAX // scale):
        share[place] = int(part[place]) * scale // int(whole[place])
    return share


def add_saturating(amounts: Ints, more: int) -> Ints:
    """Return the sums of amounts that are not negative; they stop at the largest int64, as `SaturatingAdd` does."""
    sums: Ints = amounts + more
    return np.where(sums < 0, INT64_MAX, sums) if sums.size and sums.min() < 0 else sums


def round_half_away(values: NDArray[np.float64]) -> Ints:
    """Round to the nearest whole number, halves away from zero, as Go's math.Round."""
    # Not `np.floor(values + 0.5)`: the addition itself rounds, and 0.49999999999999994 would become 1.
    whole = np.trunc(values)
    return (whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0.0)).astype(np.int64)


def broken_line(shape: Sequence[Mapping[str, int]]) -> Ints:
    """Return the score at each utilisation from 0 to 100, interpolated between the points of ``shape``."""
    points = [
        (int(point["utilization"]), int(point["score"]) * (MAX_NODE_SCORE // MAX_CUSTOM_SCORE)) for point in shape
    ]
    curve = np.zeros(MAX_NODE_SCORE + 1, dtype=np.int64)
    for utilization in range(MAX_NODE_SCORE + 1):
        curve[utilization] = _interpolate(points, utilization)
    return curve


def _interpolate(points: list[tuple[int, int]], utilization: int) -> int:
    previous: tuple[int, int] | None = None
    for at, score in points:
        if utilization <= at:
            if previous is None:
                return score
            # The quotient is truncated towards zero, as in Go; `//` alone would round a falling line down.
            rise = (score - previous[1]) * (utilization - previous[0])
            part = abs(rise) // (at - previous[0])
            return previous[1] + (part if rise >= 0 else -part)
        previous = at, score
    return previous[1] if previous else 0
