"""Peaks where the recorded answers do not look, and its pitfalls by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.plugins.peaks import OUT_OF_RANGE, cheapest_first, cpu_request, power_rise, to_femtowatts
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import node, pod
from tests.engine.state.watermarks.observed import NOW, levels, make_snapshot, scores

PLUGIN = "Peaks"
LOW, HIGH = {"k0": 100.0, "k1": 20.0, "k2": 0.02}, {"k0": 300.0, "k1": 50.0, "k2": 0.03}
CORE = pod("new", requests={"cpu": "1"})


def test_the_smallest_rise_is_the_best() -> None:
    models = {"a": LOW, "b": LOW, "c": HIGH}
    # Rises of 20 e^0.4 (e^0.2 - 1), 20 e^0.8 (e^0.2 - 1) and 50 e^0.6 (e^0.3 - 1) watts: 6.61, 9.85, 31.9.
    node_scores = scores(PLUGIN, make_snapshot(levels(a=20, b=40, c=20)), CORE, nodePowerModel=models)
    assert node_scores == {"a": 100, "b": 88, "c": 0}


def test_k0_has_no_effect() -> None:
    models = {"a": LOW, "b": LOW | {"k0": 9000.0}}
    assert set(scores(PLUGIN, make_snapshot(levels(a=20, b=20)), CORE, nodePowerModel=models).values()) == {100}


@pytest.mark.parametrize("spelling", ["nodePowerModel", "NodePowerModel"])
def test_both_spellings_of_the_models_are_read(spelling: str) -> None:
    models = {"a": LOW, "b": HIGH}
    assert scores(PLUGIN, make_snapshot(levels(a=20, b=20)), CORE, **{spelling: models}) == {"a": 100, "b": 0}


def test_raw_0_is_the_best() -> None:
    """Without metrics, without a model, or overloaded by the pod: nothing is known to cost anything."""
    models = {"known": LOW, "dearer": HIGH, "silent": HIGH, "overloaded": HIGH}
    nodes = levels(known=20, dearer=20, silent=None, unmodelled=20, overloaded=95)
    node_scores = scores(PLUGIN, make_snapshot(nodes), CORE, nodePowerModel=models)
    assert node_scores == {"known": 80, "dearer": 0, "silent": 100, "unmodelled": 100, "overloaded": 100}


def test_a_node_that_the_pod_fills_to_the_last_percent_is_not_overloaded() -> None:
    node_scores = scores(
        PLUGIN, make_snapshot(levels(full=90, half=40)), CORE, nodePowerModel={"full": LOW, "half": LOW}
    )
    assert node_scores == {"full": 0, "half": 100}


def test_where_all_raw_scores_are_0_they_stay_0() -> None:
    assert scores(PLUGIN, make_snapshot(levels(a=20, b=None)), CORE) == {"a": 0, "b": 0}
    assert scores(PLUGIN, Snapshot.from_objects([node("a")]), CORE, nodePowerModel={"a": LOW}) == {"a": 0}


def test_a_negative_rise_beats_raw_0() -> None:
    models = {"sinking": {"k0": 0.0, "k1": -1.0, "k2": 0.01}}
    node_scores = scores(PLUGIN, make_snapshot(levels(sinking=20, unknown=None)), CORE, nodePowerModel=models)
    assert node_scores == {"sinking": 100, "unknown": 0}


def test_one_node_is_the_best() -> None:
    assert cheapest_first(np.array([8131394391029080])).tolist() == [100]


def test_the_worst_node_may_keep_a_point() -> None:
    """Upstream divides as floats and cuts: 100 × d ÷ d may be a little less than 100."""
    assert cheapest_first(np.array([0, 8474322627452517, 12642203791413920])).tolist() == [100, 33, 1]


def test_capacity_counts_and_not_allocatable() -> None:
    raw = node("a", allocatable={"cpu": "2"})
    raw["status"]["capacity"] = {"cpu": "10"}
    other = node("b", allocatable={"cpu": "10"})
    snapshot = Snapshot.from_objects([raw, other])
    figures = {"a": {"updated": NOW, "cpu": {"15m": 100}}, "b": {"updated": NOW, "cpu": {"15m": 20}}}
    snapshot.watermarks = Watermarks.from_json({"nodes": figures}, snapshot.names)
    assert scores(PLUGIN, snapshot, CORE, nodePowerModel={"a": LOW, "b": LOW}) == {"a": 100, "b": 100}


@pytest.mark.parametrize(
    ("containers", "init", "overhead", "expected"),
    [(["300m", "200m"], "900m", "100m", 1000), (["1"], "0", "100m", 1100), (["0"], "0", "100m", 0)],
)
def test_overhead_is_added_only_to_a_request(containers: list[str], init: str, overhead: str, expected: int) -> None:
    raw = pod("new", overhead={"cpu": overhead})
    raw["spec"]["containers"] = [
        {"name": f"c{at}", "resources": {"requests": {"cpu": cpu}}} for at, cpu in enumerate(containers)
    ]
    raw["spec"]["initContainers"] = [{"name": "init", "resources": {"requests": {"cpu": init}}}]
    assert cpu_request(Pod.from_json(raw)) == expected


def test_what_64_bits_do_not_hold_is_the_lowest_number_as_on_amd64() -> None:
    watts = np.array([1.0, -1.0, 1e5, -1e5, np.inf, np.nan, 1e-16])
    assert to_femtowatts(watts).tolist() == [10**15, -(10**15), *[OUT_OF_RANGE] * 4, 0]


percent = st.floats(0, 100)


@given(percent, st.lists(percent, min_size=2, max_size=2), st.floats(0.01, 500), st.floats(1e-4, 0.1))
def test_more_use_is_never_cheaper(use: float, expected: list[float], k1: float, k2: float) -> None:
    low, high = power_rise(np.full(2, use), np.array(sorted(expected)), np.full(2, k1), np.full(2, k2))
    assert low <= high


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=12))
def test_normalised_scores_are_in_range_and_turn_the_order_around(raw: list[int]) -> None:
    scores = np.array(raw, dtype=np.int64)
    normalized = cheapest_first(scores)
    assert ((normalized >= 0) & (normalized <= 100)).all()
    order = np.argsort(scores, kind="stable")
    if any(raw):
        assert (np.diff(normalized[order]) <= 0).all()
    assert cheapest_first(scores[::-1]).tolist() == normalized[::-1].tolist()
