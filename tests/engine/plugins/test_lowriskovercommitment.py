"""LowRiskOverCommitment where the recorded answers do not look, and its pitfalls by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Node, Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.lowriskovercommitment import (
    LowRiskOverCommitment,
    NodeRequestsAndLimits,
    compute_probability,
    limit_risk,
)
from kschedweb.engine.state.columns import ALL
from tests.engine.builders import node, pod
from tests.engine.state.watermarks.observed import Figures, alone, levels, make_snapshot, scores

PLUGIN = "LowRiskOverCommitment"


def asking(name: str, requests: str, limits: str, **fields: Any) -> dict:
    resources = {"requests": {"cpu": requests}, "limits": {"cpu": limits}}
    return pod(name, container={"resources": resources}, **fields)


def steady(mean: float) -> Figures:
    return {"cpu": {"15m": mean, "15m_std": 0.0}}


SMALL = asking("new", "1", "1")


def test_a_best_effort_pod_gets_nothing_anywhere() -> None:
    assert scores(PLUGIN, make_snapshot(levels(a=0)), pod("new")) == {"a": 0}
    assert scores(PLUGIN, make_snapshot(levels(a=0)), SMALL) == {"a": 100}


def test_a_node_without_metrics_gets_nothing() -> None:
    nodes = {**levels(known=0, unknown=None), "others": {"cpu": {"1h": 10.0}}}
    # A node of which only other figures are known is measured, for its limits alone.
    assert scores(PLUGIN, make_snapshot(nodes), SMALL) == {"known": 100, "unknown": 0, "others": 100}
    assert scores(PLUGIN, Snapshot.from_objects([node("a")]), SMALL) == {"a": 0}


def test_limits_above_the_node_are_a_risk_as_far_as_requests_do_not_cover_them() -> None:
    existing_pod = asking("there", "4", "12", on="a")
    # Limits of 13 on 10 CPUs, requests of 5: 3 of the 8 between are not there; half of that risk counts.
    assert scores(PLUGIN, make_snapshot(levels(a=0), existing_pod), SMALL) == {"a": 81}  # 1 - 3 / 16
    assert scores(PLUGIN, make_snapshot(levels(a=0), existing_pod), SMALL, riskLimitWeights={"cpu": 0}) == {"a": 100}
    assert scores(PLUGIN, make_snapshot(levels(a=0), existing_pod), SMALL, riskLimitWeights={"cpu": 1}) == {
        "a": 63
    }  # 62.5


def test_halves_are_rounded_away_from_zero() -> None:
    existing_pod = asking("there", "4", "12", on="a")
    assert scores(PLUGIN, make_snapshot(levels(a=0), existing_pod), SMALL, riskLimitWeights={"cpu": 1.0}) == {"a": 63}


def test_use_above_the_requests_is_a_risk() -> None:
    existing_pod = asking("there", "4", "12", on="a")
    weights = {"cpu": 0.0}
    assert scores(PLUGIN, make_snapshot({"a": steady(40)}, existing_pod), SMALL, riskLimitWeights=weights) == {"a": 100}
    assert scores(PLUGIN, make_snapshot({"a": steady(40.1)}, existing_pod), SMALL, riskLimitWeights=weights) == {"a": 0}


def test_what_is_above_the_limits_is_ruled_out() -> None:
    figures = {"a": {"cpu": {"15m": 40.0, "15m_std": 5.0}}}
    loose, tight = asking("there", "4", "12", on="a"), asking("there", "4", "5", on="a")
    weights = {"cpu": 0.0}
    free = scores(PLUGIN, make_snapshot(figures, loose), SMALL, riskLimitWeights=weights)["a"]
    bounded = scores(PLUGIN, make_snapshot(figures, tight), SMALL, riskLimitWeights=weights)["a"]
    assert 50 <= free < bounded < 100


def test_an_empty_node_is_no_risk() -> None:
    """Nothing may be used there, so what is used does not count: 0 of 0."""
    assert scores(PLUGIN, make_snapshot({"a": steady(50)}), SMALL) == {"a": 100}


def test_allocatable_counts_and_not_capacity() -> None:
    raw = node("a", allocatable={"cpu": "2"})
    raw["status"]["capacity"] = {"cpu": "10"}
    snapshot = Snapshot.from_objects([raw])
    snapshot.watermarks = make_snapshot(levels(a=0)).watermarks
    assert scores(PLUGIN, snapshot, asking("new", "1", "4"), riskLimitWeights={"cpu": 1}) == {"a": 33}


def test_requests_count_up_to_what_the_node_has() -> None:
    plugin = LowRiskOverCommitment({})
    snapshot = make_snapshot(levels(a=0), asking("there", "15", "20", on="a"))
    amounts = plugin.node_requests_and_limits(snapshot, (1000, 0, 2000, 0), "cpu")
    assert (amounts.request[0], amounts.request_before[0]) == (10000, 10000)
    assert (amounts.limit[0], amounts.limit_before[0]) == (22000, 20000)


def test_weights_outside_0_to_1_count_as_a_half_and_others_stay() -> None:
    weights = {"cpu": 1.5, "memory": 0.25, "example.com/gpu": 3.0}
    plugin = alone_with(riskLimitWeights=weights)
    assert plugin.weights == {"cpu": 0.5, "memory": 0.25}
    assert alone_with(riskLimitWeights={"memory": 0.0}).weights == {"cpu": 0.5, "memory": 0.0}
    assert alone_with(smoothingWindowSize=0).window == alone_with(smoothingWindowSize=-3).window == 5


def alone_with(**args: Any) -> LowRiskOverCommitment:
    plugin = alone(PLUGIN, make_snapshot(levels(a=0)), **args).framework(Pod.from_json(SMALL)).plugin(PLUGIN)
    assert isinstance(plugin, LowRiskOverCommitment)
    return plugin


def test_promises_follow_the_pods() -> None:
    plugin, pod_promises = LowRiskOverCommitment({}), (0, 0, 0, 0)
    snapshot = make_snapshot(levels(a=0, b=0), asking("first", "1", "2", on="a"))

    def limits() -> list[int]:
        limit_column: list[int] = plugin.node_requests_and_limits(snapshot, pod_promises, "cpu").limit.tolist()
        return limit_column

    assert limits() == [2000, 0]
    snapshot.add_pod(Pod.from_json(asking("second", "1", "3", on="b")), 1)
    assert limits() == [2000, 3000]
    snapshot.remove_pod("default/first")
    assert limits() == [0, 3000]
    emptied = snapshot.with_emptied_nodes({1: snapshot.nodes[1]})
    assert plugin.node_requests_and_limits(emptied, pod_promises, "cpu").limit.tolist() == [0, 0]


def test_what_is_kept_of_the_risk_of_load_follows_pods_nodes_and_figures() -> None:
    plugin = LowRiskOverCommitment({"riskLimitWeights": {"cpu": 0.0}})
    nodes = {name: {"cpu": {"15m": 40.0, "15m_std": 5.0}} for name in ("a", "b", "c")}
    snapshot = make_snapshot(nodes, asking("first", "4", "12", on="a"))

    def kept_and_fresh(snapshot: Snapshot) -> list[int]:
        cycle = Cycle(snapshot, Pod.from_json(SMALL))
        remembered = plugin.score(cycle, ALL)
        fresh = LowRiskOverCommitment({"riskLimitWeights": {"cpu": 0.0}}).score(cycle, ALL)
        assert remembered.tolist() == fresh.tolist()
        assert plugin.score(cycle, np.array([2, 0])).tolist() == fresh[[2, 0]].tolist()
        return [int(score) for score in remembered]

    before = kept_and_fresh(snapshot)
    other = snapshot.copy()
    other.add_pod(Pod.from_json(asking("second", "3", "12", on="b")), 1)
    assert kept_and_fresh(other) != before
    assert kept_and_fresh(snapshot) == before
    crowded = kept_and_fresh(other)
    changed = other.with_nodes([Node.from_json(node("b", allocatable={"cpu": "5", "memory": "10Gi"}))])
    assert kept_and_fresh(changed)[1] != crowded[1]
    snapshot.watermarks = make_snapshot({name: steady(1) for name in nodes}).watermarks
    assert kept_and_fresh(snapshot) == [100, 100, 100]


share = st.floats(0, 1)


measurable = st.just(0.0) | st.floats(1e-5, 1)


@given(measurable, measurable, st.lists(share, min_size=2, max_size=2))
def test_a_higher_threshold_is_never_less_probable(mean: float, deviation: float, thresholds: list[float]) -> None:
    deviation = min(deviation, (mean * (1 - mean) * 0.99) ** 0.5)
    two = np.full(2, mean), np.full(2, deviation)
    (low, high), *_ = compute_probability(*two, np.array(sorted(thresholds)))
    assert 0 <= low <= high + 1e-12 <= 1 + 1e-12


amount = st.integers(0, 40_000)


@given(amount, amount, amount, amount)
def test_more_limits_are_never_less_risk(request: int, more: int, limit: int, allocatable: int) -> None:
    size = np.full(2, float(allocatable))
    requests = np.minimum(np.full(2, float(request)), size)
    limits = np.array([request + limit, request + limit + more], dtype=np.float64)
    low, high = limit_risk(NodeRequestsAndLimits(size, requests, limits, requests, limits))
    assert 0 <= low <= high <= 1


@given(
    st.lists(st.tuples(st.floats(0, 110), st.floats(0, 60), st.integers(0, 12), st.integers(0, 12)), max_size=6),
    st.integers(1, 4),
)
def test_scores_stay_in_range_and_do_not_depend_on_the_order_of_nodes(
    node_figures: list[tuple[float, float, int, int]], cpus: int
) -> None:
    nodes = {f"n{at}": {"cpu": {"15m": mean, "15m_std": spread}} for at, (mean, spread, *_) in enumerate(node_figures)}
    pods = [
        asking(f"p{at}", str(requested), str(requested + more), on=f"n{at}")
        for at, (*_, requested, more) in enumerate(node_figures)
    ]
    raw = asking("new", "0", str(cpus))

    def given_scores(figures: dict) -> dict[str, int]:
        snapshot = make_snapshot(figures, *pods)
        score_column = LowRiskOverCommitment({}).score(Cycle(snapshot, Pod.from_json(raw)), ALL)
        return dict(zip(snapshot.names, score_column.tolist(), strict=True))

    node_scores = given_scores(nodes)
    assert all(0 <= score <= 100 for score in node_scores.values())
    assert node_scores == given_scores(dict(reversed(nodes.items())))


@pytest.mark.parametrize("deviation", [0.0, 1e-12])
def test_a_use_without_variation_is_below_the_threshold_or_not(deviation: float) -> None:
    mean, spread = np.full(3, 0.5), np.full(3, deviation)
    probabilities, alpha, _ = compute_probability(mean, spread, np.array([0.4, 0.5, 0.6]))
    assert probabilities.tolist() == ([0.0, 1.0, 1.0] if deviation == 0 else [0.0, 0.0, 0.0])  # upstream gives up there
    assert not np.isfinite(alpha).any()
