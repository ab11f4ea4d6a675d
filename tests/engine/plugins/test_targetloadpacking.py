"""TargetLoadPacking where the recorded answers do not look, and its pitfalls by name."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.plugins.targetloadpacking import FIXED_50, packing_scores
from kschedweb.engine.state.watermarks.capacity import capacity_percent, node_capacity
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import node, pod
from tests.engine.state.watermarks.observed import NOW, alone, levels, make_snapshot, mark_scheduled, scores, using

PLUGIN = "TargetLoadPacking"


def at(seconds: float) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_published_curve() -> None:
    nodes = levels(a=0, b=32.5, c=40, d=45, e=87.5, f=101)
    assert scores(PLUGIN, make_snapshot(nodes)) == {"a": 40, "b": 89, "c": 100, "d": 37, "e": 8, "f": 0}


def test_the_pod_s_use_is_added_in_percent_of_the_node() -> None:
    assert scores(PLUGIN, make_snapshot(levels(a=30)), using("new", "1")) == {"a": 100}


def test_the_score_drops_at_the_target() -> None:
    below, at_target, above = packing_scores(np.array([40 - 1e-9, 40.0, 40 + 1e-9]), 40.0)
    assert below == pytest.approx(100)
    assert at_target == 100
    assert above == pytest.approx(40)


def test_halves_are_rounded_away_from_zero() -> None:
    # 1.5 × 3 + 40 = 44.5, which Python would round to 44.
    assert scores(PLUGIN, make_snapshot(levels(a=3))) == {"a": 45}


def full_and_allocatable(full: str | None, allocatable: str, percent: float, key: str = "15m") -> Snapshot:
    raw = node("a", allocatable={"cpu": allocatable})
    if full is not None:
        raw["status"]["capacity"] = {"cpu": full}
    snapshot = Snapshot.from_objects([raw])
    snapshot.watermarks = Watermarks.from_json({"nodes": {"a": {"updated": NOW, "cpu": {key: percent}}}}, ["a"])
    return snapshot


def test_capacity_counts_and_not_allocatable() -> None:
    # 50 % of 4 allocatable CPUs are 20 % of 10; a pod of 1 CPU is 10 % more.
    assert scores(PLUGIN, full_and_allocatable("10", "4", 50), using("new", "1")) == {"a": 85}


def test_a_figure_in_percent_of_capacity_is_read_to_the_last_bit() -> None:
    for percent in (0.1, 33.33, 99.99, 100 / 3, 48.11018174142402):
        measured = full_and_allocatable("10", "9500m", percent, "15m_capacity")
        assert capacity_percent(measured, "cpu", "15m").tolist() == [percent]
        for cpus in ("3", "9500m", "47906m"):
            assert capacity_percent(full_and_allocatable(cpus, cpus, percent), "cpu", "15m").tolist() == [percent]


def test_a_node_that_does_not_name_its_capacity_keeps_nothing_back() -> None:
    assert node_capacity(full_and_allocatable(None, "4", 50), "cpu").tolist() == [4000]
    assert node_capacity(full_and_allocatable("0", "4", 50), "cpu").tolist() == [0]


def test_of_a_node_without_capacity_nothing_is_used() -> None:
    assert scores(PLUGIN, full_and_allocatable("0", "0", 50), using("new", "1"), targetUtilization=30) == {"a": 30}


def test_a_node_without_metrics_gets_nothing() -> None:
    only_memory = {"memory": {"15m": 10.0}}
    only_deviation = {"cpu": {"15m_std": 10.0}}
    another_window = {"cpu": {"1h": 10.0}}
    nodes = {**levels(known=10, unknown=None), "m": only_memory, "s": only_deviation, "w": another_window}
    expected = {"known": 55, "unknown": 0, "m": 0, "s": 0, "w": 0}
    assert scores(PLUGIN, make_snapshot(nodes)) == expected
    unmeasured = Snapshot.from_objects([node("a")])
    assert scores(PLUGIN, unmeasured) == {"a": 0}


def test_metrics_never_expire() -> None:
    assert scores(PLUGIN, make_snapshot(levels(a=10), updated=0.0)) == {"a": 55}


@pytest.mark.parametrize(
    ("bound", "counts"), [(-3600, False), (-60, False), (-59, True), (-1, True), (0, True), (1, True), (3600, True)]
)
def test_a_pod_counts_that_was_placed_within_a_minute_of_the_figures_or_later(bound: float, counts: bool) -> None:
    placed_pod = mark_scheduled(using("there", "1", on="a"), at(bound))
    assert scores(PLUGIN, make_snapshot(levels(a=10), placed_pod)) == {"a": 70 if counts else 55}


def test_seconds_are_whole_where_times_are_compared() -> None:
    placed_pod = mark_scheduled(using("there", "1", on="a"), at(-60))
    assert scores(PLUGIN, make_snapshot(levels(a=10), placed_pod, updated=NOW + 0.9)) == {"a": 55}
    assert scores(PLUGIN, make_snapshot(levels(a=10), placed_pod, updated=NOW - 0.1)) == {"a": 70}
    snapshot = make_snapshot(levels(a=10))
    snapshot.now = NOW - 59.1
    snapshot.place_pod(Pod.from_json(using("just now", "1")), "a")
    assert scores(PLUGIN, snapshot) == {"a": 55}


def test_a_pod_of_which_nobody_knows_when_it_was_placed_is_in_the_figures() -> None:
    assert scores(PLUGIN, make_snapshot(levels(a=10), using("there", "1", on="a"))) == {"a": 55}


def test_each_placed_pod_counts_for_the_next_one() -> None:
    snapshot = make_snapshot(levels(a=35, b=0))
    scheduler = alone(PLUGIN, snapshot)
    pods = [Pod.from_json(using(f"p{turn}", "1")) for turn in range(3)]
    # On a the first pod would be above the target; b then fills up to it.
    assert [placement.node for placement in scheduler.schedule_pods(pods)] == ["b", "b", "b"]
    assert scores(PLUGIN, snapshot, using("new", "1")) == {"a": 37, "b": 100}
    snapshot.remove_pod("default/p1")
    assert scores(PLUGIN, snapshot, using("new", "1")) == {"a": 37, "b": 85}


def containers(*resources: dict) -> dict:
    raw = pod("new", initContainers=[{"name": "init", "resources": {"limits": {"cpu": "9"}}}])
    raw["spec"]["containers"] = [
        {"name": f"c{at}", "resources": container_resources} for at, container_resources in enumerate(resources)
    ]
    return raw


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, 2000),
        ({"limits": {"cpu": "0"}, "requests": {"cpu": "1"}}, 0),
        ({"requests": {"cpu": "1"}}, 1500),
        ({"requests": {"cpu": "333m"}}, 500),  # 499.5
        ({"requests": {"cpu": "0"}}, 0),
        ({"requests": {"memory": "1Gi"}}, 1000),
        ({}, 1000),
    ],
)
def test_what_a_container_is_expected_to_use(resources: dict, expected: int) -> None:
    snapshot = make_snapshot(levels(a=0))
    plugin = alone(PLUGIN, snapshot).framework(Pod.from_json(pod("p"))).plugin(PLUGIN)
    raw = containers(resources, {"limits": {"cpu": "1m"}})
    assert plugin.predict_pod_use(Pod.from_json(raw)) == expected + 1
    raw["spec"]["overhead"] = {"cpu": "7m"}
    assert plugin.predict_pod_use(Pod.from_json(raw)) == expected + 8


def test_a_target_above_100_makes_scores_that_the_framework_refuses() -> None:
    scheduler = alone(PLUGIN, make_snapshot(levels(a=50, b=60)), targetUtilization=120)
    with pytest.raises(CycleError, match=r'plugin "TargetLoadPacking" returns an invalid score 112, it should'):
        scheduler.explain(Pod.from_json(using("new", "0")))
    assert "invalid score 112" in scheduler.schedule_one(Pod.from_json(using("new", "0"))).message


def test_with_a_target_of_100_nothing_is_above_it() -> None:
    assert scores(PLUGIN, make_snapshot(levels(a=0, b=99, c=100, d=101)), targetUtilization=100) == {
        "a": 100,
        "b": 100,
        "c": 100,
        "d": 0,
    }


def test_the_first_releases_start_from_50_above_the_target() -> None:
    """The founding article calls the constant wrong: with a low target a node above it beats one below."""
    nodes = levels(empty=0, full=10, above=12)
    assert scores(PLUGIN, make_snapshot(nodes), targetUtilization=10) == {"empty": 10, "full": 100, "above": 10}
    fixed = {"empty": 10, "full": 100, "above": 49}
    assert scores(PLUGIN, make_snapshot(nodes), targetUtilization=10, penalty="Fixed50") == fixed
    use = np.arange(0.0, 101.0)
    old, published = packing_scores(use, 10.0, FIXED_50), packing_scores(use, 10.0)
    assert (old[use > 10].max(), published[use > 10].max()) == (pytest.approx(445 / 9), pytest.approx(89 / 9))
    assert old[use > 10].max() > old[use < 4].max()
    assert published[use > 10].max() < published.min(where=use <= 10, initial=math.inf)


@given(st.integers(1, 99), st.lists(st.floats(0, 200), min_size=2, max_size=20), st.sampled_from(["Target", "Fixed50"]))
def test_scores_rise_to_the_target_and_fall_behind_it(target: int, uses: list[float], penalty: str) -> None:
    use = np.sort(np.array(uses))
    fine_scores = packing_scores(use, float(target), penalty)
    assert ((fine_scores >= 0) & (fine_scores <= 100 + 1e-9) | (penalty == "Fixed50")).all()
    assert (np.diff(fine_scores[use <= target]) >= -1e-9).all()
    assert (np.diff(fine_scores[use > target]) <= 1e-9).all()
    if penalty == "Target":
        assert fine_scores[use > target].max(initial=0) <= fine_scores[use <= target].min(initial=math.inf) + 1e-9


@given(
    st.lists(st.floats(0, 120), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.integers(0, 4000),
)
def test_the_order_of_nodes_does_not_matter(uses: list[float], random: Random, milli: int) -> None:
    use_by_node = {f"n{at}": use for at, use in enumerate(uses)}
    shuffled = list(use_by_node.items())
    random.shuffle(shuffled)
    raw = using("new", f"{milli}m")
    assert scores(PLUGIN, make_snapshot(levels(**use_by_node)), raw) == scores(
        PLUGIN, make_snapshot(levels(**dict(shuffled))), raw
    )
