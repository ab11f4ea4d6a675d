"""A cluster over time: what happens to pods and nodes, and what the scheduler makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PodArrives,
    PodChanges,
    PodLeaves,
    Result,
    Simulation,
    SimulationError,
    SimulationEvent,
    SimulationSettings,
    make_replica,
)
from tests.engine.builders import CONFIGURATION, node, pod

TWO = {"cpu": "2"}  # half a node


def simulate(objects: list[dict], events: Sequence[SimulationEvent], end: float = 1000.0, **settings: Any) -> Result:
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    return Simulation(objects, configuration, events, SimulationSettings(**settings)).run(end)


def high(name: str, **fields: Any) -> dict:
    return pod(name, requests=TWO, priorityClassName="high", **fields)


HIGH = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def list_bindings(result: Result) -> list[tuple[str, str, float]]:
    return [(binding.pod.removeprefix("default/"), binding.node, round(binding.time, 3)) for binding in result.bound]


def test_a_pod_is_bound_after_one_cycle_and_ends_after_its_duration() -> None:
    result = simulate([node("a")], [PodArrives(5.0, pod("p", requests=TWO), duration=10.0)], cycle=0.5, sample=1.0)
    assert list_bindings(result) == [("p", "a", 5.5)]
    assert result.bound[0].waited == 0.5
    assert result.completed == 1
    used = {sample.time: sample.use["cpu"] for sample in result.samples}
    assert (used[5.0], used[6.0], used[15.0], used[16.0]) == (0.0, 0.5, 0.5, 0.0)


def test_one_pod_is_scheduled_after_the_other() -> None:
    result = simulate([node("a")], [PodArrives(0.0, pod(name)) for name in "abc"], cycle=0.25)
    assert [(name, time) for name, _, time in list_bindings(result)] == [("a", 0.25), ("b", 0.5), ("c", 0.75)]


def test_a_pod_without_room_is_bound_when_another_ends() -> None:
    events = [PodArrives(float(time), pod(f"p{time}", requests=TWO), duration=100.0) for time in range(3)]
    result = simulate([node("a")], events)
    assert list_bindings(result)[2] == ("p2", "a", 100.002)
    assert result.bound[2].attempts == 2
    assert [rejection.by for rejection in result.rejected] == [("NodeResourcesFit",)]


def test_a_pod_that_never_fits_is_tried_each_five_minutes() -> None:
    result = simulate([node("a")], [PodArrives(0.0, pod("p", requests={"cpu": "9"}))], end=1000.0)
    assert [round(rejection.time, 3) for rejection in result.rejected] == [0.001, 330.001, 660.001, 990.001]
    assert [(waiting_pod.pod, waiting_pod.attempts) for waiting_pod in result.pending] == [("default/p", 4)]
    assert result.pending[0].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_victims_leave_after_their_grace_period_and_the_preemptor_takes_their_place() -> None:
    low = [PodArrives(float(number), pod(f"low{number}", requests=TWO)) for number in range(2)]
    events = [*low, PodArrives(10.0, high("high"))]
    result = simulate([node("a"), HIGH], events)
    assert [(eviction.pod, eviction.reason, round(eviction.leaves, 3)) for eviction in result.evicted] == [
        ("default/low1", "preempted by default/high", 40.001)
    ]
    assert result.rejected[0].nominated == "a"
    assert list_bindings(result)[-1] == ("high", "a", 40.002)


def test_nobody_takes_the_room_that_was_made_for_another() -> None:
    low = [PodArrives(float(number), pod(f"low{number}", requests=TWO)) for number in range(2)]
    late = PodArrives(40.0005, pod("late", requests=TWO))
    result = simulate([node("a"), HIGH], [*low, PodArrives(10.0, high("high")), late], end=100.0)
    assert list_bindings(result)[-1][0] == "high"
    assert [waiting_pod.pod for waiting_pod in result.pending] == ["default/late"]


def test_a_victim_with_a_controller_comes_back_as_another_pod() -> None:
    low = [PodArrives(float(number), pod(f"low{number}", requests=TWO), 500.0, True) for number in range(2)]
    result = simulate([node("a"), HIGH], [*low, PodArrives(10.0, high("high"), duration=60.0)])
    assert list_bindings(result)[2:] == [("high", "a", 40.002), ("low1-again1", "a", 100.003)]
    assert result.completed == 3


def test_a_gated_pod_waits_for_its_gate() -> None:
    gated = pod("p", schedulingGates=[{"name": "g"}])
    result = simulate([node("a")], [PodArrives(0.0, gated), PodChanges(50.0, pod("p"))], sample=10.0)
    assert list_bindings(result) == [("p", "a", 50.001)]
    assert result.bound[0].attempts == 1
    assert [sample.gated for sample in result.samples][:6] == [0, 1, 1, 1, 1, 0]


def test_a_new_node_takes_who_waits() -> None:
    events = [
        PodArrives(0.0, pod("p", nodeSelector={"kind": "new"})),
        NodeJoins(60.0, node("b", labels={"kind": "new"})),
    ]
    assert list_bindings(simulate([node("a")], events)) == [("p", "b", 60.001)]


def test_a_label_makes_a_node_fit() -> None:
    events = [PodArrives(0.0, pod("p", nodeSelector={"x": "y"})), NodeChanges(60.0, "a", labels={"x": "y"})]
    assert list_bindings(simulate([node("a")], events)) == [("p", "a", 60.001)]


def test_pods_of_a_node_that_leaves_are_lost_and_replaced() -> None:
    events = [
        PodArrives(0.0, pod("p"), replaced=True),
        PodArrives(1.0, pod("q")),
        NodeLeaves(60.0, "a"),
        NodeJoins(91.0, node("b")),
    ]
    result = simulate([node("a")], events)
    assert [(eviction.pod, eviction.reason) for eviction in result.evicted] == [
        ("default/p", "the node left"),
        ("default/q", "the node left"),
    ]
    # That there is no node counts as an error, so that a new one does not cut the backoff short.
    assert list_bindings(result)[2:] == [("p-again1", "b", 101.001)]


def test_a_drained_node_keeps_no_pod_and_takes_none() -> None:
    events = [PodArrives(0.0, pod("p"), replaced=True), NodeDrains(60.0, "a"), NodeJoins(61.0, node("b"))]
    result = simulate([node("a")], events)
    assert list_bindings(result)[1] == ("p-again1", "b", 61.001)
    assert result.samples[-1].bound == 1


def test_pods_of_an_unreachable_node_are_evicted_after_five_minutes() -> None:
    events = [
        PodArrives(0.0, pod("p", nodeSelector={"kubernetes.io/hostname": "a"})),
        PodArrives(0.0, pod("q", nodeSelector={"kubernetes.io/hostname": "b"})),
        NodeFallsSilent(100.0, "a"),
        NodeReports(700.0, "a", ready=True),
    ]
    result = simulate([node("a"), node("b")], events)
    # Silent from 100; unreachable from 155, the first look after 50 seconds; then tolerated for 300 seconds.
    assert [(eviction.pod, eviction.time, eviction.reason, eviction.leaves) for eviction in result.evicted] == [
        ("default/p", 455.0, "a taint", 485.0)
    ]
    bound = {sample.time: sample.bound for sample in result.samples}
    assert (bound[660.0], bound[720.0]) == (2, 1)  # only the kubelet can end it


def test_a_node_that_is_ready_again_in_time_keeps_its_pods() -> None:
    events = [PodArrives(0.0, pod("p")), NodeReports(100.0, "a", ready=False), NodeReports(300.0, "a", ready=True)]
    result = simulate([node("a"), node("b")], events)
    assert result.evicted == []
    assert result.samples[-1].bound == 1


def test_a_taint_evicts_who_does_not_tolerate_it() -> None:
    taint = {"key": "k", "effect": "NoExecute"}
    patient = pod("patient", tolerations=[{"key": "k", "operator": "Exists", "tolerationSeconds": 100}])
    events = [PodArrives(0.0, patient), PodArrives(0.0, pod("p")), NodeChanges(10.0, "a", taints=(taint,))]
    result = simulate([node("a")], events)
    assert [(eviction.pod, eviction.time) for eviction in result.evicted] == [
        ("default/p", 10.0),
        ("default/patient", 110.0),
    ]


def test_a_deleted_pod_gives_its_room_back() -> None:
    events = [PodArrives(float(at), pod(f"p{at}", requests={"cpu": "4"})) for at in range(2)]
    result = simulate([node("a")], [*events, PodLeaves(50.0, "default/p0")])
    assert list_bindings(result)[1] == ("p1", "a", 80.001)
    assert result.evicted == []


def test_a_pod_deleted_while_it_is_scheduled_is_nowhere() -> None:
    result = simulate([node("a")], [PodArrives(0.0, pod("p")), PodLeaves(0.5, "default/p")], cycle=1.0)
    assert not result.bound
    assert not result.rejected
    assert not result.pending


def test_a_node_that_leaves_while_a_pod_is_scheduled_does_not_get_it() -> None:
    result = simulate([node("a")], [PodArrives(0.0, pod("p")), NodeLeaves(0.5, "a")], end=0.9 + 1, cycle=1.0)
    assert result.bound == []
    assert [rejection.message for rejection in result.rejected] == ['node "a" not found']


def test_what_admission_refuses_never_arrives() -> None:
    result = simulate([node("a")], [PodArrives(3.0, pod("p", priorityClassName="none"))])
    assert result.refused == [(3.0, "Pod default/p: no PriorityClass with name none was found")]
    assert result.bound == []


def test_pods_of_another_scheduler_are_left_alone() -> None:
    result = simulate([node("a")], [PodArrives(3.0, pod("p", schedulerName="other"))])
    assert result.ignored == ["default/p"]
    assert result.pending == []


def test_a_pod_that_is_being_deleted_is_not_scheduled() -> None:
    ending = pod("p")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    result = simulate([node("a"), ending], [])
    assert not result.bound
    assert not result.rejected


def test_pods_there_from_the_start_are_bound_or_scheduled() -> None:
    result = simulate([node("a"), pod("bound", on="a", requests=TWO), pod("waits", requests=TWO)], [])
    assert list_bindings(result) == [("waits", "a", 0.001)]
    assert result.samples[-1].use["cpu"] == 1.0


def test_a_replica_is_the_pod_that_its_text_would_be() -> None:
    ephemeral = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    for raw in (pod("a", requests=TWO), pod("a", on="n"), pod("a", volumes=ephemeral)):
        twin = make_replica(Pod.from_json({**raw, "metadata": {**raw["metadata"], "uid": "u"}}), "b")
        expected = Pod.from_json(
            {**raw, "metadata": {**raw["metadata"], "name": "b"}, "spec": without_node(raw["spec"])}
        )
        assert (twin.raw, twin.key, twin.uid) == (expected.raw, "default/b", "default/b")
        assert (twin.volumes, twin.signature, twin.node_name) == (expected.volumes, expected.signature, "")


def without_node(spec: dict) -> dict:
    return {key: value for key, value in spec.items() if key != "nodeName"}


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (NodeLeaves(7.0, "x"), "NodeLeaves at 7 s: Node x: is not there"),
        (NodeChanges(7.0, "x"), "NodeChanges at 7 s: Node x: is not there"),
        (NodeJoins(7.0, node("a")), "NodeJoins at 7 s: Node a: is there already"),
        (PodLeaves(7.0, "default/x"), "PodLeaves at 7 s: Pod default/x: is not there"),
        (PodArrives(7.0, {"kind": "Pod"}), "PodArrives at 7 s: Pod (no name): metadata.name: is missing"),
        (PodArrives(-1.0, pod("p")), "PodArrives at -1 s: is before the beginning"),
    ],
)
def test_what_cannot_happen_is_an_error_that_says_when_and_why(event: SimulationEvent, message: str) -> None:
    with pytest.raises(SimulationError) as problem:
        simulate([node("a")], [event])
    assert str(problem.value) == message


@pytest.mark.parametrize(("events", "end"), [([], 600.0), ([NodeChanges(2000.0, "a", {"tier": "old"})], 2000.0)])
def test_a_run_that_settles_ends_ten_minutes_after_its_last_change(events: list[SimulationEvent], end: float) -> None:
    """But not before its last event."""
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    begun = [PodArrives(0.0, pod("p", requests=TWO)), *events]
    settled = Simulation([node("a")], configuration, begun, SimulationSettings(settles=True)).run_until_quiet(10_000.0)
    assert settled.end == pytest.approx(end, abs=0.01)
    plain = Simulation([node("a")], configuration, begun, SimulationSettings()).run_until_quiet(10_000.0)
    assert plain.end == pytest.approx(end if events else 0.0, abs=0.01)
