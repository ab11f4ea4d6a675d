"""Taints that a node gets for its conditions, and their times."""

from __future__ import annotations

from kschedweb.engine.controllers.nodelifecycle import NodeLifecycle, with_condition, with_condition_taints
from kschedweb.engine.objects.node import ZONE, Node
from tests.engine.builders import node


def nodes(count: int, zones: int = 1) -> dict[str, Node]:
    nodes_of_zones = [
        Node.from_json(node(f"n{number}", labels={ZONE: f"z{number % zones}"})) for number in range(count)
    ]
    return {made_node.name: with_condition(made_node, Ready="True") for made_node in nodes_of_zones}


class World:
    """Nodes, and the controller that is told of all that becomes of them."""

    def __init__(self, nodes_by_name: dict[str, Node]) -> None:
        self.nodes, self.lifecycle, self.now = nodes_by_name, NodeLifecycle(), 0.0
        for watched_node in nodes_by_name.values():
            self.lifecycle.watch_node(watched_node)

    def set_ready(self, status: str, *names: str) -> None:
        for name in names:
            self.nodes[name] = with_condition_taints(with_condition(self.nodes[name], Ready=status))
            self.lifecycle.watch_node(self.nodes[name])

    def run_until(self, end: float) -> None:
        while (time := self.lifecycle.next_time(self.now)) is not None and time <= end:
            self.now = time
            for changed_node in self.lifecycle.monitor_node_health(self.nodes, time):
                self.nodes[changed_node.name] = changed_node
                self.lifecycle.watch_node(changed_node)
        self.now = end

    def taints(self, name: str) -> set[str]:
        return {str(taint).removeprefix("node.kubernetes.io/") for taint in self.nodes[name].taints}

    def leaving(self) -> list[str]:
        """The nodes whose pods must leave."""
        return [name for name in self.nodes if any("NoExecute" in taint for taint in self.taints(name))]


def test_conditions_and_a_cordon_ask_for_taints_against_new_pods() -> None:
    tainted_node = Node.from_json({**node("one", unschedulable=True, taints=[{"key": "own", "effect": "NoSchedule"}])})
    tainted_node = with_condition_taints(
        with_condition(tainted_node, Ready="False", MemoryPressure="True", DiskPressure="False")
    )
    assert {str(taint) for taint in tainted_node.taints} == {
        "own:NoSchedule",
        "node.kubernetes.io/not-ready:NoSchedule",
        "node.kubernetes.io/memory-pressure:NoSchedule",
        "node.kubernetes.io/unschedulable:NoSchedule",
    }
    well = with_condition_taints(with_condition(tainted_node, Ready="True", MemoryPressure="False"))
    assert {taint.key for taint in well.taints} == {"own", "node.kubernetes.io/unschedulable"}


def test_well_nodes_need_no_looking_after() -> None:
    assert World(nodes(3)).lifecycle.next_time(0.0) is None


def test_a_node_that_is_not_ready_is_emptied_and_its_taints_go_when_it_is_ready_again() -> None:
    world = World(nodes(5))
    world.set_ready("False", "n0")
    assert world.taints("n0") == {"not-ready:NoSchedule"}
    world.run_until(5.0)
    assert world.taints("n0") == {"not-ready:NoSchedule", "not-ready:NoExecute"}
    world.set_ready("True", "n0")
    world.run_until(10.0)
    assert world.taints("n0") == set()
    assert world.lifecycle.next_time(10.0) is None


def test_a_silent_node_is_unreachable_after_its_grace_period() -> None:
    world = World(nodes(5))
    world.lifecycle.silence_node("n0", 3.0)
    world.run_until(53.0)
    assert world.taints("n0") == set()
    world.run_until(55.0)
    assert world.taints("n0") == {"unreachable:NoSchedule", "unreachable:NoExecute"}


def test_not_ready_and_unreachable_exclude_each_other() -> None:
    world = World(nodes(5))
    world.set_ready("False", "n0")
    world.run_until(5.0)
    world.set_ready("Unknown", "n0")
    world.run_until(10.0)
    assert world.taints("n0") == {"unreachable:NoSchedule", "unreachable:NoExecute"}


def test_nodes_are_emptied_one_each_ten_seconds() -> None:
    world = World(nodes(20))
    world.set_ready("False", "n3", "n4", "n5")
    counts = []
    for end in (5.0, 10.0, 15.0, 20.0, 25.0):
        world.run_until(end)
        counts.append(len(world.leaving()))
    assert counts == [1, 1, 2, 2, 3]


def test_in_a_small_zone_mostly_in_trouble_no_further_node_is_emptied() -> None:
    world = World(nodes(10))
    world.set_ready("False", *(f"n{number}" for number in range(6)))
    world.run_until(300.0)
    assert world.leaving() == []


def test_in_a_large_zone_mostly_in_trouble_nodes_are_emptied_slowly() -> None:
    world = World(nodes(60))
    world.set_ready("False", *(f"n{number}" for number in range(40)))
    world.run_until(350.0)
    assert 3 <= len(world.leaving()) <= 4


def test_where_all_nodes_are_in_trouble_nobody_must_leave() -> None:
    world = World(nodes(6, zones=2))
    world.set_ready("False", "n0")
    world.run_until(5.0)
    assert world.leaving() == ["n0"]
    world.set_ready("False", *(f"n{number}" for number in range(6)))
    world.run_until(200.0)
    assert world.leaving() == []
    world.set_ready("True", "n1", "n3", "n5", "n2")
    world.run_until(400.0)
    assert world.leaving() == ["n0", "n4"]


def test_a_zone_wholly_in_trouble_is_emptied_while_others_are_well() -> None:
    world = World(nodes(6, zones=2))
    world.set_ready("False", "n0", "n2", "n4")
    world.run_until(60.0)
    assert world.leaving() == ["n0", "n2", "n4"]
