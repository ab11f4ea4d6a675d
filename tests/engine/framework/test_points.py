"""Plugins are sorted once by what they can be asked."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.config import Profile
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.framework.interface import Cycle, PluginScope, PreFilterResult, StateData, Verdicts
from kschedweb.engine.framework.points import Points
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.state.columns import Ints, Rows
from tests.engine.builders import node, pod


class Filters:
    name = "Filters"

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return Verdicts.uniform(cycle.num_rows(rows))


class Everything(Filters):
    name = "Everything"

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.ROOM if pod.name == "near" else PluginScope.PODS

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult()

    def add_pod(self, cycle: Cycle, pod: Pod, node: int) -> None: ...

    def remove_pod(self, cycle: Cycle, pod: Pod, node: int) -> None: ...

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        raise NotImplementedError

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return scores


def test_a_plugin_stands_at_the_points_whose_methods_it_has_in_the_order_of_the_profile() -> None:
    first, second = Everything(), Filters()
    points = Points.from_plugins({"preFilter": [second, first], "filter": [second, first], "score": [second, first]})
    assert (points.pre_filter, points.filter, points.score) == ([first], [second, first], [first])
    assert not points.permit
    assert not points.pre_score


def test_what_only_some_plugins_can_be_asked_is_kept_by_name() -> None:
    everything, other = Everything(), Filters()
    points = Points.from_plugins({"preFilter": [everything], "filter": [everything, other], "score": [everything]})
    assert points.extensions == [everything]
    assert points.normalizing == {"Everything": everything}
    assert points.scoped == {"Everything": everything}
    assert not points.asking
    assert not points.preparing


def test_a_plugin_that_does_not_say_how_far_it_looks_may_look_anywhere() -> None:
    registry: dict[str, Any] = {"Everything": lambda args: Everything(), "Filters": lambda args: Filters()}
    refs = (PluginRef("Everything"), PluginRef("Filters"), PluginRef("Unknown"))
    framework = Framework(Profile("", None, {"filter": refs}, {}), registry)
    near, far = (Pod.from_json(pod(name)) for name in ("near", "far"))
    first, second = framework.points.filter
    assert (framework.plugin_scope(first, near), framework.plugin_scope(first, far)) == (
        PluginScope.ROOM,
        PluginScope.PODS,
    )
    assert framework.plugin_scope(second, near) is PluginScope.CLUSTER
    assert framework.plugin("Filters") is second


def test_a_cycle_over_another_snapshot_changes_its_own_state() -> None:
    class Counted(StateData):
        def __init__(self, number: int) -> None:
            self.number = number

        def clone(self) -> Counted:
            return Counted(self.number)

    cycle = Cycle(
        Snapshot.from_objects([node("a")]),
        Pod.from_json(pod("p")),
        {"one": Counted(1), "all": [Counted(2)], "text": "x"},
    )
    other = cycle.with_snapshot(cycle.snapshot)
    other.state["one"].number = other.state["all"][0].number = 9
    assert (cycle.state["one"].number, cycle.state["all"][0].number) == (1, 2)
    assert other.state["text"] == "x"
