"""DeferredPodScheduling: a running pod whose resize waits for room is looked at on its own node alone."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.framework.events import ObjectChange, node_changes
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.plugins.deferredpodscheduling import DeferredPodScheduling
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import CONFIGURATION, pod
from tests.engine.builders import node as roomy

GATES = {"InPlacePodVerticalScalingSchedulerPreemption": True}
FORBIDS: dict[str, Any] = {"podPreemptionPolicy": {"disableResizePreemption": ["Pod"]}}


def node(name: str, *, closed: bool = False, **spec: Any) -> Json:
    """A node of two CPUs."""
    raw = roomy(name, unschedulable=closed, allocatable={"cpu": "2"})
    raw["spec"] |= spec
    return raw


def resized(**spec: Any) -> Json:
    """A running pod that has half a CPU and asks for one and a half."""
    raw = pod("p", on="a", requests={"cpu": "1500m"}, priority=10, **spec)
    has = {"name": raw["spec"]["containers"][0]["name"], "allocatedResources": {"cpu": "500m"}}
    raw["status"] = {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [has | {"resources": {"requests": {"cpu": "500m"}}}],
    }
    return raw


def explained(*objects: Json, resize: Json | None = None, gates: dict[str, bool] = GATES) -> Json:
    raw = {"config": CONFIGURATION, "objects": list(objects), "pending": [resize or resized()], "featureGates": gates}
    answer: Json = Scenario.from_json(raw).explain()["pods"][0]
    return answer


def other(cpu: str) -> Json:
    return pod("other", on="a", requests={"cpu": cpu}, priority=0)


def test_the_resize_fits_where_the_node_has_room_for_it() -> None:
    answer = explained(node("a"), node("b"), other("500m"))
    assert answer["feasible"] == ["a"]


def test_pods_of_lower_priority_make_room_on_its_own_node() -> None:
    answer = explained(node("a"), node("b"), other("800m"))
    assert answer["message"] == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeName]."
    )
    assert answer["preemption"]["candidates"] == {"a": {"pods": ["default/other"], "pdbViolations": 0}}


def test_nobody_is_evicted_where_the_node_forbids_it() -> None:
    answer = explained(node("a", **FORBIDS), other("800m"))
    assert answer["rejected"]["a"]["reasons"] == ["node had resize preemption disabled"]
    assert "preemption" not in answer


def test_what_keeps_new_pods_away_does_not_matter_to_one_that_runs() -> None:
    closed = node("a", closed=True, taints=[{"key": "x", "effect": "NoSchedule"}])
    resize = resized(nodeSelector={"disk": "ssd"})
    assert explained(closed, resize=resize)["feasible"] == ["a"]


def test_without_the_gate_it_is_a_pod_like_others() -> None:
    answer = explained(node("a"), node("b"), other("800m"), gates={})
    assert answer["rejected"]["a"]["reasons"] == ["Insufficient cpu"]
    assert answer["preemption"]["candidates"]["a"]["pods"] == ["default/other"]


@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [(FORBIDS, {}, True), ({}, FORBIDS, False), (FORBIDS, FORBIDS, False), (None, {}, True), (None, FORBIDS, False)],
)
def test_a_node_that_no_longer_forbids_it_wakes_the_pod(before: Json | None, after: Json, wakes: bool) -> None:
    (hint,) = DeferredPodScheduling({}).events()
    old = None if before is None else Node.from_json(node("a", **before))
    change = ObjectChange(old, Node.from_json(node("a", **after)), ClusterObjects())
    assert hint.hint is not None
    assert hint.hint(Pod.from_json(resized()), change) is wakes
    if old is not None:
        assert bool(node_changes(old, change.new)) is (before != after)
