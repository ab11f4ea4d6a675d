"""Events that wake waiting pods, and the parts of them that count, from release to release."""

from __future__ import annotations

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.config import Release
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.events import NODE_ADD
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.objects.node import Node
from kschedweb.engine.queue import SchedulingQueue
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import node, pod
from tests.engine.queue.queues import FIT, make_pod, pop_pod, queue, reject_pod

GATED = {**pod("gated", schedulingGates=[{"name": "g"}]), "status": {"nominatedNodeName": "one"}}
KEY = "default/gated"


class ClosableGate:
    """Keeps pods out while it is shut, and waits for no event."""

    name = "ClosableGate"

    def __init__(self) -> None:
        self.open, self.asked = False, 0

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        self.asked += 1
        return SUCCESS if self.open else unschedulable("shut")

    def events(self) -> tuple[()]:
        return ()


def with_door(release: Release, door: ClosableGate) -> SchedulingQueue:
    spec = PluginSpec(ClosableGate.name, frozenset({"preEnqueue"}), "Keeps pods out.")
    enabled = {"multiPoint": {"enabled": [{"name": ClosableGate.name}]}}
    return queue(release=release.with_plugins(spec), more={ClosableGate.name: lambda args: door}, plugins=enabled)


@pytest.mark.parametrize("name", RELEASES)
def test_time_opens_gates_since_1_37(name: str) -> None:
    door = ClosableGate()
    release_queue = with_door(RELEASES[name], door)
    release_queue.add(make_pod("pod"), 0.0)
    for now in range(30, 631, 30):
        release_queue.flush(float(now))
    flush_count = 2 if RELEASES[name].behaviour.gated_pods_flushed else 0  # at 330 and 660 seconds
    assert door.asked == 1 + (flush_count - 1 if flush_count else 0)
    release_queue.flush(660.0)
    assert door.asked == 1 + flush_count
    door.open = True
    release_queue.flush(900.0)
    assert release_queue.pop() is None
    release_queue.flush(990.0)
    assert (release_queue.pop() is not None) is bool(flush_count)


@pytest.mark.parametrize("name", RELEASES)
def test_what_gated_pods_wait_for_is_looked_at_before_tries_are_made_at_once(name: str) -> None:
    door = ClosableGate()
    release_queue = with_door(RELEASES[name], door)
    release_queue.add(make_pod("pod"), 0.0)
    assert release_queue.list_leftover_pods(330.0) == []
    door.open = True
    listed = [queued.key for queued in release_queue.list_leftover_pods(330.0)]
    assert listed == (["default/pod"] if RELEASES[name].behaviour.gated_pods_flushed else [])


@pytest.mark.parametrize("name", RELEASES)
def test_the_nomination_of_a_gated_pod_counts_at_once_since_1_37(name: str) -> None:
    release_queue = queue(release=RELEASES[name])
    gated = Pod.from_json(GATED)
    release_queue.add(gated, 0.0)
    assert release_queue.nominator.nominated_node(KEY) == (
        "one" if RELEASES[name].behaviour.nomination_on_pod_add else ""
    )
    freed = Pod.from_json({**pod("gated"), "status": {"nominatedNodeName": "one"}})
    release_queue.update(gated, freed, 1.0)
    assert release_queue.nominator.nominated_node(KEY) == "one"
    assert pop_pod(release_queue).pod is freed


@pytest.mark.parametrize("name", RELEASES)
def test_who_rejected_a_pod_before_an_error_wakes_it_in_no_release(name: str) -> None:
    release_queue = queue(release=RELEASES[name])
    queued = reject_pod(release_queue, "pod", now=0.0)
    joined = Node.from_json(node("n"))
    release_queue.move_all_to_active_or_backoff(NODE_ADD, None, joined, 5.0)
    assert pop_pod(release_queue) is queued
    release_queue.put_back(queued, 6.0)
    assert queued.rejectors == frozenset()
    assert queued.key in release_queue.backoff
    release_queue.flush(8.0)
    release_queue.put_back(pop_pod(release_queue), 8.0, {"NodePorts"})
    assert queued.rejectors == {"NodePorts"} != {FIT}
