"""Pods that name their node: what its kubelet makes of them, and what becomes of those whose node is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    NodeConditions,
    NodeJoins,
    PodArrives,
    Result,
    Simulation,
    SimulationEvent,
    SimulationSettings,
)
from tests.engine.builders import CONFIGURATION, node, pod

TWO, FOUR = {"cpu": "2"}, {"cpu": "4"}
OWNED = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}]}


def simulation(objects: list[dict], events: Sequence[SimulationEvent], **settings: Any) -> Simulation:
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    return Simulation(objects, configuration, events, SimulationSettings(**settings))


def play(objects: list[dict], events: Sequence[SimulationEvent], end: float = 1000.0, **settings: Any) -> Result:
    return simulation(objects, events, **settings).run(end)


def comes(name: str, node: str, at: float = 5.0, requests: dict | None = None, **fields: Any) -> PodArrives:
    return PodArrives(at, pod(name, on=node, requests=requests, **fields))


def test_a_pod_without_room_fails_as_its_kubelet_says() -> None:
    result = play([node("a"), pod("there", on="a", requests=TWO)], [comes("p", "a", requests={"cpu": "2500m"})])
    assert [(failure.pod, failure.node, failure.time, failure.reason) for failure in result.failed] == [
        ("default/p", "a", 5.0, "OutOfcpu")
    ]
    assert result.failed[0].message == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2500, used: 2000, capacity: 4000"
    )
    assert result.pending == []


def test_a_pod_that_failed_leaves_its_room_to_others() -> None:
    events = [comes("p", "a", requests={"cpu": "5"}), PodArrives(6.0, pod("q", requests=FOUR))]
    assert [binding.pod for binding in play([node("a")], events).bound] == ["default/q"]


def test_a_pod_with_room_runs_and_ends() -> None:
    result = play([node("a")], [PodArrives(5.0, pod("p", on="a", requests=FOUR), duration=10.0)])
    assert (result.failed, result.completed) == ([], 1)


def test_a_pod_that_ran_before_is_not_asked_about() -> None:
    raw = {**pod("p", on="a", requests={"cpu": "5"}), "status": {"startTime": "2026-01-01T00:00:00Z"}}
    assert play([node("a")], [PodArrives(5.0, raw)]).failed == []


def test_a_critical_pod_has_others_ended() -> None:
    objects = [node("a"), pod("large", on="a", requests={"cpu": "3"}), pod("small", on="a", requests={"cpu": "1"})]
    result = play(objects, [comes("p", "a", requests={"cpu": "1"}, priorityClassName="system-node-critical")])
    assert [(failure.pod, failure.reason) for failure in result.failed] == [("default/small", "Preempting")]


def test_a_controller_puts_another_pod_in_the_place_of_one_that_failed() -> None:
    raw = pod("p", on="a", requests={"cpu": "5"})
    raw["metadata"] |= OWNED
    big = node("b", allocatable={"cpu": "8"})
    result = play([node("a"), big], [PodArrives(5.0, raw, replaced=True)])
    assert [(binding.pod, binding.node) for binding in result.bound] == [("default/p-again1", "b")]


def test_a_pod_of_a_missing_node_waits_and_is_collected_after_the_quarantine() -> None:
    running = simulation([node("a")], [comes("p", "gone", at=5.0), comes("q", "gone", at=50.0), comes("r", "x", 61.0)])
    early = running.run(59.0)
    assert [(waiting_pod.pod, waiting_pod.message) for waiting_pod in early.pending] == [
        ("default/p", "node gone is not there"),
        ("default/q", "node gone is not there"),
    ]
    # The collector looks at 20 s, 40 s, 60 s, …: it misses gone at 20 s and x at 80 s.
    assert [waiting_pod.pod for waiting_pod in running.run(60.0).pending] == []
    assert [waiting_pod.pod for waiting_pod in running.run(119.0).pending] == ["default/r"]
    assert running.run(120.0).pending == []


def test_a_node_that_joins_in_time_takes_the_pods_that_named_it() -> None:
    events = [comes("p", "b", requests=TWO), comes("q", "b", requests={"cpu": "3"}), NodeJoins(30.0, node("b"))]
    result = play([node("a")], events)
    assert [failure.pod for failure in result.failed] == ["default/q"]
    assert result.failed[0].time == 30.0
    assert result.pending == []
    assert result.samples[-1].bound == 1


def test_without_controllers_nobody_collects() -> None:
    result = play([node("a")], [comes("p", "gone")], controllers=False)
    assert [waiting_pod.pod for waiting_pod in result.pending] == ["default/p"]


def test_a_silent_kubelet_says_nothing_until_it_is_heard_of() -> None:
    events = [
        NodeConditions(1.0, "a", {"Ready": "Unknown"}),
        comes("p", "a", requests={"cpu": "5"}, tolerations=[{"operator": "Exists"}]),
        NodeConditions(90.0, "a", {"Ready": "True"}),
    ]
    assert [(failure.pod, failure.time) for failure in play([node("a")], events).failed] == [("default/p", 90.0)]


def test_the_run_ends_where_only_a_missing_node_was_waited_for() -> None:
    result = simulation([node("a")], [comes("p", "gone")]).run_until_quiet(10_000.0)
    assert result.pending == []
    assert result.end < 700.0
