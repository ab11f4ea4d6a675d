"""Events from outside that a simulated cluster meets; actors bring more. All times are seconds."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SimulationEvent:
    time: float


@dataclass(frozen=True, slots=True)
class PodArrives(SimulationEvent):
    """Somebody creates ``pod``: a raw one is completed by admission, a Pod is taken as it is."""

    pod: Json | Pod
    # Seconds from its binding to its end; ``None`` for no end.
    duration: float | None = None
    # True if a controller replaces it when it is evicted, by a pod that runs for the time that was left.
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class PodChanges(SimulationEvent):
    """Somebody changes a pod's object: for example its gates while it waits, or its labels."""

    pod: Json
    # True if the event is ignored when the pod does not exist.
    if_there: bool = False


@dataclass(frozen=True, slots=True)
class PodLeaves(SimulationEvent):
    """Somebody deletes the pod ``namespace/name``, or the one that replaced it; on a node it has its grace period."""

    pod: str
    # True if the event is ignored when neither exists.
    if_there: bool = False


@dataclass(frozen=True, slots=True)
class PodGroupArrives(SimulationEvent):
    """Somebody creates a PodGroup."""

    group: Json


@dataclass(frozen=True, slots=True)
class PodGroupChanges(SimulationEvent):
    """Somebody changes a PodGroup: for example it needs fewer pods."""

    group: Json


@dataclass(frozen=True, slots=True)
class PodGroupLeaves(SimulationEvent):
    """Somebody deletes the PodGroup ``namespace/name``; its pods stay."""

    group: str


@dataclass(frozen=True, slots=True)
class PermitAllows(SimulationEvent):
    """Somebody allows a pod for ``plugin`` that waits at Permit."""

    pod: str
    plugin: str


@dataclass(frozen=True, slots=True)
class PermitRejects(SimulationEvent):
    """Somebody rejects a pod for ``plugin`` that waits at Permit."""

    pod: str
    plugin: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeJoins(SimulationEvent):
    node: Json


@dataclass(frozen=True, slots=True)
class NodeLeaves(SimulationEvent):
    """The node is gone at once, with its pods."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeChanges(SimulationEvent):
    """Somebody changes a node. ``None`` leaves a field as it is."""

    node: str
    # Labels to set; a value of ``None`` removes the label. Labels that are not named stay.
    labels: Mapping[str, str | None] | None = None
    # Raw taints that replace all but those of conditions.
    taints: tuple[Json, ...] | None = None
    unschedulable: bool | None = None
    allocatable: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PodIsEvicted(SimulationEvent):
    """Somebody evicts the pod ``namespace/name``. Nothing happens if it is on no node then."""

    pod: str


@dataclass(frozen=True, slots=True)
class NodeDrains(SimulationEvent):
    """Somebody cordons the node and evicts its pods."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeReports(SimulationEvent):
    """The node's kubelet reports, perhaps after a silence, whether it is ready."""

    node: str
    ready: bool


@dataclass(frozen=True, slots=True)
class NodeConditions(SimulationEvent):
    """The node's conditions get these statuses: True, False or Unknown.

    Ready Unknown means that the kubelet is silent from then on. Another status of a condition that the kubelet reports
    means that it is heard of again.
    """

    node: str
    conditions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeFallsSilent(SimulationEvent):
    """The node's kubelet falls silent; the node's pods run on until they are evicted."""

    node: str
