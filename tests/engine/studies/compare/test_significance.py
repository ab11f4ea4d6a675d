"""Significance of a difference over several seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.studies.compare.significance import compute_p_value, compute_spread


def test_the_permutation_test_agrees_with_a_count_by_hand() -> None:
    # Differences 1, 2, 3: of the 8 ways to set the signs only +++ and --- are as far from 0.
    assert compute_p_value([0, 0, 0], [1, 2, 3]) == pytest.approx(2 / 8)
    # Differences 3, -1: the sums are 2, 4, -4, -2: all four are as far.
    assert compute_p_value([0, 1], [3, 0]) == pytest.approx(1.0)
    assert compute_p_value([5.0, 5.0], [5.0, 5.0]) == 1.0


def test_one_seed_says_nothing() -> None:
    assert compute_p_value([1.0], [2.0]) is None
    assert compute_spread([1.0], [2.0]) == 0.0


def test_values_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="there are 2 values and 1"):
        compute_p_value([1.0, 2.0], [1.0])


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=9))
def test_significance_is_the_same_either_way_round(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    p_value = compute_p_value(first, second)
    assert p_value is not None
    assert p_value == compute_p_value(second, first)
    assert 2 / 2 ** len(pairs) <= p_value <= 1.0


def test_many_pairs_are_drawn_from_and_come_near_the_exact_value() -> None:
    generator = np.random.default_rng(3)
    first, noise = generator.normal(0, 1, 30), generator.normal(0, 1, 30)
    alike = compute_p_value(first.tolist(), (first + noise).tolist())
    p_of_shifted = compute_p_value(first.tolist(), (first + noise + 2.0).tolist())
    assert alike is not None
    assert p_of_shifted is not None
    assert alike > 0.05 > 0.001 > p_of_shifted


def test_the_spread_is_half_of_students_interval() -> None:
    # Differences 1, 2, 3: a standard deviation of 1, and 4.303 of Student's t with two degrees of freedom.
    assert compute_spread([0, 0, 0], [1, 2, 3]) == pytest.approx(4.303 / 3**0.5)
    assert compute_spread([5.0, 5.0], [7.0, 7.0]) == 0.0
    many = np.random.default_rng(3).normal(0, 1, 64)
    assert compute_spread([0.0] * 64, many.tolist()) == pytest.approx(1.96 * many.std(ddof=1) / 8)


def test_of_policies_that_are_alike_the_spread_covers_nineteen_differences_of_twenty() -> None:
    generator = np.random.default_rng(5)
    for seeds in (3, 6):
        drawn = generator.normal(0, 1, (2000, 2, seeds))
        within_spread = [
            abs(two[1].mean() - two[0].mean()) < compute_spread(two[0].tolist(), two[1].tolist()) for two in drawn
        ]
        assert np.mean(within_spread) == pytest.approx(0.95, abs=0.02)
