"""Frames are bounded, whatever the number of nodes, and say what the outcome says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.playground.runs import charts
from kschedweb.playground.runs.maps import frames, nodes
from tests.support import seed_runs


@given(st.integers(0, 10_000), st.floats(0, 1e7))
def test_the_times_of_frames_are_even_and_bounded(nodes: int, end: float) -> None:
    at = frames.frame_times(end, nodes)
    assert frames.FEWEST_TIMES <= len(at) <= frames.MOST_TIMES
    assert len(at) * nodes <= max(frames.MOST_VALUES, frames.FEWEST_TIMES * nodes)
    assert at[0] == 0
    assert at[-1] == end
    assert np.allclose(np.diff(at), end / (len(at) - 1))


@pytest.mark.parametrize("count", [1, 50, 51, 333])
def test_rows_hold_every_node_once_fullest_first(count: int) -> None:
    generator = np.random.default_rng(count)
    values = generator.uniform(0, 100, (24, count)).astype(np.float32)
    rows = frames.heatmap_rows(frames.Frames(np.arange(24.0), [f"n{place}" for place in range(count)], values))
    assert len(rows) == min(count, frames.MOST_ROWS)
    assert sum(row.count for row in rows) == count
    means = [float(row.values.mean()) for row in rows]
    assert means == sorted(means, reverse=True)


def test_every_chart_of_a_run_is_json_with_a_sentence_and_a_table() -> None:
    outcome = seed_runs.outcome()
    at = frames.frame_times(outcome.end, len(outcome.nodes))
    over = frames.Frames(at, outcome.nodes, nodes.map_values(outcome, "cpu", at))
    for chart in (
        charts.pending_chart(outcome),
        charts.heatmap_chart(over, frames.heatmap_rows(over), nodes.list_shows(outcome)["cpu"], outcome.end),
    ):
        json.dumps(chart.figure, allow_nan=False)
        assert chart.summary.endswith(".")
        assert {len(row) for row in chart.rows} == {len(chart.head)}
