"""Short ways to ask whether a change in the cluster wakes a pod that a plugin rejected."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    ClusterEvent,
    ObjectChange,
    node_changes,
    pod_changes,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.queue import QueuedPod
from kschedweb.engine.queue.hints import QueueingHints, Strategy
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.queue.queues import frameworks

HINTS = {
    name: QueueingHints(
        frameworks(release=release), taint_update_as_node_add=release.behaviour.taint_update_as_node_add
    )
    for name, release in RELEASES.items()
}
NOTHING = ClusterObjects()


def wakes(
    plugin: str,
    raw: Json,
    event: ClusterEvent,
    old: Any,
    new: Any,
    release: str = CURRENT.name,
    cluster: ClusterObjects = NOTHING,
) -> bool:
    """Return whether ``event`` requeues a pod that ``plugin`` rejected."""
    queued = QueuedPod(Pod.from_json(raw), 0.0, rejected_by=frozenset({plugin}))
    return (
        HINTS[release].get_queueing_strategy(queued, event, ObjectChange(old, new, cluster)) is Strategy.AFTER_BACKOFF
    )


def wakes_on_pod_add(
    plugin: str, raw: Json, new: Json, release: str = CURRENT.name, cluster: ClusterObjects = NOTHING
) -> bool:
    """Return whether a pod that got a node requeues it."""
    return wakes(plugin, raw, ASSIGNED_POD_ADD, None, Pod.from_json(new), release, cluster)


def wakes_on_pod_delete(plugin: str, raw: Json, old: Json, release: str = CURRENT.name) -> bool:
    """Return whether a pod that left requeues it."""
    return wakes(plugin, raw, ASSIGNED_POD_DELETE, Pod.from_json(old), None, release)


def wakes_on_node_add(plugin: str, raw: Json, new: Json) -> bool:
    """Return whether a new node requeues it."""
    return wakes(plugin, raw, NODE_ADD, None, Node.from_json(new))


def wakes_on_node_update(plugin: str, raw: Json, old: Json, new: Json, release: str = CURRENT.name) -> bool:
    """Return whether the node's change requeues it, by any of the events that it amounts to."""
    before, after = Node.from_json(old), Node.from_json(new)
    return any(wakes(plugin, raw, event, before, after, release) for event in node_changes(before, after))


def wakes_on_pod_update(plugin: str, raw: Json, old: Json, new: Json) -> bool:
    """Return whether the pod's change requeues it, by any of the events that it amounts to."""
    before, after = Pod.from_json(old), Pod.from_json(new)
    return any(wakes(plugin, raw, event, before, after) for event in pod_changes(before, after))


def raw_object(name: str = "c", namespace: str = "default", **fields: Any) -> Json:
    return {"metadata": {"name": name, "namespace": namespace, **fields.pop("metadata", {})}, **fields}
