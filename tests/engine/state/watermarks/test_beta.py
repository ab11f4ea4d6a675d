"""The regularised incomplete beta function against what is known of it exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.state.watermarks import beta
from kschedweb.engine.state.watermarks.beta import incomplete_beta


def at(x: float, a: float, b: float) -> float:
    [probability] = incomplete_beta(np.array([x]), np.array([a]), np.array([b]))
    return float(probability)


def binomial(x: float, a: int, b: int) -> float:
    """I_x(a, b) for whole shapes: the chance of at least a hits in a + b - 1 tries, in whole numbers."""
    (part, whole), tries = Fraction(x).as_integer_ratio(), a + b - 1
    complement, hits = whole - part, 0
    term = math.comb(tries, a) * part**a * complement**b // complement
    for hit in range(a, tries + 1):
        hits += term
        term = term * (tries - hit) * part // ((hit + 1) * complement)  # without remainder
    return hits / whole**tries


SHAPES = [(1, 1), (2, 3), (30, 2), (300, 100), (5, 400), (1000, 1000)]
LARGE = [(3001, 3100, -3), (3001, 3100, 1)]  # above these the density is integrated; the exact sum takes long


@pytest.mark.parametrize(
    ("a", "b", "distance"), [(*shape, far) for shape in SHAPES for far in (-6, -3, -1, 0, 1, 3)] + LARGE
)
def test_whole_shapes_give_the_binomial_distribution(a: int, b: int, distance: float) -> None:
    mean = a / (a + b)
    x = mean + distance * math.sqrt(mean * (1 - mean) / (a + b + 1))
    x = round(min(max(x, 0.001), 0.999) * 4096) / 4096
    assert at(x, a, b) == pytest.approx(binomial(x, a, b), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("x", [1e-9, 0.1, 0.5, 0.9, 1 - 1e-9])
def test_halves_give_the_arcsine(x: float) -> None:
    assert at(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), abs=1e-11)


@pytest.mark.parametrize("b", [1e3, 1e6, 1e9, 1e12])
def test_a_shape_of_one_gives_a_power(b: float) -> None:
    assert at(1 / b, 1, b) == pytest.approx(-math.expm1(b * math.log1p(-1 / b)), rel=1e-13)


@pytest.mark.parametrize("shape", [1e-300, 0.01, 1, 1e3, 1e4, 1e8, 1e12])
def test_half_is_below_the_middle_where_both_shapes_are_equal(shape: float) -> None:
    assert at(0.5, shape, shape) == pytest.approx(0.5, abs=1e-10)


@pytest.mark.parametrize("a", [1e-5, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("x", [1e-300, 1e-86, 1e-20, 1e-6])
def test_close_to_0_it_is_a_power(x: float, a: float) -> None:
    assert at(x, a, 1) == pytest.approx(x**a, rel=1e-12)


def test_the_ends() -> None:
    assert (at(0, 2, 3), at(1, 2, 3)) == (0, 1)


@pytest.mark.parametrize(
    ("x", "a", "b"),
    [(-0.1, 1, 1), (1.1, 1, 1), (0.5, 0, 1), (0.5, 1, -1), (0.5, math.inf, 1), (math.nan, 1, 1), (0.5, math.nan, 1)],
)
def test_what_is_not_defined_is_nan(x: float, a: float, b: float) -> None:
    assert math.isnan(at(x, a, b))


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("distance", [-4, -1, 0.5, 2])
def test_the_fraction_and_the_integral_agree_where_one_takes_over(
    mean: float, distance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = 2900 / min(mean, 1 - mean)
    x = mean + distance * math.sqrt(mean * (1 - mean) / (total + 1))
    by_fraction = at(x, mean * total, (1 - mean) * total)
    monkeypatch.setattr(beta, "NARROW", 0.0)
    assert at(x, mean * total, (1 - mean) * total) == pytest.approx(by_fraction, rel=1e-11)


shape = st.floats(1e-3, 1e6)
share = st.floats(0, 1)


@given(share, shape, shape)
def test_what_is_not_below_is_above(x: float, a: float, b: float) -> None:
    x = round(x * 1024) / 1024  # so that 1 - x is exact
    assert at(x, a, b) + at(1 - x, b, a) == pytest.approx(1, abs=1e-11)


@given(st.lists(share, min_size=2, max_size=2), shape, shape)
def test_it_never_falls(shares: list[float], a: float, b: float) -> None:
    low, high = sorted(shares)
    assert 0 <= at(low, a, b) <= at(high, a, b) + 1e-12 <= 1 + 1e-12
