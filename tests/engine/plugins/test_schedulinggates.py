"""SchedulingGates: a pod with gates does not enter the queue."""

from __future__ import annotations

from kschedweb.engine import Pod
from kschedweb.engine.framework.status import Code, Status
from tests.engine.builders import node, pod, scheduler
from tests.engine.waking import wakes_on_pod_update

NAME = "SchedulingGates"


def gated(*names: str, name: str = "p") -> dict:
    return pod(name, schedulingGates=[{"name": gate} for gate in names])


def pre_enqueue(raw: dict) -> Status:
    return scheduler(node("n")).explain(Pod.from_json(raw)).pre_enqueue


def test_gates_keep_a_pod_out_of_the_queue() -> None:
    status = pre_enqueue(gated("a", "b"))
    assert (status.plugin, status.code) == (NAME, Code.UNRESOLVABLE)
    assert status.message == "waiting for scheduling gates: [a b]"
    assert pre_enqueue(gated()).ok


def test_the_last_gate_of_its_own_wakes() -> None:
    assert wakes_on_pod_update(NAME, gated("a"), gated("a"), gated())
    assert not wakes_on_pod_update(NAME, gated("a", "b"), gated("a", "b"), gated("a"))
    assert not wakes_on_pod_update(NAME, gated("a"), gated("a", name="other"), gated(name="other"))
