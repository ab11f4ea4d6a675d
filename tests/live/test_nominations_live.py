"""Room that a waiting pod is nominated to: the real kube-scheduler process and the engine leave it alone alike."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.releases import load
from tests.live.test_extenders_live import node, pod, priority_class
from tests.live.test_kube_scheduler_live import CONFIG, PlacementCheck, decided, path_of, read_all
from tests.support.kubescheduler import PodWatch, kube_scheduler

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

PRIORITIES = {"low": 10, "high": 1000, "top": 2000}


@pytest.fixture
def live(control_plane: ControlPlane) -> Iterator[PlacementCheck]:
    """Two nodes of four CPU: one has three taken, to the other a pod that asks for three is nominated, in vain."""
    loaded = load(CONFIG, control_plane.release)
    assert loaded.configuration is not None, loaded.errors
    classes = [priority_class(name, value) for name, value in PRIORITIES.items()]
    for item in classes:
        control_plane.call("POST", path_of(item), item)
    control_plane.create_nodes(node(number) for number in range(2))
    control_plane.call("POST", "/api/v1/namespaces/default/pods", pod(100, "3", "top", "node-01"))
    waiting = pod(1, "3", "high")
    waiting["spec"]["nodeSelector"] = {"no": "such-node"}
    with kube_scheduler(control_plane, CONFIG), contextlib.closing(PodWatch(control_plane)) as watch:
        control_plane.call("POST", path_of(waiting), waiting)
        watch.wait_for("default/pod-1", decided, "is not said to be unschedulable")
        # The scheduler hears of this before it hears of any pod created later.
        control_plane.call("PATCH", f"{path_of(waiting)}/pod-1/status", {"status": {"nominatedNodeName": "node-00"}})
        yield PlacementCheck(control_plane, watch, Scheduler(read_all(control_plane), loaded.configuration))
    control_plane.wipe()
    for item in classes:
        control_plane.request("DELETE", f"{path_of(item)}/{item['metadata']['name']}")


def test_only_a_more_important_pod_takes_the_room(live: PlacementCheck) -> None:
    assert live.scheduler.nominator.nominated_node("default/pod-1") == "node-00"
    live.place(pod(2, "2", "low"))
    live.place(pod(3, "2", "high"))
    assert live.outcomes == {"unschedulable": 2}
    assert all(message.startswith("0/2 nodes are available: 2 Insufficient cpu.") for message in live.messages)
    live.place(pod(4, "1", "low"))  # beside both
    live.place(pod(5, "2", "top"))
    assert live.outcomes == {"unschedulable": 2, "placed": 2}
    assert live.scheduler.snapshot.get_pod("default/pod-5").node_name == "node-00"
