"""NodeResourcesBalancedAllocation: where a pod brings the use of resources closer together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.builders import explain, node, pod, raw_scores

NAME = "NodeResourcesBalancedAllocation"
E1, E2 = pod("e1", on="n", requests={"cpu": "1500m", "memory": "1Gi"}), pod("e2", on="n")


def balancing(*resources: str) -> dict:
    listed = [{"name": name, "weight": 1} for name in resources]
    return {"pluginConfig": [{"name": NAME, "args": {"resources": listed}}]}


@pytest.mark.parametrize(
    ("requests", "existing", "score"),
    [
        ({"cpu": "500m", "memory": "1Gi"}, [], 75),
        ({"cpu": "1", "memory": "512Mi"}, [E1, E2], 70),
        ({"cpu": "2"}, [], 62),
        ({"cpu": "2"}, [E1], 62),
        ({"memory": "1Gi"}, [E1], 78),
        ({"cpu": "1500m", "memory": "3Gi"}, [], 75),
    ],
)
def test_75_means_as_balanced_as_before(requests: dict, existing: list, score: int) -> None:
    """Vectors given by kube-scheduler 1.36.3's own plugin (node of 4 CPU and 8 GiB)."""
    assert raw_scores(explain(pod("p", requests=requests), node("n"), *existing), NAME) == [score]


def test_a_pod_that_wants_nothing_is_not_scored() -> None:
    assert NAME in explain(pod("p"), node("n"))["skippedScorePlugins"]
    elsewhere = pod("p", requests={"example.com/gpu": "1"})
    assert NAME in explain(elsewhere, node("n", allocatable={"example.com/gpu": "1"}))["skippedScorePlugins"]


def test_balance_enabled_for_score_alone_is_nothing_to_a_pod_that_wants_nothing() -> None:
    # No PreScore skips the pod then, and the scheduler's Score does what PreScore would have done.
    plugins = {"multiPoint": {"disabled": [{"name": NAME}]}, "score": {"enabled": [{"name": NAME}]}}
    assert raw_scores(explain(pod("p"), node("n"), E1, plugins=plugins), NAME) == [0]
    assert raw_scores(explain(pod("p", requests={"cpu": "1"}), node("n"), plugins=plugins), NAME) == [68]


def test_resources_of_the_profile_count_where_the_node_has_them() -> None:
    gpus = {"example.com/gpu": "4"}
    incoming_pod = pod("p", requests={"cpu": "2", "memory": "4Gi", "example.com/gpu": "1"})
    profile = balancing("cpu", "memory", "example.com/gpu")
    assert raw_scores(explain(incoming_pod, node("n", allocatable=gpus), **profile), NAME) == [69]
    assert raw_scores(explain(incoming_pod, node("n", allocatable=gpus), **balancing("cpu")), NAME) == [75]


@settings(max_examples=40)
@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 4), st.integers(0, 4))
def test_scores_stay_between_50_and_100_and_75_divides_worse_from_better(
    used: int, stored: int, requested_cpu: int, requested_memory: int
) -> None:
    other = pod("q", on="n", requests={"cpu": str(used), "memory": f"{2 * stored}Gi"})
    raw = pod("p", requests={"cpu": str(requested_cpu), "memory": f"{2 * requested_memory}Gi"})
    answer = explain(raw, node("n"), other, plugins={"filter": {"disabled": [{"name": "NodeResourcesFit"}]}})
    (score,) = raw_scores(answer, NAME)
    assert 50 <= score <= 100
    # Both resources are quarters of the node here; a share in use is at most the whole.
    before, after = abs(used - stored), abs(min(4, used + requested_cpu) - min(4, stored + requested_memory))
    if after <= before:
        assert score >= 75
    else:
        assert score < 75
