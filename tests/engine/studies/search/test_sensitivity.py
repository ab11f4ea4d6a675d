"""Dependence of an objective on each dimension."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kschedweb.engine.studies.search.sensitivity import explained_share, group_values

GRID = list(itertools.product(range(5), range(5)))
FIRST, SECOND = [first for first, _ in GRID], [other for _, other in GRID]


def test_a_dimension_that_decides_alone_has_all_of_the_variance() -> None:
    objective = np.array([3.0 * first for first in FIRST])
    assert explained_share(FIRST, objective, numeric=True) == pytest.approx(1.0)
    assert explained_share(SECOND, objective, numeric=True) == 0.0


def test_shares_follow_the_weight_of_each_dimension() -> None:
    objective = np.array([2.0 * first + other for first, other in GRID])
    first, second = explained_share(FIRST, objective, numeric=True), explained_share(SECOND, objective, numeric=True)
    assert first is not None
    assert second is not None
    assert 0.0 < second < 0.7 < first


def test_what_only_both_do_together_is_not_seen() -> None:
    objective = np.array([(first - 2.0) * (other - 2.0) for first, other in GRID])
    assert explained_share(FIRST, objective, numeric=True) == 0.0


def test_chance_is_taken_off() -> None:
    generator = np.random.default_rng(3)
    shares = [
        explained_share(generator.integers(0, 8, 40).tolist(), generator.normal(size=40), numeric=True)
        for _ in range(50)
    ]
    assert np.mean([share for share in shares if share is not None]) < 0.1


def test_words_are_groups_and_many_numbers_eight() -> None:
    assert group_values(["b", "a", "b"], numeric=False).tolist() == [0, 1, 0]
    assert group_values([3, 1, 2], numeric=True).tolist() == [2, 0, 1]
    many = group_values(np.linspace(0.0, 1.0, 80).tolist(), numeric=True)
    assert np.bincount(many).tolist() == [10] * 8


@pytest.mark.parametrize("values", [[1, 2, 3], [1] * 20])
def test_too_little_says_nothing(values: list[int]) -> None:
    assert explained_share(values, np.arange(len(values), dtype=np.float64), numeric=True) is None


def test_an_objective_that_never_changes_depends_on_nothing() -> None:
    assert explained_share(FIRST, np.full(25, 7.0), numeric=True) == 0.0
