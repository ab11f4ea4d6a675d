"""Events that plugins register, and the events that each of them covers."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ATTACHMENT,
    CSI_NODE,
    DEVICE_CLASS,
    NODE,
    STORAGE_CLASS,
    UNSCHEDULED_POD,
    VOLUME,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
    ObjectChange,
)
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.queue import QueuedPod
from kschedweb.engine.queue.hints import QueueingHints, Strategy
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import CONFIGURATION, pod


class Silent:
    """A plugin of somebody else's that does not say what it waits for."""

    name = "Silent"

    def reserve(self, cycle: Any, node: str) -> Status:
        return unschedulable("no")

    def unreserve(self, cycle: Any, node: str) -> None:
        pass

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        return SUCCESS


def test_who_does_not_say_what_it_waits_for_is_woken_by_everything() -> None:
    spec = PluginSpec(Silent.name, frozenset({"reserve", "preEnqueue"}), "Says nothing.")
    plugins = {"multiPoint": {"enabled": [{"name": Silent.name}]}}
    document = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]}
    configuration = load(document, release=CURRENT.with_plugins(spec)).configuration
    assert configuration is not None
    factories = {**CURRENT.factories, Silent.name: lambda args: Silent()}
    hints = QueueingHints({"default-scheduler": Framework(configuration.profiles[0], factories)})
    queued = QueuedPod(Pod.from_json(pod("p")), 0.0, rejected_by=frozenset({Silent.name}))
    change = ObjectChange(None, None, ClusterObjects())
    for resource in (ASSIGNED_POD, UNSCHEDULED_POD, NODE, VOLUME, VOLUME_CLAIM, STORAGE_CLASS, CSI_NODE, DEVICE_CLASS):
        for action in (Action.ADD, Action.UPDATE, Action.DELETE):
            assert hints.get_queueing_strategy(queued, ClusterEvent(resource, action), change) is Strategy.AFTER_BACKOFF
    assert hints.get_queueing_strategy(queued, ClusterEvent(ATTACHMENT, Action.DELETE), change) is Strategy.SKIP


def test_an_event_is_covered_by_what_is_as_general_or_more() -> None:
    label = ClusterEvent(NODE, Action.NODE_LABEL)
    assert ClusterEvent(NODE, Action.UPDATE).covers(label)
    assert ClusterEvent(NODE, Action.NODE_LABEL | Action.ADD).covers(label)
    assert not label.covers(ClusterEvent(NODE, Action.UPDATE))
    assert not ClusterEvent(NODE, Action.ADD).covers(label)
    assert ClusterEvent("Pod", Action.ALL).covers(ASSIGNED_POD_ADD)
    assert not ClusterEvent(ASSIGNED_POD, Action.ALL).covers(ClusterEvent("Pod", Action.ADD))
