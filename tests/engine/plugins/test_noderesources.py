"""Vectors given by kube-scheduler 1.36.3's own plugins (node of 4 CPU and 8 GiB)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.plugins.noderesourcesfit import broken_line
from tests.engine.builders import explain, node, normalized_scores, pod, raw_scores

SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 70, "score": 10}, {"utilization": 100, "score": 3}]
E1 = pod("e1", on="n", requests={"cpu": "1500m", "memory": "1Gi"})
E2 = pod("e2", on="n")


def fit(strategy: str) -> dict:
    scoring: dict = {"type": strategy, "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    if strategy == "RequestedToCapacityRatio":
        scoring["requestedToCapacityRatio"] = {"shape": SHAPE}
    return {
        # The filter is off, so that the pod that asks for too much is scored as well.
        "plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": scoring}}],
    }


@pytest.mark.parametrize(
    ("requests", "existing", "least", "most", "ratio", "balanced"),
    [
        ({"cpu": "500m", "memory": "1Gi"}, [], 87, 12, 17, 75),
        ({}, [], 97, 2, 2, None),
        ({}, [E1, E2], 69, 29, 42, None),
        ({"cpu": "1", "memory": "512Mi"}, [E1, E2], 56, 43, 61, 70),
        ({"cpu": "2"}, [E1], 48, 50, 41, 62),
        ({"memory": "6Gi"}, [E1], 36, 63, 59, 69),
        ({"cpu": "3", "memory": "7Gi"}, [E1], 0, 100, 30, 81),
    ],
)
def test_scores_are_those_of_the_real_plugins(
    requests: dict, existing: list, least: int, most: int, ratio: int, balanced: int | None
) -> None:
    strategies = {"LeastAllocated": least, "MostAllocated": most, "RequestedToCapacityRatio": ratio}
    for strategy, score in strategies.items():
        answer = explain(pod("p", requests=requests), node("n"), *existing, **fit(strategy))
        assert raw_scores(answer, "NodeResourcesFit") == [score]
        if balanced is None:
            assert "NodeResourcesBalancedAllocation" in answer["skippedScorePlugins"]
        else:
            assert normalized_scores(answer, "NodeResourcesBalancedAllocation") == [balanced]


def test_balance_enabled_for_score_alone_is_nothing_to_a_pod_that_wants_nothing() -> None:
    # No PreScore skips the pod then, and the scheduler's Score does what PreScore would have done.
    plugins = {
        "multiPoint": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]},
        "score": {"enabled": [{"name": "NodeResourcesBalancedAllocation"}]},
    }
    answer = explain(pod("p"), node("n"), E1, plugins=plugins)
    assert raw_scores(answer, "NodeResourcesBalancedAllocation") == [0]
    answer = explain(pod("p", requests={"cpu": "1"}), node("n"), plugins=plugins)
    assert raw_scores(answer, "NodeResourcesBalancedAllocation") != [0]


def test_every_shortage_is_a_reason_of_the_same_status() -> None:
    small = node("n", allocatable={"cpu": "1", "memory": "1Gi", "pods": "0"})
    wanted = {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "1Gi", "nvidia.com/gpu": "1", "hugepages-2Mi": "2Mi"}
    answer = explain(pod("p", requests=wanted), small)
    assert answer["rejected"]["n"]["code"] == "UnschedulableAndUnresolvable"
    assert answer["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient ephemeral-storage, 1 Insufficient hugepages-2Mi, "
        "1 Insufficient memory, 1 Insufficient nvidia.com/gpu, 1 Too many pods."
    )


def test_a_shortage_that_evictions_could_mend_is_only_unschedulable() -> None:
    answer = explain(pod("p", requests={"cpu": "3"}), node("n"), pod("q", on="n", requests={"cpu": "2"}))
    assert answer["rejected"]["n"]["code"] == "Unschedulable"


def test_ignored_resources_are_not_checked() -> None:
    for ignored in ({"ignoredResources": ["example.com/x"]}, {"ignoredResourceGroups": ["example.com"]}):
        args = {"pluginConfig": [{"name": "NodeResourcesFit", "args": ignored}]}
        assert explain(pod("p", requests={"example.com/x": "1"}), node("n"), **args)["chosen"] == "n"


def test_a_filter_without_its_pre_filter_is_an_error() -> None:
    profile = {"plugins": {"preFilter": {"disabled": [{"name": "NodeResourcesFit"}]}}}
    answer = explain(pod("p"), node("n"), **profile)
    assert answer["rejected"]["n"] == {
        "plugin": "NodeResourcesFit",
        "code": "Error",
        "reasons": [
            'running "NodeResourcesFit" filter plugin: '
            'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
        ],
    }


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=6, unique_by=lambda p: p[0]))
def test_a_broken_line_goes_through_its_points_and_stays_between_them(points: list[tuple[int, int]]) -> None:
    points.sort()
    line = broken_line([{"utilization": at, "score": score} for at, score in points])
    assert len(line) == 101
    for at, score in points:
        assert line[at] == score * 10
    for (left, low), (right, high) in pairwise(points):
        between = line[left : right + 1]
        assert np.all((between >= 10 * min(low, high)) & (between <= 10 * max(low, high)))
