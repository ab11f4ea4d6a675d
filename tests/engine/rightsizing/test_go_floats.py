from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.rightsizing.go_floats import exp2, log, power

# What Go 1.26 gives on amd64, where C gives another last bit: (argument, result).
LOGARITHMS = (
    ("0x1.aec740f8c4747p-2", "-0x1.bb54618d4a3d8p-1"),
    ("0x1.489205dbd24b5p+1", "0x1.e2ac4f22a0c38p-1"),
    ("0x1.730fdddcca39cp-1", "-0x1.49aeb4fddad40p-2"),
    ("0x1.a5cd1861c74d2p-2", "-0x1.c61cb635f3b20p-1"),
)
POWERS_OF_TWO = (
    ("0x1.f9f92f1e03dc4p+4", "0x1.8a59d173131dfp+31"),
    ("0x1.d967dd0f16818p+4", "0x1.80c57284b2776p+29"),
    ("-0x1.5bb8e8832ef10p+2", "0x1.7b34cf9e0ac2ap-6"),
    ("0x1.7b63298c1c082p+5", "0x1.575277d0696eep+47"),
)
POWERS = (
    (-2, "0x1.01f0a5903079cp+0", "0x1.f853c4eda1f41p-1"),
    (-2, "0x1.7c0e0cd20c6ecp+0", "0x1.d09bcdd71588dp-2"),
    (-2, "0x1.762c283dd3225p+1", "0x1.df54ec758056bp-4"),
    (4, "0x1.0cccccccccccdp+0", "0x1.372b6ae7d566dp+0"),
    (8, "0x1.0cccccccccccdp+0", "0x1.7a3a851c5f065p+0"),
)


def columns(pairs: tuple[tuple[str, str], ...]) -> list[np.ndarray]:
    return [np.array([float.fromhex(text) for text in column]) for column in zip(*pairs, strict=True)]


def test_the_last_bit_is_that_of_go() -> None:
    for function, pairs in ((log, LOGARITHMS), (exp2, POWERS_OF_TWO)):
        arguments, results = columns(pairs)
        assert (function(arguments) == results).all()
    for exponent, argument, result in POWERS:
        assert power(float.fromhex(argument), exponent) == float.fromhex(result)


@given(st.floats(1e-300, 1e300))
def test_a_logarithm_is_that_of_c_but_for_the_last_bit(x: float) -> None:
    assert log(np.array([x]))[0] == pytest.approx(math.log(x), rel=3e-16, abs=1e-16)


@given(st.floats(-1000, 1000))
def test_a_power_of_two_is_that_of_c_but_for_the_last_bit(x: float) -> None:
    assert exp2(np.array([x]))[0] == pytest.approx(2.0**x, rel=3e-16)


def test_whole_powers_of_two_are_exact_down_to_the_smallest_number() -> None:
    whole = np.arange(-1074, 1024)
    assert (exp2(whole.astype(np.float64)) == np.ldexp(1.0, whole)).all()
    assert exp2(np.array([-1075.0, -1e9]))[0] == 0.0


@given(st.floats(1, 1e6), st.integers(-20, 40))
def test_a_whole_power_is_that_of_c_but_for_rounding(x: float, exponent: int) -> None:
    assert power(x, exponent) == pytest.approx(x**exponent, rel=1e-14)


def test_a_power_of_what_has_no_end() -> None:
    assert (power(math.inf, -2), power(math.inf, 1), power(math.inf, 2)) == (0.0, math.inf, math.inf)
