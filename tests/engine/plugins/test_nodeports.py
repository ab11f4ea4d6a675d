"""NodePorts: a host port is taken once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.builders import NOT_NOW, explain, list_refusals, node, pod
from tests.engine.waking import wakes_on_node_add, wakes_on_pod_delete

NAME = "NodePorts"
REFUSED = {"n": (NOT_NOW, "node(s) didn't have free ports for the requested pod ports")}


def listening(name: str, on: str = "", **port: str | int) -> dict:
    return pod(name, on=on, container={"ports": [{"containerPort": 1, "hostPort": 80, **port}]})


def conflict(used: dict, incoming_port: dict) -> bool:
    return "chosen" not in explain(listening("p", **incoming_port), node("n"), listening("q", "n", **used))


@pytest.mark.parametrize(
    ("used", "incoming_port", "free"),
    [
        ({}, {}, False),
        ({"hostIP": "10.0.0.1"}, {}, False),
        ({"hostIP": "0.0.0.0"}, {"hostIP": "10.0.0.1"}, False),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.1"}, False),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, True),
        ({"hostIP": "::"}, {"hostIP": "10.0.0.1"}, True),
        ({"protocol": "TCP"}, {}, False),
        ({"protocol": "UDP"}, {}, True),
        ({"hostPort": 81}, {}, True),
    ],
)
def test_host_ports_collide_on_the_same_address_or_any(used: dict, incoming_port: dict, free: bool) -> None:
    answer = explain(listening("p", **incoming_port), node("n"), listening("q", "n", **used))
    assert list_refusals(answer, NAME) == ({} if free else REFUSED)


def test_ports_count_of_sidecars_and_not_of_containers_that_end() -> None:
    used = listening("q", "n")
    for policy, free in (("Always", False), (None, True)):
        init = {"name": "i", "image": "i", "ports": [{"containerPort": 1, "hostPort": 80}], "restartPolicy": policy}
        answer = explain(pod("p", initContainers=[init]), node("n"), used)
        assert list_refusals(answer, NAME) == ({} if free else REFUSED)


def test_a_filter_without_its_pre_filter_is_an_error() -> None:
    answer = explain(pod("p"), node("n"), plugins={"preFilter": {"disabled": [{"name": NAME}]}})
    message = 'running "NodePorts" filter plugin: reading "PreFilterNodePorts" from cycleState: not found'
    assert answer["rejected"]["n"]["reasons"] == [message]


def test_who_had_the_port_wakes_by_leaving() -> None:
    assert wakes_on_pod_delete(NAME, listening("p"), listening("q", "n"))
    assert wakes_on_pod_delete(NAME, listening("p", hostIP="10.0.0.1"), listening("q", "n"))
    assert not wakes_on_pod_delete(NAME, listening("p"), listening("q", "n", hostPort=81))
    assert not wakes_on_pod_delete(NAME, listening("p"), listening("q")), "it waits, too"
    assert not wakes_on_pod_delete(NAME, listening("p"), listening("q", "n", protocol="UDP"))
    assert not wakes_on_pod_delete(NAME, listening("p", hostIP="10.0.0.1"), listening("q", "n", hostIP="10.0.0.2"))


def test_a_node_that_comes_wakes() -> None:
    assert wakes_on_node_add(NAME, listening("p"), node("n"))


PORTS = st.fixed_dictionaries(
    {"hostPort": st.integers(80, 81)},
    optional={
        "protocol": st.sampled_from(["TCP", "UDP"]),
        "hostIP": st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),
    },
)


@settings(max_examples=40)
@given(PORTS, PORTS)
def test_a_conflict_is_one_whoever_came_first(first_port: dict, other: dict) -> None:
    is_conflict = conflict(first_port, other)
    assert conflict(other, first_port) == is_conflict
    # The other's leaving helps exactly where it was in the way.
    assert wakes_on_pod_delete(NAME, listening("p", **first_port), listening("q", "n", **other)) == is_conflict
