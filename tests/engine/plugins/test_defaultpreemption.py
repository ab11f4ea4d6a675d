"""DefaultPreemption: who may evict others, on which nodes it is tried, and what is said where it does not help."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.plugins.defaultpreemption import DefaultPreemption
from kschedweb.engine.preemption.eligibility import being_preempted
from kschedweb.engine.releases import load
from tests.engine.builders import CONFIGURATION, node, pod, scheduler

NAME = "DefaultPreemption"
FOUND_PLACEMENT = "preemption: found a potential placement for pod on node {}, preempting {} victims"
BY_US = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def placed(name: str, on: str, cpu: str, priority: int = 0) -> dict:
    return pod(name, on=on, requests={"cpu": cpu}, priority=priority)


def leaving(name: str, condition: dict, priority: int = 0) -> dict:
    """A terminating pod that fills node a."""
    raw = placed(name, "a", "4", priority)
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {**raw, "status": {"conditions": [condition]}}


def try_preemption(engine: Scheduler, cpu: str = "2", nominated: str = "", **spec: Any) -> Placement:
    """Schedule a pod of priority 100, and check that its explanation agrees."""
    raw = pod("p", requests={"cpu": cpu}, **{"priority": 100, **spec})
    status = {"nominatedNodeName": nominated} if nominated else {}
    wanting = Pod.from_json({**raw, "status": status})
    explained = engine.explain(wanting, preemption=True).condition
    placement = engine.schedule_one(wanting, SearchRequest(post_filter=True))
    assert placement.condition == explained
    return placement


def test_pods_of_lower_priority_go() -> None:
    placement = try_preemption(scheduler(node("a"), placed("x", "a", "3", priority=99)))
    assert (placement.nominated, placement.victims, placement.post_filter) == (
        "a",
        ("default/x",),
        FOUND_PLACEMENT.format("a", 1),
    )


def test_pods_of_equal_priority_are_no_victims() -> None:
    objects = [node("a"), node("b", allocatable={"cpu": "2"}), placed("x", "a", "4", 100), placed("y", "b", "2", 100)]
    assert try_preemption(scheduler(*objects), cpu="3").post_filter == (
        "preemption: 0/2 nodes are available: "
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )


def test_nodes_that_no_eviction_helps_are_counted() -> None:
    hopeless = [
        node("a", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("b", unschedulable=True),
        node("c", allocatable={"cpu": "1"}),
    ]
    placement = try_preemption(scheduler(*hopeless, node("d"), placed("x", "d", "3", 100)))
    assert placement.post_filter == (
        "preemption: 0/4 nodes are available: "
        "1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
    )


def test_what_still_fails_without_the_victims_is_said() -> None:
    engine = scheduler(node("a"), placed("x", "a", "1"), placed("y", "a", "3", priority=100))
    message = "preemption: 0/1 nodes are available: 1 Insufficient cpu."
    assert try_preemption(engine, priority=50).post_filter == message


def test_a_pod_that_may_never_preempt_says_so() -> None:
    placement = try_preemption(scheduler(node("a"), placed("x", "a", "4")), preemptionPolicy="Never")
    assert placement.post_filter == "preemption: not eligible due to preemptionPolicy=Never."
    assert placement.nominated is None


def test_a_pod_waits_for_its_victims_to_leave() -> None:
    placement = try_preemption(scheduler(node("a"), leaving("x", BY_US)), nominated="a")
    message = "preemption: not eligible due to a terminating pod on the nominated node."
    assert (placement.post_filter, placement.nominated) == (message, None)


@pytest.mark.parametrize("change", [{"reason": "EvictionByEvictionAPI"}, {"status": "False"}])
def test_a_pod_does_not_wait_for_those_it_did_not_evict(change: dict) -> None:
    placement = try_preemption(scheduler(node("a"), leaving("x", BY_US | change)), nominated="a")
    assert (placement.nominated, placement.victims) == ("a", ("default/x",))


def test_a_pod_whose_nominated_node_can_never_take_it_looks_elsewhere() -> None:
    engine = scheduler(node("a", unschedulable=True), node("b"), leaving("x", BY_US), placed("y", "b", "3"))
    placement = try_preemption(engine, nominated="a")
    assert (placement.nominated, placement.victims) == ("b", ("default/y",))


def test_a_nomination_that_came_to_nothing_is_taken_away() -> None:
    assert try_preemption(scheduler(node("a"), placed("x", "a", "4", priority=1000)), nominated="a").nominated == ""


def test_a_pod_that_does_not_terminate_is_not_being_preempted() -> None:
    assert being_preempted(Pod.from_json(leaving("x", BY_US)))
    assert not being_preempted(Pod.from_json({**placed("x", "a", "4"), "status": {"conditions": [BY_US]}}))


@pytest.mark.parametrize(
    ("args", "expected_errors"),
    [
        ({"minCandidateNodesPercentage": 101}, ["Percentage: Invalid value: 101: not in valid range [0, 100]"]),
        ({"minCandidateNodesAbsolute": -1}, ["Absolute: Invalid value: -1: not in valid range [0, inf)"]),
        (
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                "Percentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
                "Absolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
            ],
        ),
    ],
)
def test_it_tries_some_nodes_at_least(args: dict, expected_errors: list[str]) -> None:
    loaded = load({**CONFIGURATION, "profiles": [{"pluginConfig": [{"name": NAME, "args": args}]}]})
    path = "profiles[0].pluginConfig[0].args.minCandidateNodes"
    assert loaded.errors == [f"{path}{error}" for error in expected_errors]


@given(st.integers(0, 5000), st.integers(0, 100), st.integers(0, 200))
def test_it_tries_a_share_of_the_nodes_and_no_fewer_than_the_number_set(nodes: int, share: int, min_nodes: int) -> None:
    plugin = DefaultPreemption({"minCandidateNodesPercentage": share, "minCandidateNodesAbsolute": min_nodes})
    assert plugin.num_candidates(nodes) == min(nodes, max(min_nodes, nodes * share // 100))
    assert DefaultPreemption({}).num_candidates(nodes) == min(nodes, max(100, nodes // 10))
