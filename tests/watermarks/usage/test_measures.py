"""Skew, distribution and extremes of recorded use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kschedweb.watermarks.usage import measures

PERCENT = st.floats(0, 400) | st.just(float("nan"))
TABLES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=PERCENT)


def test_skew_is_the_hottest_minus_the_coldest_and_names_both() -> None:
    skew = measures.compute_skew(np.array([[68.0, 27.0, 40.0], [10.0, 20.0, 30.0]]))
    assert skew.points.tolist() == [41.0, 20.0]
    assert skew.hottest.tolist() == [0, 2]
    assert skew.coldest.tolist() == [1, 0]
    assert skew.deviation[1] == pytest.approx(8.1649658)
    assert skew.variation[1] == pytest.approx(40.8248290)


@given(TABLES)
def test_skew_equals_numpy_over_what_is_known_of_each_time(values: np.ndarray) -> None:
    skew = measures.compute_skew(values)
    for time, row in enumerate(values):
        known_values = row[~np.isnan(row)]
        assert skew.node_count[time] == known_values.size
        if not known_values.size:
            assert np.isnan([skew.points[time], skew.mean[time], skew.deviation[time]]).all()
            assert (skew.hottest[time], skew.coldest[time]) == (-1, -1)
            continue
        assert skew.points[time] == known_values.max() - known_values.min()
        assert row[skew.hottest[time]] == known_values.max()
        assert row[skew.coldest[time]] == known_values.min()
        assert skew.mean[time] == pytest.approx(known_values.mean())
        assert skew.deviation[time] == pytest.approx(known_values.std(), abs=1e-9)


def test_a_cluster_without_nodes_has_no_skew() -> None:
    skew = measures.compute_skew(np.empty((3, 0)))
    assert np.isnan(skew.points).all()
    assert skew.last_known() is None
    assert measures.compute_distribution(np.empty(0)) is None


def test_an_idle_cluster_has_no_variation_rather_than_an_endless_one() -> None:
    assert np.isnan(measures.compute_skew(np.zeros((1, 3))).variation).all()


def test_the_newest_known_time_is_the_last_one_with_any_figure() -> None:
    nan = float("nan")
    assert measures.compute_skew(np.array([[1.0, nan], [nan, 2.0], [nan, nan]])).last_known() == 1


@given(arrays(np.float64, st.integers(1, 40), elements=PERCENT | st.floats(0, 1e6)))
def test_every_known_node_is_in_one_bar(values: np.ndarray) -> None:
    distribution = measures.compute_distribution(values)
    known_values = values[~np.isnan(values)]
    if not known_values.size:
        assert distribution is None
        return
    assert distribution is not None
    assert distribution.counts.sum() == distribution.node_count == known_values.size
    assert distribution.edges[0] == 0
    assert distribution.edges[-1] >= max(100.0, known_values.max())
    assert len(distribution.edges) == len(distribution.counts) + 1 <= measures.MOST_BARS + 1
    assert list(distribution.quantiles) == sorted(distribution.quantiles)
    assert (distribution.quantiles[0], distribution.quantiles[-1]) == (known_values.min(), known_values.max())


@given(TABLES, st.integers(1, 6))
def test_lines_of_the_heatmap_hold_every_place_once_in_order(values: np.ndarray, max_rows: int) -> None:
    names = [f"node-{column}" for column in range(values.shape[1])]
    order = measures.order_columns(names, measures.compute_means(values))
    assert sorted(order.tolist()) == list(range(len(names)))
    rows = measures.group_rows(names, values, order, 1, len(names), max_rows)
    assert len(rows) == min(max_rows, len(names))
    assert [place for row in rows for place in range(row.first, row.last + 1)] == list(range(1, len(names) + 1))
    for row in rows:
        block = values[:, order[row.first - 1 : row.last]]
        for time, mean in enumerate(row.mean):
            known_values = block[time][~np.isnan(block[time])]
            assert np.isnan(mean) if not known_values.size else mean == pytest.approx(known_values.mean())


def test_the_hottest_node_comes_first_and_one_without_figures_last() -> None:
    nan = float("nan")
    values = np.array([[10.0, nan, 30.0], [20.0, nan, 30.0]])
    assert measures.order_columns(["a", "b", "c"], measures.compute_means(values)).tolist() == [2, 0, 1]
    assert measures.order_columns(["c", "b", "a"], measures.compute_means(values), by_name=True).tolist() == [2, 1, 0]


def test_a_line_of_one_node_has_its_name_and_a_line_of_several_their_places() -> None:
    values = np.array([[1.0, 2.0, 3.0]])
    order = measures.order_columns(["a", "b", "c"], measures.compute_means(values))
    assert [row.label for row in measures.group_rows(["a", "b", "c"], values, order, 1, 3, 2)] == ["places 1 to 2", "a"]
    assert [row.label for row in measures.group_rows(["a", "b", "c"], values, order, 2, 9, 5)] == ["b", "a"]


def test_the_hottest_and_the_coldest_are_those_of_the_asked_time() -> None:
    values = np.array([[90.0, 10.0, 50.0], [20.0, 30.0, float("nan")]])
    hot, cold = measures.find_extremes(["a", "b", "c"], values, 1, 1)
    assert [(node.name, node.now, node.high) for node in hot] == [("b", 30.0, 30.0)]
    assert [(node.name, node.now, node.high) for node in cold] == [("a", 20.0, 90.0)]
