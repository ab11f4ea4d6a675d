"""LoadVariationRiskBalancing where the recorded answers do not look, and its pitfalls by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Snapshot
from kschedweb.engine.plugins.loadvariationriskbalancing import risk_scores
from tests.engine.builders import node, pod
from tests.engine.state.watermarks.observed import Figures, levels, make_snapshot, mark_scheduled, scores, using

PLUGIN = "LoadVariationRiskBalancing"
share = st.floats(0, 1)
factor = st.floats(0, 10)


def use(mean: float | None, deviation: float | None = None, resource: str = "cpu") -> Figures:
    return {resource: {"15m": mean, "15m_std": deviation}}


def test_risk_is_half_the_mean_and_half_the_deviation() -> None:
    half_a_core = pod("new", requests={"cpu": "500m"})
    nodes = {"calm": use(30, 10), "busy": use(60, 20)}
    # 73.75 and 53.75 by hand.
    assert scores(PLUGIN, make_snapshot(nodes, cpu="4"), half_a_core) == {"calm": 74, "busy": 54}


def test_halves_are_rounded_away_from_zero() -> None:
    assert scores(PLUGIN, make_snapshot({"a": use(1), "b": use(3)})) == {"a": 100, "b": 99}  # 99.5 and 98.5


def test_allocatable_counts_and_not_capacity() -> None:
    raw = node("a", allocatable={"cpu": "5"})
    raw["status"]["capacity"] = {"cpu": "10"}
    snapshot = Snapshot.from_objects([raw])
    snapshot.watermarks = make_snapshot({"a": use(50)}).watermarks
    assert scores(PLUGIN, snapshot, pod("new", requests={"cpu": "1"})) == {"a": 65}  # (50 + 20) / 2 below 100


def test_the_riskier_resource_decides_where_both_are_measured() -> None:
    both = use(20) | use(60, resource="memory")
    nodes = {"cpu": use(20), "memory": use(60, resource="memory"), "both": both}
    assert scores(PLUGIN, make_snapshot(nodes)) == {"cpu": 90, "memory": 70, "both": 70}


def test_a_node_without_metrics_gets_nothing() -> None:
    assert scores(PLUGIN, make_snapshot(levels(known=0, unknown=None))) == {"known": 100, "unknown": 0}
    assert scores(PLUGIN, make_snapshot({"another": {"cpu": {"1h": 5.0}}})) == {"another": 0}
    assert scores(PLUGIN, Snapshot.from_objects([node("a")])) == {"a": 0}


def test_a_deviation_alone_makes_a_node_look_idle() -> None:
    assert scores(PLUGIN, make_snapshot({"a": use(None, 12)})) == {"a": 94}


def test_what_a_node_does_not_have_scores_nothing_there() -> None:
    assert scores(PLUGIN, make_snapshot({"a": use(0)}, cpu="0")) == {"a": 0}
    assert scores(PLUGIN, make_snapshot({"a": use(0) | use(0, resource="memory")}, cpu="0")) == {"a": 0}


def test_margin_multiplies_and_sensitivity_draws_the_root() -> None:
    snapshot = make_snapshot({"a": use(30, 16)})
    assert scores(PLUGIN, snapshot) == {"a": 77}
    assert scores(PLUGIN, snapshot, safeVarianceMargin=2) == {"a": 69}
    assert scores(PLUGIN, snapshot, safeVarianceSensitivity=2) == {"a": 65}
    assert scores(PLUGIN, snapshot, safeVarianceMargin=0) == {"a": 85}
    assert scores(PLUGIN, snapshot, safeVarianceMargin=-1, safeVarianceSensitivity=-0.5) == {"a": 77}


def test_with_sensitivity_0_a_deviation_below_the_whole_does_not_count() -> None:
    nodes = {"calm": use(30, 0), "wild": use(30, 99), "whole": use(30, 100)}
    node_scores = scores(PLUGIN, make_snapshot(nodes), safeVarianceSensitivity=0)
    assert node_scores == {"calm": 85, "wild": 85, "whole": 35}


def test_pods_that_are_newer_than_the_figures_are_not_added() -> None:
    existing_pod = mark_scheduled(using("there", "5", on="a"), "2026-09-21T13:46:40Z")
    assert scores(PLUGIN, make_snapshot(levels(a=20), existing_pod)) == {"a": 90}


def test_the_request_is_the_larger_of_containers_and_an_init_container_with_overhead() -> None:
    raw = pod("new", requests={"cpu": "1"}, overhead={"cpu": "1"})
    raw["spec"]["initContainers"] = [{"name": "init", "resources": {"requests": {"cpu": "3"}}}]
    assert scores(PLUGIN, make_snapshot(levels(a=0)), raw) == {"a": 80}


@given(st.lists(share, min_size=2, max_size=2), share, factor, factor)
def test_more_use_is_never_better(means: list[float], deviation: float, margin: float, sensitivity: float) -> None:
    low, high = risk_scores(np.array(sorted(means)), np.full(2, deviation), margin, sensitivity)
    assert 0 <= high <= low <= 100


@given(share, st.lists(share, min_size=2, max_size=2), factor, factor)
def test_more_variation_is_never_better(
    mean: float, deviations: list[float], margin: float, sensitivity: float
) -> None:
    low, high = risk_scores(np.full(2, mean), np.array(sorted(deviations)), margin, sensitivity)
    assert 0 <= high <= low + 1e-9 <= 100 + 1e-9


@given(st.lists(st.tuples(st.floats(0, 130), st.floats(0, 130)), min_size=1, max_size=6))
def test_the_order_of_nodes_does_not_matter(uses: list[tuple[float, float]]) -> None:
    nodes = {f"n{at}": use(mean, deviation) for at, (mean, deviation) in enumerate(uses)}
    backwards = dict(reversed(nodes.items()))
    assert scores(PLUGIN, make_snapshot(nodes)) == scores(PLUGIN, make_snapshot(backwards))


@pytest.mark.parametrize("mean", [100.0, 130.0])
def test_a_full_node_keeps_half_the_points(mean: float) -> None:
    assert scores(PLUGIN, make_snapshot({"a": use(mean)}), pod("new", requests={"cpu": "1"})) == {"a": 50}
