"""The colours of scores: deviations from the median of their plugin, on one scale for all plugins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.decisions.matrix.spread import STEPS, ScoreSpread
from kschedweb.engine.framework.explanation import ScoreColumn

SCORES = st.integers(0, 100)


@st.composite
def spreads(draw: st.DrawFn) -> ScoreSpread:
    size = draw(st.integers(1, 12))
    columns = []
    for number in range(draw(st.integers(1, 4))):
        scores = np.array(draw(st.lists(SCORES, min_size=size, max_size=size)), dtype=np.int64)
        columns.append(ScoreColumn(f"Plugin{number}", draw(st.integers(1, 5)), scores, scores))
    return ScoreSpread(columns)


@given(spreads())
def test_a_step_grows_with_the_points_from_the_median_whichever_plugin_gives_them(spread: ScoreSpread) -> None:
    points = [
        (float(away), int(step))
        for at in range(len(spread.columns))
        for away, step in zip(spread.compute_deviations(at), spread.color_steps(at), strict=True)
    ]
    steps = [step for _, step in sorted(points)]
    assert steps == sorted(steps)
    for away, step in points:
        assert np.sign(step) == np.sign(away)
        assert abs(step) <= STEPS
    if spread.largest:
        assert STEPS in {abs(step) for _, step in points}


@given(spreads())
def test_a_column_differs_where_not_all_scores_are_equal(spread: ScoreSpread) -> None:
    for at, column in enumerate(spread.columns):
        assert (at in spread.differing) == (len(set(column.weighted.tolist())) > 1)
        if at not in spread.differing:
            assert not spread.color_steps(at).any()


def test_what_decided_between_the_best_is_seen_beside_what_sets_all_of_them_apart() -> None:
    taints = ScoreColumn("Taints", 3, np.array([0, 0, 0, 1]), np.array([100, 100, 100, 0]))
    fit = ScoreColumn("Fit", 1, np.array([80, 60, 50, 55]), np.array([80, 60, 50, 55]))
    spread = ScoreSpread([taints, fit])
    assert spread.largest == 300
    assert spread.color_steps(0).tolist() == [0, 0, 0, -3]
    assert spread.color_steps(1).tolist() == [1, 1, -1, -1]
