"""Pods that wait at Permit, on the virtual clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SUCCESS, Code, Status, error
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import (
    NodeLeaves,
    PermitAllows,
    PermitRejects,
    PodArrives,
    PodLeaves,
    Result,
    Simulation,
    SimulationEvent,
    SimulationSettings,
)
from tests.engine.builders import CONFIGURATION, node, pod
from tests.engine.simulation.test_run import HIGH, TWO, high, list_bindings


class Waiter:
    """Lets every pod with label ``wait`` wait for 90 seconds, and fails to bind the first one labelled ``broken``."""

    name = "Waiter"

    def __init__(self) -> None:
        self.given_back: list[str] = []
        self.failed = False

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        return (Status(Code.WAIT), 90.0) if "wait" in cycle.pod.labels else (SUCCESS, 0.0)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        self.given_back.append(cycle.pod.name)

    def pre_bind(self, cycle: Cycle, node: str) -> Status:
        if "broken" in cycle.pod.labels and not self.failed:
            self.failed = True
            return error("the disk is not there")
        return SUCCESS


def simulate(objects: list[dict], events: Sequence[SimulationEvent], end: float = 300.0) -> tuple[Result, Waiter]:
    waiter = Waiter()
    spec = PluginSpec(Waiter.name, frozenset({"reserve", "permit", "preBind"}), "Waits.")
    plugins: dict[str, Any] = {"multiPoint": {"enabled": [{"name": Waiter.name}]}}
    document = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]}
    configuration = load(document, release=CURRENT.with_plugins(spec)).configuration
    assert configuration is not None
    factories = {**CURRENT.factories, Waiter.name: lambda args: waiter}
    simulation = Simulation(objects, configuration, events, SimulationSettings(), registry=factories)
    return simulation.run(end), waiter


WAITS = PodArrives(0.0, pod("p", labels={"wait": ""}, requests=TWO))


def test_a_pod_that_is_allowed_in_time_is_bound() -> None:
    result, waiter = simulate([node("a")], [WAITS, PermitAllows(50.0, "default/p", "Waiter")])
    assert list_bindings(result) == [("p", "a", 50.0)]
    assert waiter.given_back == []


def test_a_pod_whose_time_is_up_gives_its_room_back() -> None:
    other = PodArrives(10.0, pod("other", requests={"cpu": "4"}))
    result, waiter = simulate([node("a")], [WAITS, other], end=91.0)
    assert [(round(rejection.time, 3), rejection.pod, rejection.by) for rejection in result.rejected[:2]] == [
        (10.001, "default/other", ("NodeResourcesFit",)),
        (90.001, "default/p", ("Waiter",)),
    ]
    timeout = "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin Waiter."
    assert result.rejected[1].message == timeout
    assert list_bindings(result) == [("other", "a", 90.002)]
    assert waiter.given_back == ["p"]


def test_a_pod_that_is_rejected_waits_for_something_to_happen() -> None:
    result, _ = simulate([node("a")], [WAITS, PermitRejects(20.0, "default/p", "Waiter", "no quorum")], end=60.0)
    assert [rejection.message for rejection in result.rejected] == ["0/1 nodes are available: 1 no quorum."]
    assert [waiting_pod.pod for waiting_pod in result.pending] == ["default/p"]


def test_a_waiting_pod_that_is_deleted_gives_its_room_back() -> None:
    other = PodArrives(10.0, pod("other", requests={"cpu": "4"}))
    result, waiter = simulate([node("a")], [WAITS, other, PodLeaves(30.0, "default/p")])
    assert list_bindings(result) == [("other", "a", 30.001)]
    assert waiter.given_back == ["p"]


def test_a_waiting_pod_gives_way_to_one_of_higher_priority() -> None:
    events = [WAITS, PodArrives(1.0, pod("q", labels={"wait": ""}, requests=TWO)), PodArrives(10.0, high("high"))]
    result, waiter = simulate([node("a"), HIGH], events, end=80.0)
    assert len(waiter.given_back) == 1
    assert list_bindings(result)[0][:2] == ("high", "a")
    assert result.evicted == []


def test_a_waiting_pod_whose_node_leaves_is_tried_again() -> None:
    result, _ = simulate([node("a"), node("b")], [WAITS, NodeLeaves(30.0, "a"), NodeLeaves(30.0, "b")], end=35.0)
    assert [waiting_pod.pod for waiting_pod in result.pending] == ["default/p"]
    assert result.bound == []


def test_a_pod_that_cannot_be_bound_is_tried_again_after_a_backoff() -> None:
    result, waiter = simulate([node("a")], [PodArrives(0.0, pod("p", labels={"broken": ""}))])
    assert [(rejection.message, rejection.by) for rejection in result.rejected] == [
        ('running PreBind plugin "Waiter": the disk is not there', ())
    ]
    assert list_bindings(result) == [("p", "a", 2.001)]
    assert waiter.given_back == ["p"]
