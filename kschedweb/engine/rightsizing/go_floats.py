"""Logarithms and powers exactly as Go computes them on amd64; C's differ in the last bit now and then.

Source: the packages math and internal/math of Go 1.26, which follow FreeBSD's msun. No product is fused with a sum.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# ln 2 in two parts: the high one has trailing zeros, so that its product with a whole number is exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Coefficients of msun's log and exp.
_LOG_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_LOG_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)
_EXP = (
    1.66666666666666657415e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
# Below 2 to this power a float is 0.
_UNDERFLOW = -1074.0


def log(x: Floats) -> Floats:
    """Return the natural logarithm of ``x``, each above 0 and finite."""
    fraction, exponent = np.frexp(x)
    low = fraction <= math.sqrt(2) / 2
    f = np.where(low, fraction * 2, fraction) - 1
    k = (exponent - low).astype(np.float64)
    s = f / (2 + f)
    square = s * s
    fourth = square * square
    tail = square * _evaluate_polynomial(_LOG_ODD, fourth) + fourth * _evaluate_polynomial(_LOG_EVEN, fourth)
    half = 0.5 * f * f
    logarithm: Floats = k * _LN2_HIGH - ((half - (s * (half + tail) + k * _LN2_LOW)) - f)
    return logarithm


def exp2(x: Floats) -> Floats:
    """Return 2 to the power of ``x``, each below 1024."""
    bounded = np.maximum(x, _UNDERFLOW)
    whole = np.trunc(bounded + np.copysign(0.5, bounded))
    part = bounded - whole
    high, low = part * _LN2_HIGH, -part * _LN2_LOW
    r = high - low
    square = r * r
    c = r - square * _evaluate_polynomial(_EXP, square)
    result = np.ldexp(1 - ((low - (r * c) / (2 - c)) - high), whole.astype(np.int64))
    return np.where(x < _UNDERFLOW, 0.0, result)


def power(x: float, exponent: int) -> float:
    """Return ``x``, at least 1, to a whole power whose result is finite."""
    if exponent == 1:
        return x
    if math.isinf(x):
        return x if exponent > 0 else 0.0
    # As Go's `math.Pow` does: repeated squaring of the fraction, with the exponent of 2 apart.
    product, scale = 1.0, 0
    square, doublings = math.frexp(x)
    remaining = abs(exponent)
    while remaining:
        if remaining & 1:
            product *= square
            scale += doublings
        square *= square
        doublings *= 2
        if square < 0.5:
            square += square
            doublings -= 1
        remaining >>= 1
    return math.ldexp(product, scale) if exponent >= 0 else math.ldexp(1 / product, -scale)


def _evaluate_polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """Return the sum of ``coefficients[n] * x**n``, from the highest down."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total
