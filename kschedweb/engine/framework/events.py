"""Events in a cluster that can let a rejected pod be scheduled."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.values import dataclass

POD, NODE, ANY = "Pod", "Node", "*"
ASSIGNED_POD, UNSCHEDULED_POD = "AssignedPod", "UnschedulablePod"
VOLUME, VOLUME_CLAIM, STORAGE_CLASS = "PersistentVolume", "PersistentVolumeClaim", "storage.k8s.io/StorageClass"
CSI_NODE, CSI_DRIVER = "storage.k8s.io/CSINode", "storage.k8s.io/CSIDriver"
STORAGE_CAPACITY, ATTACHMENT = "storage.k8s.io/CSIStorageCapacity", "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM, RESOURCE_SLICE = "resource.k8s.io/ResourceClaim", "resource.k8s.io/ResourceSlice"
POD_GROUP, COMPOSITE_GROUP = "scheduling.k8s.io/PodGroup", "scheduling.k8s.io/CompositePodGroup"
DEVICE_CLASS = "resource.k8s.io/DeviceClass"


class Action(IntFlag):
    """The action on an object. The order matters: an event is more specific the lower its bits are."""

    ADD = 1 << 0
    DELETE = 1 << 1
    NODE_ALLOCATABLE = 1 << 2
    NODE_LABEL = 1 << 3
    NODE_TAINT = 1 << 4
    NODE_CONDITION = 1 << 5
    NODE_ANNOTATION = 1 << 6
    NODE_DECLARED_FEATURE = 1 << 7
    NODE_PREEMPTION_POLICY = 1 << 8
    POD_LABEL = 1 << 9
    POD_SCALE_DOWN = 1 << 10
    POD_TOLERATION = 1 << 11
    POD_GATES_GONE = 1 << 12
    POD_GENERATED_CLAIM = 1 << 13
    # Every bit but ADD and DELETE.
    UPDATE = (1 << 14) - (1 << 2)
    ALL = (1 << 14) - 1


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """An action on a kind of object."""

    # Kubernetes' kind, with its group if it has one.
    resource: str
    action: Action
    # Names a special event; "" for others.
    label: str = ""

    @property
    def name(self) -> str:
        """The name in metrics: the label of a special event, else for example NodeAdd."""
        short = self.resource.rpartition("/")[2]
        return self.label or short + {Action.ADD: "Add", Action.DELETE: "Delete"}.get(self.action, "Update")

    @property
    def is_wildcard(self) -> bool:
        """True if the event moves every pod."""
        return self.resource == ANY and self.action == Action.ALL

    def covers(self, other: ClusterEvent) -> bool:
        """Return whether registering for this event covers ``other``, which is the same or more specific."""
        if self.is_wildcard:
            return True
        same = self.resource in (ANY, other.resource)
        pods = self.resource == POD and other.resource in (ASSIGNED_POD, UNSCHEDULED_POD)
        return (same or pods) and bool(self.action & other.action) and other.action <= self.action


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """The object of an event before and after: a Pod, a Node, a PodGroup, or the raw object of another kind."""

    # ``None`` if the object was added.
    old: Any
    # ``None`` if it was deleted.
    new: Any
    # The other objects of the cluster.
    cluster: ClusterObjects


Hint = Callable[[Pod, ObjectChange], bool]


@dataclass(frozen=True, slots=True)
class EventHint:
    """An event that may let a pod be scheduled that a plugin rejected."""

    event: ClusterEvent
    # Returns whether this change may help this pod; without it, the change always may.
    hint: Hint | None = None


NO_CLAIMS: tuple[Any, Any] = ([], {})
ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULED_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE)
NODE_ADD = ClusterEvent(NODE, Action.ADD)
NODE_DELETE = ClusterEvent(NODE, Action.DELETE)
RESOURCE_CLAIM_UPDATE = ClusterEvent(RESOURCE_CLAIM, Action.UPDATE)
POD_GROUP_ADD = ClusterEvent(POD_GROUP, Action.ADD)
POD_GROUP_UPDATE = ClusterEvent(POD_GROUP, Action.UPDATE)
POD_GROUP_DELETE = ClusterEvent(POD_GROUP, Action.DELETE)
COMPOSITE_GROUP_ADD = ClusterEvent(COMPOSITE_GROUP, Action.ADD)
COMPOSITE_GROUP_UPDATE = ClusterEvent(COMPOSITE_GROUP, Action.UPDATE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(ANY, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(ANY, Action.ALL, "ForceActivate")

# The events that a plugin waits for if it does not list any itself.
EVERYTHING = tuple(
    EventHint(ClusterEvent(resource, Action.ALL))
    for resource in (
        POD,
        NODE,
        VOLUME,
        VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        STORAGE_CAPACITY,
        STORAGE_CLASS,
        RESOURCE_CLAIM,
        DEVICE_CLASS,
    )
)


def group_event(action: Action, *, composite: bool) -> ClusterEvent:
    """Return the event of an action on a PodGroup or a CompositePodGroup."""
    return ClusterEvent(COMPOSITE_GROUP if composite else POD_GROUP, action)


def has_place(pod: Pod, *, include_nominated: bool = True) -> bool:
    """Return whether the pod takes room on a node, or is nominated to one, if ``include_nominated``."""
    return bool(pod.node_name or (include_nominated and pod.nominated_node))


def pod_changes(old: Pod, new: Pod) -> list[ClusterEvent]:
    """Return the events that an update of a pod amounts to; a general update if it is none of the special ones."""
    resource = ASSIGNED_POD if new.node_name else UNSCHEDULED_POD
    changed = {
        Action.POD_LABEL: old.labels != new.labels,
        Action.POD_SCALE_DOWN: _scaled_down(old, new),
        Action.POD_GATES_GONE: bool(old.gates) and not new.gates,
        # The API server lets tolerations be added only.
        Action.POD_TOLERATION: len(old.tolerations) != len(new.tolerations),
        Action.POD_GENERATED_CLAIM: _generated_claims(old) != _generated_claims(new),
    }
    actions = [action for action, happened in changed.items() if happened] or [Action.UPDATE]
    return [ClusterEvent(resource, action) for action in actions]


def _scaled_down(old: Pod, new: Pod) -> bool:
    if old.template == new.template:  # they ask for, and have, the same
        return False
    before, after = old.resources.total(status=True), new.resources.total(status=True)
    return any(name not in after or amount > after[name] for name, amount in before.items())


def _generated_claims(pod: Pod) -> tuple[Any, Any]:
    status = get_mapping(pod.raw, "status")
    if "resourceClaimStatuses" not in status and "extendedResourceClaimStatus" not in status:
        return NO_CLAIMS
    return get_objects(status, "resourceClaimStatuses"), get_mapping(status, "extendedResourceClaimStatus")


def node_changes(old: Node, new: Node) -> list[ClusterEvent]:
    """Return the events that an update of a node amounts to; none if nothing changed that the scheduler reads."""
    changed = {
        Action.NODE_ALLOCATABLE: old.allocatable != new.allocatable,
        Action.NODE_LABEL: old.labels != new.labels,
        Action.NODE_TAINT: old.taints != new.taints,
        Action.NODE_CONDITION: read_conditions(old) != read_conditions(new),
        Action.NODE_ANNOTATION: _read_annotations(old.raw) != _read_annotations(new.raw),
        Action.NODE_DECLARED_FEATURE: old.declared_features != new.declared_features,
        Action.NODE_PREEMPTION_POLICY: old.refuses_resizes != new.refuses_resizes,
    }
    # A node that is no longer cordoned counts as one with other taints, and before everything else.
    actions = [Action.NODE_TAINT] if old.unschedulable and not new.unschedulable else []
    actions += [action for action, happened in changed.items() if happened]
    return [ClusterEvent(NODE, action) for action in actions]


def read_conditions(node: Node) -> dict[str, str]:
    """Return the node's conditions: type -> status."""
    listed = get_objects(get_mapping(node.raw, "status"), "conditions", "status.")
    return {str(item.get("type")): str(item.get("status")) for item in listed}


def _read_annotations(raw: Json) -> Json:
    return get_mapping(get_mapping(raw, "metadata"), "annotations", "metadata.")
