"""Evictions of 1.13: the recorded answers hold them in bulk, here one rule at a time."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.search_request import WITH_POST_FILTER, SearchRequest
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.scenario.classic import ClassicScenario
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import scheduler


def low(name: str, on: str, priority: int = 0, cpu: str = "2", **more: Any) -> Json:
    return pod(name, on=on, requests={"cpu": cpu}, priority=priority, **more)


def high(**more: Any) -> Json:
    return pod("high", requests={"cpu": "4"}, priority=10, **more)


def try_pod(raw: Json, *objects: Json, **how: Any) -> Placement:
    return scheduler(*objects, **how).find(Pod.from_json(raw), WITH_POST_FILTER)


def budget(allowed: int) -> Json:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "kept"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_the_node_whose_first_victim_matters_least_is_taken() -> None:
    placed = try_pod(high(), node("a"), node("b"), low("p", "a", 5), low("q", "b", 4), low("r", "b", 4))
    assert (placed.nominated, placed.victims) == ("b", ("default/q", "default/r"))
    assert placed.message == placed.condition == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_budget_counts_no_eviction_against_the_next() -> None:
    labels = {"app": "kept"}
    placed_pods = [low("p", "a", labels=labels), low("q", "a", labels=labels), low("r", "b", 9)]
    assert try_pod(high(), node("a"), node("b"), *placed_pods, budget(1)).nominated == "a"
    assert try_pod(high(), node("a"), node("b"), *placed_pods, budget(0)).nominated == "b"


def test_no_eviction_uncordons_a_node_and_an_earlier_promise_is_void() -> None:
    raw = {**high(), "status": {"nominatedNodeName": "a"}}
    assert try_pod(raw, node("a", unschedulable=True), low("p", "a")).nominated == ""
    assert try_pod({**raw, "spec": {**raw["spec"], "priority": -1}}, node("a"), low("p", "a")).nominated is None


def test_a_pod_waits_for_those_that_leave_its_node() -> None:
    leaving = low("p", "a")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    raw = {**high(), "status": {"nominatedNodeName": "a"}}
    assert try_pod(raw, node("a"), node("b"), leaving, low("q", "b")).nominated is None
    assert try_pod(high(), node("a"), node("b"), leaving, low("q", "b")).nominated == "a"


def test_room_that_was_promised_is_left_to_a_pod_as_important() -> None:
    promised = {**pod("promised", requests={"cpu": "3"}, priority=10), "status": {"nominatedNodeName": "a"}}
    late_pod = pod("late", requests={"cpu": "2"}, priority=10)
    assert try_pod(late_pod, node("a"), promised).message == "0/1 nodes are available: 1 Insufficient cpu."
    assert try_pod({**late_pod, "spec": {**late_pod["spec"], "priority": 11}}, node("a"), promised).node == "a"
    assert try_pod(late_pod, node("a"), promised, edition=Edition("1.9")).node == "a"


def test_1_9_evicts_nobody() -> None:
    policy = {"predicates": [{"name": "PodFitsResources"}]}
    placed = try_pod(high(), node("a"), low("p", "a"), policy=policy, edition=Edition("1.9"))
    assert (placed.nominated, placed.victims) == (None, ())


def answering(**answers: Any) -> Post:
    return lambda url, body, seconds: (200, json.dumps(answers[url.rpartition("/")[2]]).encode())


def test_where_only_an_extender_says_no_nobody_has_to_go() -> None:
    extender = {"urlPrefix": "http://e", "filterVerb": "filter", "nodeCacheCapable": True}
    post = answering(filter={"NodeNames": [], "FailedNodes": {"a": "not now"}})
    placed = try_pod(pod("p", priority=1), node("a"), low("q", "a"), policy={"extenders": [extender]}, post=post)
    assert (placed.nominated, placed.victims, placed.message) == ("a", (), "0/1 nodes are available: 1 not now.")


def test_what_an_extender_leaves_violates_no_budget() -> None:
    extender = {"urlPrefix": "http://e", "preemptVerb": "preempt", "nodeCacheCapable": True}
    guarded = low("p", "a", labels={"app": "kept"})
    objects = (node("a"), node("b"), guarded, low("q", "b", 9), budget(0))
    remaining_victims = {"a": {"Pods": [{"UID": "default/p"}]}, "b": {"Pods": [{"UID": "default/q"}]}}
    post = answering(preempt={"NodeNameToMetaVictims": remaining_victims})
    assert try_pod(high(), *objects, policy={"extenders": [extender]}, post=post).nominated == "a"
    assert try_pod(high(), *objects).nominated == "b"


def test_a_scenario_on_the_command_line_evicts_where_it_says_so() -> None:
    raw = {"name": "x", "classic": True, "objects": [node("a"), low("p", "a")], "pending": [high()]}
    preemption = ClassicScenario.from_json(raw, {}).explain()["pods"][0]["preemption"]
    assert preemption == {"candidates": {"a": {"pods": ["default/p"], "pdbViolations": 0}}, "node": "a"}
    (placement,) = ClassicScenario.from_json(raw, {}).schedule()["placements"]
    assert "node" not in placement
    (placed,) = ClassicScenario.from_json({**raw, "preempt": True}, {}).schedule()["placements"]
    assert (placed["node"], placed["victims"]) == ("a", ["default/p"])


def test_looking_for_victims_changes_nothing() -> None:
    engine = scheduler(node("a"), low("p", "a"), low("q", "a"))
    before = engine.snapshot.requested.copy()
    for _ in range(2):
        assert engine.find(Pod.from_json(high()), SearchRequest(post_filter=True)).victims == ("default/p", "default/q")
    assert (engine.snapshot.requested == before).all()
    assert [placed_pod.key for placed_pod in engine.snapshot.pods.pods_on(0)] == ["default/p", "default/q"]
