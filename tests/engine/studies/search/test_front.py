"""Best trials of many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kschedweb.engine.studies.search.front import compute_distances, find_pareto_front, to_costs

COSTS = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(0, 4).map(float))


def test_the_front_holds_what_no_other_betters() -> None:
    costs = np.array([[1.0, 5.0], [2.0, 2.0], [3.0, 3.0], [5.0, 1.0], [2.0, 2.0], [np.nan, 0.0]])
    assert find_pareto_front(costs).tolist() == [True, True, False, True, True, False]


@given(COSTS)
def test_every_other_trial_is_bettered_by_one_of_the_front(costs: np.ndarray) -> None:
    members = find_pareto_front(costs)
    assert members.any()
    for row in np.flatnonzero(~members):
        assert any(
            (costs[member] <= costs[row]).all() and (costs[member] < costs[row]).any()
            for member in np.flatnonzero(members)
        )
    for row in np.flatnonzero(members):
        assert not any((other_costs <= costs[row]).all() and (other_costs < costs[row]).any() for other_costs in costs)


def test_higher_is_turned_into_lower() -> None:
    assert to_costs(np.array([[1.0, 2.0]]), [True, False]).tolist() == [[1.0, -2.0]]


def test_distances_go_from_the_best_of_everything_to_the_worst_of_the_front() -> None:
    costs = np.array([[0.0, 10.0], [10.0, 0.0], [2.0, 2.0], [9.0, 9.0]])
    members = find_pareto_front(costs)
    far = compute_distances(costs, members)
    assert np.isnan(far[3])
    assert far[:3].argmin() == 2
    assert far[0] == far[1] == np.sqrt(0.5)
    assert compute_distances(np.array([[3.0]]), np.array([True])).tolist() == [0.0]
