from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.rightsizing.histogram import CPU_BUCKETS, EPSILON, MEMORY_BUCKETS, Buckets, Histograms

HOUR = 3600 * 10**9
BEGIN = 1_767_225_600 * 10**9  # 2026-01-01
ROWS = 3
samples = st.lists(
    st.tuples(st.integers(0, ROWS - 1), st.floats(0, 2000), st.integers(-20, 400).map(lambda hours: hours * HOUR)),
    max_size=40,
)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def filled(listed: list[tuple[int, float, int]], half_life: int = HOUR) -> Histograms:
    """The samples one after the other."""
    histograms = Histograms(CPU_BUCKETS, half_life, ROWS)
    for row, value, time in listed:
        histograms.add_samples(column([row]), np.array([value]), 0.1, column([BEGIN + time]))
    return histograms


@pytest.mark.parametrize("buckets", [CPU_BUCKETS, MEMORY_BUCKETS])
def test_each_bucket_is_five_percent_wider_and_is_found_from_its_middle(buckets: Buckets) -> None:
    assert buckets.count == 176
    widths = np.diff(buckets.starts)
    assert np.allclose(widths[1:] / widths[:-1], 1.05)
    assert (buckets.find_buckets(buckets.starts[:-1] + widths / 2) == np.arange(buckets.count - 1)).all()
    assert list(buckets.find_buckets(np.array([0.0, 1e300]))) == [0, buckets.count - 1]


@given(samples)
def test_samples_added_at_once_are_those_added_one_by_one(listed: list[tuple[int, float, int]]) -> None:
    """To the last bit, also where references move: these histories are longer than 100 half-lives."""
    single, whole = filled(listed), Histograms(CPU_BUCKETS, HOUR, ROWS)
    rows, values, times = (list(part) for part in zip(*listed, strict=True)) if listed else ([], [], [])
    whole.add_samples(column(rows), np.array(values, np.float64), 0.1, column([BEGIN + time for time in times]))
    assert (whole.weights == single.weights).all()
    assert (whole.total == single.total).all()
    for share in (0.0, 0.5, 0.9, 1.0):
        assert (whole.percentile(share) == single.percentile(share)).all()


@given(samples)
def test_percentiles_rise_and_are_ends_of_buckets(listed: list[tuple[int, float, int]]) -> None:
    histograms = filled(listed, half_life=24 * HOUR)
    columns = [histograms.percentile(share) for share in (0.0, 0.3, 0.5, 0.9, 1.0)]
    assert all((lower <= other).all() for lower, other in pairwise(columns))
    assert np.isin(columns, CPU_BUCKETS.starts).all()


def test_a_sample_weighs_half_as_much_as_one_a_half_life_later() -> None:
    histograms = filled([(0, 1.0, 0), (0, 8.0, HOUR)])
    first, second = histograms.weights[0][CPU_BUCKETS.find_buckets(np.array([1.0, 8.0]))]
    assert (first, second) == (0.1, 0.2)
    assert 8.0 < histograms.percentile(0.34)[0] < 8.5
    assert 1.0 < histograms.percentile(0.33)[0] < 1.1


def test_what_is_forgotten_counts_no_more() -> None:
    assert filled([(0, 50.0, 0), (0, 1.0, 400 * HOUR)]).percentile(0.0)[0] < 1.1


def test_a_sample_that_replaces_another_leaves_no_weight_of_it() -> None:
    histograms = filled([(1, 4.0, 0)])
    assert histograms.percentile(0.5)[1] > 4.0
    histograms.replace_samples(column([1]), np.array([4.0]), np.array([1.0]), 0.1, column([BEGIN]))
    assert 1.0 < histograms.percentile(1.0)[1] < 1.1
    assert histograms.total[1] == histograms.weights[1].max() == histograms.weights[1].sum() == 0.1


@given(st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 60), st.lists(st.floats(0.01, 900), min_size=1))))
def test_samples_replaced_at_once_are_those_replaced_one_by_one(listed: list[tuple[int, int, list[float]]]) -> None:
    """Rising values of one time, each in place of the one before it, also where references move."""
    single, whole = (Histograms(CPU_BUCKETS, HOUR, ROWS) for _ in range(2))
    changes = [
        (row, earlier, value, BEGIN + day * 24 * HOUR)
        for row, day, drawn in listed
        for earlier, value in pairwise([0.0, *sorted(drawn)])
    ]
    for row, earlier, value, time in changes:
        single.replace_samples(column([row]), np.array([earlier]), np.array([value]), 1.0, column([time]))
    rows, replaced, values, times = (list(part) for part in zip(*changes, strict=True)) if changes else ([],) * 4
    whole.replace_samples(column(rows), np.array(replaced), np.array(values), 1.0, column(times))
    for ours, theirs in zip(whole.to_columns().values(), single.to_columns().values(), strict=True):
        assert (ours == theirs).all()


def test_a_bucket_of_little_weight_counts_as_empty() -> None:
    assert filled([(0, 1.0, 0), (0, 30.0, -20 * HOUR)]).weights.max() == 0.1
    histograms = filled([(0, 1.0, 0), (0, 30.0, -20 * HOUR)])
    assert 0 < histograms.weights[0][CPU_BUCKETS.find_buckets(np.array([30.0]))][0] < EPSILON
    assert histograms.percentile(1.0)[0] < 1.1
