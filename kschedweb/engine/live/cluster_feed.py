"""Take in the cluster's nodes and other objects, and wake the pods that a change may help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from kschedweb.engine.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    DEVICE_CLASS,
    NODE_ADD,
    NODE_DELETE,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CAPACITY,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    node_changes,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.live.intents import Intent
from kschedweb.engine.live.pod_feed import PodFeed
from kschedweb.engine.live.scheduling_work import SchedulingWork
from kschedweb.engine.objects.json_access import ObjectError, describe_object, get_mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.podgroup import COMPOSITE, POD_GROUP
from kschedweb.engine.queue import GroupQueue
from kschedweb.engine.state.cluster_objects import ClusterObjects, parse_identity
from kschedweb.engine.state.watermarks.annotations import read_annotations
from kschedweb.engine.state.watermarks.table import WORKLOADS, Watermarks

POD, NODE, DEFAULT = "Pod", "Node", "default"
TAINT_RULE = "DeviceTaintRule"
# Kinds whose changes the queue is told of, with the resource that plugins register for.
RESOURCES = {
    "PersistentVolume": "PersistentVolume",
    "PersistentVolumeClaim": "PersistentVolumeClaim",
    "StorageClass": STORAGE_CLASS,
    "CSINode": CSI_NODE,
    "CSIDriver": CSI_DRIVER,
    "CSIStorageCapacity": STORAGE_CAPACITY,
    "VolumeAttachment": "storage.k8s.io/VolumeAttachment",
    "ResourceClaim": RESOURCE_CLAIM,
    "ResourceSlice": RESOURCE_SLICE,
    "DeviceClass": DEVICE_CLASS,
}
# New measurements wake pods as a changed annotation of a node does.
MEASURED = ClusterEvent(NODE, Action.NODE_ANNOTATION)
NODE_GONE = "the node is gone"


class ClusterFeed:
    """Takes in objects of all kinds. Unreadable objects are left out and listed in ``problems``."""

    def __init__(self, work: SchedulingWork) -> None:
        self._work, self._world, self._queue = work, work.world, work.queue
        self.pods = PodFeed(work)
        # kind -> key -> (uid, resource version)
        self._versions: dict[str, dict[str, tuple[str, str]]] = {}
        # True once measurements came from outside; the objects' annotations do not count then.
        self._measured = False
        # True while the snapshot has the figures of the annotations as they are now.
        self._annotated = False
        # (kind, ``namespace/name``) -> the reason why the object could not be read.
        self.problems: dict[tuple[str, str], str] = {}

    @property
    def cluster(self) -> ClusterObjects:
        return self._world.cluster

    def replace_objects(self, kind: str, items: Iterable[Json], now: float) -> list[Intent]:
        """Take in a whole list of ``kind``: objects that are not in it are deleted."""
        listed = {_object_key(item): item for item in items}
        known_versions = self._versions.get(kind, {})
        intents: list[Intent] = []
        for key in [key for key in known_versions if key not in listed]:
            intents += self._delete_object(kind, key, now)
        for key, item in listed.items():
            if known_versions.get(key) != _object_version(item):
                intents += self.apply_object(kind, item, now)
        return intents

    def apply_object(self, kind: str, raw: Json, now: float) -> list[Intent]:
        """Take in an object that was created or changed."""
        key, version = _object_key(raw), _object_version(raw)
        versions = self._versions.setdefault(kind, {})
        known_version = versions.get(key)
        # A repeated object of the same version changes nothing; without a version nothing is certain.
        if known_version is not None and known_version == version and version[1]:
            return []
        intents: list[Intent] = []
        # A new uid under the same name means that the deletion in between was missed.
        if known_version is not None and known_version[0] != version[0]:
            intents += self._delete_object(kind, key, now)
        versions[key] = version
        self.problems.pop((kind, key), None)
        try:
            return intents + self._apply_parsed(kind, raw, now)
        except ObjectError as problem:
            intents += self._delete_object(kind, key, now)
            # The object exists, so that a later deletion or version of it must be recognized.
            versions[key] = version
            self.problems[kind, key] = f"{describe_object(raw)}: {problem}"
            return intents

    def delete_object(self, kind: str, raw: Json, now: float) -> list[Intent]:
        """Delete an object. The deletion of one that was replaced by another uid meanwhile is ignored."""
        key = _object_key(raw)
        known_version, uid = self._versions.get(kind, {}).get(key), _object_version(raw)[0]
        if known_version is None or (uid and known_version[0] and known_version[0] != uid):
            return []
        return self._delete_object(kind, key, now)

    def _delete_object(self, kind: str, key: str, now: float) -> list[Intent]:
        self._versions.get(kind, {}).pop(key, None)
        self.problems.pop((kind, key), None)
        if kind == POD:
            # The API server fills in the namespace, but files that people write often leave it out.
            return self.pods.delete_pod(key if key[0] != "/" else f"{DEFAULT}{key}", now)
        namespace, _, name = key.partition("/")
        if kind == NODE:
            return self._remove_node(name, now)
        with self._following_group(kind, key, now):
            old = self.cluster.remove(kind, namespace, name)
        if old is not None:
            self._on_object_changed(kind, old, None, now)
        return []

    def _apply_parsed(self, kind: str, raw: Json, now: float) -> list[Intent]:
        if kind == POD:
            return self.pods.apply_pod(raw, now)
        if kind == NODE:
            return self._apply_node(Node.from_json(raw), now)
        # Items of a list come without their kind.
        raw.setdefault("kind", kind)
        with self._following_group(kind, _object_key(raw), now):
            old = self.cluster.add(raw)
        self._on_object_changed(kind, old, raw, now)
        return []

    # Other objects.

    def _on_object_changed(self, kind: str, old: Json | None, new: Json | None, now: float) -> None:
        # The API server's claim is newer than what was assumed for it here.
        if kind == "ResourceClaim":
            _, namespace, name = parse_identity(new or old or {})
            self._world.claims.drop_local_changes(namespace, name)
        if kind in WORKLOADS and _get_annotations(old) != _get_annotations(new):
            self._annotated = False
        # kube-scheduler's resource slice tracker turns a changed rule into events of the slices that it taints.
        if kind == TAINT_RULE:
            self._queue.move_all_to_active_or_backoff(ClusterEvent(RESOURCE_SLICE, Action.UPDATE), old, new, now)
        if kind in RESOURCES:
            action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
            self._queue.move_all_to_active_or_backoff(ClusterEvent(RESOURCES[kind], action), old, new, now)

    @contextmanager
    def _following_group(self, kind: str, key: str, now: float) -> Iterator[None]:
        """Tell the queue if the group of pods ``key`` changes in this context."""
        groups, queue = self.cluster.groups, self._queue
        old = groups.get(key, kind) if kind in (POD_GROUP, COMPOSITE) else None
        yield
        new = groups.get(key, kind) if kind in (POD_GROUP, COMPOSITE) else None
        if old is not None and new is not None and old.scheduled and not new.scheduled:
            # The group was placed here, and the cluster may not show its condition yet.
            new = replace(new, scheduled=True)
            groups.put_group(new)
        if isinstance(queue, GroupQueue) and (old or new) is not None:
            queue.follow_group(old, new, now)

    # Nodes.

    def _apply_node(self, node: Node, now: float) -> list[Intent]:
        old = self._world.nodes.get(node.name)
        if old is None:
            self._world.set_node(node)
            self._annotated = False
            self._queue.move_all_to_active_or_backoff(NODE_ADD, None, node, now)
            return []
        changes = node_changes(old, node)
        changed = is_relevant_change(old, node)
        if changed:
            self._world.set_node(node)
        # Only columns that decisions read are worked out anew; a heartbeat costs no more than its object.
        else:
            self._world.refresh_node(node)
        if _get_annotations(old.raw) != _get_annotations(node.raw):
            self._annotated = False
        for event in changes:
            self._queue.move_all_to_active_or_backoff(event, old, node, now)
        intents: list[Intent] = []
        # People decide about held pods on the node as it was, so the node is checked again.
        for reservation in self._work.reservations.waiting_on(node.name) if changed else ():
            if reservation.is_held and (why := self._work.recheck_reservation(reservation, now)):
                intents += self._work.supersede_waiting(reservation, why, now)
        return intents

    def _remove_node(self, name: str, now: float) -> list[Intent]:
        node = self._world.nodes.get(name)
        if node is None:
            return []
        intents: list[Intent] = []
        for reservation in self._work.reservations.waiting_on(name):
            end = self._work.supersede_waiting if reservation.is_held else self._work.preempt_waiting
            intents += end(reservation, NODE_GONE, now)
        self._world.lose_node(name)
        self._annotated = False
        self._queue.move_all_to_active_or_backoff(NODE_DELETE, node, None, now)
        return intents

    # Figures.

    def update_watermarks(self, watermarks: Watermarks | None, now: float) -> None:
        """Take in new measurements of what nodes and workloads use; with ``None`` the annotations count."""
        self._measured, self._annotated = watermarks is not None, False
        if watermarks is not None:
            self._world.set_watermarks(watermarks)
        if (node := next(iter(self._world.nodes.values()), None)) is not None:
            # Measurements arrive like annotations of nodes: a pod that was rejected by the old ones may fit now.
            self._queue.move_all_to_active_or_backoff(MEASURED, node, node, now)

    def read_annotations(self) -> None:
        """Update the snapshot's figures where they come from annotations and are out of date."""
        if self._measured or self._annotated:
            return
        self._annotated = True
        snapshot = self._world.snapshot
        watermarks = read_annotations(snapshot.nodes, snapshot.objects).watermarks
        if watermarks is not None or snapshot.watermarks is not None:
            self._world.set_watermarks(watermarks)


def is_relevant_change(old: Node, new: Node) -> bool:
    """Return true if a decision may depend on the change; conditions and heartbeats do not matter."""
    same = (
        (old.labels, old.taints, old.unschedulable, old.allocatable, old.images, old.declared_features)
        == (new.labels, new.taints, new.unschedulable, new.allocatable, new.images, new.declared_features)
        and _get_annotations(old.raw) == _get_annotations(new.raw)
        and get_mapping(old.raw, "status").get("capacity") == get_mapping(new.raw, "status").get("capacity")
    )
    return not same


def _get_annotations(raw: Json | None) -> Json:
    return {} if raw is None else get_mapping(get_mapping(raw, "metadata"), "annotations", "metadata.")


def _object_key(raw: Json) -> str:
    metadata = raw.get("metadata") or {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"


def _object_version(raw: Json) -> tuple[str, str]:
    metadata = raw.get("metadata") or {}
    return metadata.get("uid") or "", metadata.get("resourceVersion") or ""
