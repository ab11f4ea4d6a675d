"""The cumulative beta distribution: the probability that a share is at most a threshold.

It is the regularised incomplete beta function (DLMF 8.17), computed by its continued fraction. Where both shapes are so
large that the fraction converges slowly, the density is integrated over the nearer tail.
"""

from __future__ import annotations

import numpy as np

from kschedweb.engine.state.columns import Floats

# Steps of the continued fraction at most.
MANY_STEPS = 5000
# Shapes above this make the fraction slow and the density nearly normal.
NARROW = 3000.0
# Standard deviations beyond which a tail is negligible.
REACH = 12.0
# The fraction ends when a step changes the value by a smaller share than this.
ENOUGH = 1e-15
# Stands for zero as a divisor, as Lentz's method does.
TINY = 1e-300
# From this argument on Stirling's series is exact to the last bit.
SHIFT = 10
# Bernoulli numbers over 2k(2k - 1): the coefficients of Stirling's series in odd powers of 1/z.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))
# Nodes of the Gauss-Legendre quadrature on -1..1.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(48)


def incomplete_beta(x: Floats, a: Floats, b: Floats) -> Floats:
    """Return I_x(a, b): the probability that a beta-distributed share is at most ``x``.

    ``a`` and ``b`` are the shapes. Three float64 arrays of one shape give one such array. NaN where ``x`` is not in
    0..1 or a shape is not a positive number. Exact to about 1e-12.
    """
    with np.errstate(all="ignore"):
        result = np.full(np.shape(x), np.nan)
        valid = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= 1)
        result[valid & (x == 0)] = 0.0
        result[valid & (x == 1)] = 1.0
        inside = valid & (x > 0) & (x < 1)
        if inside.any():
            result[inside] = _compute_inside(x[inside], a[inside], b[inside])
    return result


def _compute_inside(x: Floats, a: Floats, b: Floats) -> Floats:
    """Return I_x(a, b) for 0 < x < 1, computed from the tail on the far side of the mean."""
    upper = x > (a + 1) / (a + b + 2)
    complement = 1 - x
    at, beyond = np.where(upper, complement, x), np.where(upper, x, complement)
    first, second = np.where(upper, b, a), np.where(upper, a, b)
    tail = np.empty_like(x)
    narrow = np.minimum(a, b) > NARROW
    for mask, compute in ((narrow, _integrate_tail), (~narrow, _continued_fraction)):
        if mask.any():
            tail[mask] = compute(at[mask], beyond[mask], first[mask], second[mask])
    tail = np.clip(tail, 0.0, 1.0)
    return np.where(upper, 1 - tail, tail)


def _log_power(x: Floats, complement: Floats, a: Floats, b: Floats) -> Floats:
    """Return the logarithm of x^a (1-x)^b / B(a, b), where ``complement`` is 1 - x.

    The form is relative to the mean, so that large shapes do not cancel each other.
    """
    total = a + b
    # The smaller of both shares gives the distance from the mean more precisely.
    off = np.where(x <= complement, x - a / total, b / total - complement)
    exponent = a * _log_ratio(x / (a / total), off * total / a) + b * _log_ratio(
        complement / (b / total), -off * total / b
    )
    scale = 0.5 * (np.log(a) + np.log(b / total)) - HALF_LOG_TAU
    result: Floats = exponent + scale + _stirling_error(total) - _stirling_error(a) - _stirling_error(b)
    return result


def _log_ratio(ratio: Floats, excess: Floats) -> Floats:
    """Return the logarithm of ``ratio``, which is 1 + ``excess``; computed from ``excess`` where it is near 1."""
    return np.where(np.abs(excess) < 0.5, np.log1p(excess), np.log(ratio))


def _stirling_error(z: Floats) -> Floats:
    """Return ln Gamma(z) minus Stirling's formula (z - 1/2) ln z - z + ln(2 pi)/2."""
    small = z < SHIFT
    high = np.where(small, z + SHIFT, z)
    power, series = 1 / high, np.zeros_like(z)
    for coefficient in STIRLING:
        series = series + coefficient * power
        power = power / (high * high)
    # Gamma(z + SHIFT) = z (z + 1) … Gamma(z): small arguments are computed at z + SHIFT.
    if small.any():
        product = np.ones_like(z)
        for step in range(SHIFT):
            product = product * np.where(small, z + step, 1.0)
        back = (high - 0.5) * np.log(high) - (z - 0.5) * np.log(z) - SHIFT - np.log(product)
        series = np.where(small, series + back, series)
    return series


def _continued_fraction(x: Floats, complement: Floats, a: Floats, b: Floats) -> Floats:
    """Return I_x(a, b) by DLMF 8.17.22, evaluated from the front (Lentz's method), for x below the mean."""
    front = np.exp(_log_power(x, complement, a, b)) / a
    numerator = np.ones_like(x)
    denominator = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = denominator.copy()
    for step in range(1, MANY_STEPS):
        double = a + 2 * step
        even = step * (b - step) * x / ((double - 1) * double)
        odd = -(a + step) * (a + b + step) * x / (double * (double + 1))
        for term in (even, odd):
            denominator = 1 / _not_zero(1 + term * denominator)
            numerator = _not_zero(1 + term / numerator)
            change = numerator * denominator
            value = value * change
        if bool((np.abs(change - 1) <= ENOUGH).all()):
            break
    result: Floats = front * value
    return result


def _not_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < TINY, TINY, values)


def _integrate_tail(x: Floats, complement: Floats, a: Floats, b: Floats) -> Floats:
    """Return I_x(a, b) as the area under the density up to x, for x below the mean.

    The negligible part of the tail is left out.
    """
    total = a + b
    deviation = np.sqrt(a / total * (b / total) / (total + 1))
    width = np.minimum(REACH * deviation, x)
    # Distances below x.
    away = width * 0.5 * (1 - POINTS[:, np.newaxis])
    at, beyond = x - away, complement + away
    height = np.exp(_log_power(at, beyond, a, b)) / (at * beyond)
    area: Floats = WEIGHTS @ height * (width * 0.5)
    return area
