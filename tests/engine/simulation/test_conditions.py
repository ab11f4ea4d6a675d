"""Conditions of nodes that change, and what follows from them."""

from __future__ import annotations

from kschedweb.engine.simulation import NodeConditions, NodeFallsSilent, PodArrives, Simulation
from tests.engine.builders import node, pod
from tests.engine.simulation.test_kubelets import play, simulation

ONE_CPU = {"cpu": "1"}


def taints(running: Simulation, name: str) -> set[tuple[str, str]]:
    node_taints = running.world.nodes[name].taints
    return {(taint.key.removeprefix("node.kubernetes.io/"), taint.effect) for taint in node_taints}


def test_pressure_taints_a_node_for_as_long_as_it_lasts() -> None:
    events = [
        NodeConditions(10.0, "a", {"MemoryPressure": "True", "PIDPressure": "True"}),
        NodeConditions(20.0, "a", {"MemoryPressure": "False"}),
        NodeConditions(30.0, "a", {"PIDPressure": "False", "NetworkUnavailable": "True"}),
    ]
    running = simulation([node("a")], events)
    taint_keys = []
    for time in (9.0, 10.0, 20.0, 30.0):
        running.run(time)
        taint_keys.append({key for key, _ in taints(running, "a")})
    assert taint_keys == [set(), {"memory-pressure", "pid-pressure"}, {"pid-pressure"}, {"network-unavailable"}]


def test_a_pod_waits_for_the_end_of_pressure() -> None:
    events = [
        NodeConditions(1.0, "a", {"DiskPressure": "True"}),
        PodArrives(2.0, pod("p")),
        NodeConditions(60.0, "a", {"DiskPressure": "False"}),
    ]
    assert [binding.time for binding in play([node("a")], events, cycle=0.0).bound] == [60.0]


def test_a_node_that_is_not_ready_loses_its_pods_after_their_tolerations() -> None:
    objects = [node(name) for name in "abc"]
    arrives = PodArrives(1.0, pod("p", nodeSelector={"kubernetes.io/hostname": "a"}))
    events = [arrives, NodeConditions(10.0, "a", {"Ready": "False"})]
    result = play(objects, events, end=2000.0)
    assert [(eviction.pod, eviction.time, eviction.leaves) for eviction in result.evicted] == [
        ("default/p", 310.0, 340.0)
    ]
    assert result.samples[-1].bound == 0


def test_of_a_node_whose_ready_is_unknown_pods_are_evicted_but_stay_unknown() -> None:
    objects = [node(name) for name in "abc"]
    events = [
        PodArrives(1.0, pod("p", nodeSelector={"kubernetes.io/hostname": "a"})),
        NodeConditions(10.0, "a", {"Ready": "Unknown"}),
    ]
    running = simulation(objects, events)
    running.run(100.0)
    assert ("unreachable", "NoExecute") in taints(running, "a")
    assert (running.result.samples[-1].bound, running.result.samples[-1].unknown) == (1, 1)
    running.run(2000.0)
    assert [eviction.pod for eviction in running.result.evicted] == ["default/p"]
    assert running.result.samples[-1].bound == 1


def test_a_kubelet_that_reports_again_tells_of_all_its_conditions() -> None:
    running = simulation(
        [node("a")],
        [NodeConditions(1.0, "a", {"Ready": "Unknown"}), NodeConditions(2.0, "a", {"MemoryPressure": "True"})],
    )
    running.run(2.0)
    assert {key for key, _ in taints(running, "a")} == {"memory-pressure"}
    assert running.nodes.is_reachable("a")


def test_the_network_says_nothing_of_the_kubelet() -> None:
    running = simulation(
        [node("a")], [NodeFallsSilent(1.0, "a"), NodeConditions(2.0, "a", {"NetworkUnavailable": "True"})]
    )
    running.run(2.0)
    assert not running.nodes.is_reachable("a")
