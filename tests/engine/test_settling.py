"""From the chosen node to the bound pod: Reserve, Permit, PreBind, Bind, PostBind."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.cycle.binding import format_duration
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SKIP, SUCCESS, Code, Status, error, unschedulable
from kschedweb.engine.releases import CURRENT, load
from tests.engine.builders import CONFIGURATION, node, pod

POINTS = ("reserve", "permit", "preBind", "bind", "postBind")


class Recorder:
    """Writes down every call, and answers as it is told."""

    def __init__(self, name: str, calls: list[str], answers: dict[str, Any]) -> None:
        self.name, self._calls, self._answers = name, calls, answers

    def _answer(self, point: str, default: Any = SUCCESS) -> Any:
        self._calls.append(f"{self.name}.{point}")
        return self._answers.get(point, default)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        return self._answer("reserve")

    def unreserve(self, cycle: Cycle, node: str) -> None:
        self._answer("unreserve")

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        return self._answer("permit", (SUCCESS, 0.0))

    def pre_bind(self, cycle: Cycle, node: str) -> Status:
        return self._answer("preBind")

    def bind(self, cycle: Cycle, node: str) -> Status:
        return self._answer("bind", SKIP)

    def post_bind(self, cycle: Cycle, node: str) -> None:
        self._answer("postBind")


def settle(**answers: dict[str, Any]) -> tuple[Scheduler, str, list[str]]:
    """Schedule one pod past plugins A and B with these answers: the scheduler, the message, the calls made."""
    calls: list[str] = []
    recorders = {name: Recorder(name, calls, answers.get(name, {})) for name in ("A", "B")}
    specs = [PluginSpec(name, frozenset(POINTS), "Records.") for name in recorders]
    plugins = {"multiPoint": {"enabled": [{"name": name} for name in recorders]}}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    loaded = load({**CONFIGURATION, "profiles": [profile]}, release=CURRENT.with_plugins(*specs))
    assert loaded.configuration is not None, loaded.errors
    factories = {name: (lambda args, it=it: it) for name, it in recorders.items()}
    engine = Scheduler(Snapshot.from_objects([node("a")]), loaded.configuration, {**CURRENT.factories, **factories})
    placement = engine.schedule_one(Pod.from_json(pod("p", requests={"cpu": "1"})))
    return engine, placement.message, calls


def test_every_point_runs_in_its_order() -> None:
    engine, message, calls = settle()
    assert message == ""
    # DefaultBinder stands before them and binds.
    assert calls == [f"{name}.{point}" for point in ("reserve", "permit", "preBind", "postBind") for name in "AB"]
    assert engine.snapshot.get_pod("default/p").node_name == "a"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"B": {"reserve": unschedulable("no")}}, "0/1 nodes are available: 1 no."),
        ({"B": {"reserve": error("broken")}}, 'running Reserve plugin "B": broken'),
        ({"A": {"permit": (unschedulable("not now"), 0.0)}}, "0/1 nodes are available: 1 not now."),
        (
            {"A": {"permit": (Status(Code.WAIT), 90.0)}, "B": {"permit": (Status(Code.WAIT), 3600.0)}},
            "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin A.",
        ),
        ({"A": {"preBind": error("broken")}}, 'running PreBind plugin "A": broken'),
    ],
)
def test_whoever_refuses_takes_the_pod_off_again(answers: dict, message: str) -> None:
    engine, refusal, calls = settle(**answers)
    assert refusal == message
    assert [call for call in calls if call.endswith("unreserve")] == ["B.unreserve", "A.unreserve"]
    assert "A.postBind" not in calls
    assert engine.snapshot.requested[0, 0] == 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10s"), (90, "1m30s"), (900, "15m0s"), (3600, "1h0m0s"), (0.5, "500ms"), (0, "0s")]
)
def test_durations_are_written_as_go_writes_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
