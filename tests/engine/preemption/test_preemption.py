from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from tests.engine.builders import node, pod, scheduler


def placed(name: str, on: str, *, priority: int = 0, cpu: str = "1", **fields: Any) -> dict:
    raw = pod(name, on=on, requests={"cpu": cpu}, priority=priority, labels=fields.get("labels"))
    raw["status"] = {"startTime": fields.get("started", "2026-01-01T00:00:00Z")}
    return raw


def incoming(cpu: str, priority: int = 100, **spec: Any) -> Pod:
    return Pod.from_json(pod("p", requests={"cpu": cpu}, priority=priority, **spec))


def preemption(engine: Scheduler, incoming_pod: Pod) -> dict | None:
    return engine.explain(incoming_pod, preemption=True).to_dict().get("preemption")


def budget(allowed: int) -> dict:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "kept"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_only_as_many_pods_go_as_must_and_the_least_important_ones() -> None:
    pods = [placed(f"q{number}", "a", priority=number) for number in range(4)]
    answer = preemption(scheduler(node("a"), *pods), incoming("2"))
    assert answer == {"candidates": {"a": {"pods": ["default/q1", "default/q0"], "pdbViolations": 0}}, "node": "a"}


def test_pods_of_the_same_priority_stay() -> None:
    assert preemption(scheduler(node("a"), placed("q", "a", priority=100, cpu="4")), incoming("2")) is None


def test_a_node_where_no_budget_is_violated_is_taken() -> None:
    guarded = placed("kept", "a", cpu="4", labels={"app": "kept"})
    engine = scheduler(node("a"), node("b"), guarded, placed("q", "b", priority=50, cpu="4"), budget(0))
    answer = preemption(engine, incoming("2"))
    assert answer is not None
    assert answer["candidates"]["a"]["pdbViolations"] == 1
    assert answer["node"] == "b"


def test_of_equal_pods_the_one_that_started_last_goes() -> None:
    old, young = placed("old", "a", cpu="2"), placed("young", "a", cpu="2", started="2026-01-02T00:00:00Z")
    answer = preemption(scheduler(node("a"), old, young), incoming("2"))
    assert answer is not None
    assert answer["candidates"]["a"]["pods"] == ["default/young"]


def test_nodes_that_can_never_have_room_are_no_candidates() -> None:
    small = node("b", allocatable={"cpu": "1"})
    engine = scheduler(node("a"), small, placed("q", "a", cpu="4"), placed("r", "b"))
    answer = preemption(engine, incoming("2"))
    assert answer is not None
    assert list(answer["candidates"]) == ["a"]


def test_a_pod_that_may_never_preempt_does_not() -> None:
    engine = scheduler(node("a"), placed("q", "a", cpu="4"))
    assert preemption(engine, incoming("2", preemptionPolicy="Never")) is None


def test_removing_an_unwanted_neighbour_makes_room() -> None:
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "q"}}}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    engine = scheduler(node("a"), placed("q", "a", labels={"app": "q"}), placed("other", "a"))
    answer = preemption(engine, incoming("1", affinity=affinity))
    assert answer is not None
    assert answer["candidates"]["a"]["pods"] == ["default/q"]


def test_asking_evicts_nobody() -> None:
    engine = scheduler(node("a"), placed("q", "a", cpu="4"))
    preemption(engine, incoming("2"))
    assert engine.snapshot.requested[0, 0] == 4000
    assert engine.explain(incoming("2")).preemption is None


def test_scheduling_by_force_evicts_and_places() -> None:
    engine = scheduler(node("a"), placed("q", "a", cpu="3"), placed("r", "a", priority=100))
    assert engine.schedule_one(incoming("2")).node == ""
    by_force = engine.schedule_one(incoming("2"), SearchRequest(preempt=True))
    assert by_force.to_dict() == {
        "pod": "default/p",
        "node": "a",
        "evaluated": 1,
        "feasible": 1,
        "victims": ["default/q"],
    }
    assert sorted(engine.snapshot.pods.slots) == ["default/p", "default/r"]


def test_what_fails_after_the_evictions_is_not_what_is_told() -> None:
    terms = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "p"}}}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    keeper = placed("keeper", "a")
    keeper["spec"]["affinity"] = affinity
    zone = {"zone": "1"}
    # With room on two nodes there is something to score, which fails where a plugin was not prepared.
    plugins = {"preScore": {"disabled": [{"name": "TaintToleration"}]}}
    engine = scheduler(node("a", labels=zone), node("b", labels=zone), keeper, plugins=plugins)
    incoming_pod = Pod.from_json(pod("p", labels={"app": "p"}, priority=100))
    assert engine.schedule_one(incoming_pod, SearchRequest(post_filter=True)).victims == ("default/keeper",)
    by_force = engine.schedule_one(incoming_pod, SearchRequest(preempt=True))
    assert by_force.message == "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."
    assert (by_force.node, by_force.victims) == ("", ())
