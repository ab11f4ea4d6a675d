"""What happens to a cluster from outside while it is simulated. All times are seconds."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.scaling.scalers import Scaler
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SimulationEvent:
    time: float


@dataclass(frozen=True, slots=True)
class PodArrives(SimulationEvent):
    """Somebody creates ``pod``: raw, then admission completes it, or a Pod, which is taken as it is.

    It ends ``duration`` seconds after it was bound, by itself never where that is ``None``. Where it is ``replaced``
    a controller puts another pod in its place when it is evicted, which runs for as long as was left.
    """

    pod: Json | Pod
    duration: float | None = None
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class PodChanges(SimulationEvent):
    """Somebody writes ``pod``: it loses gates while it waits, say, or has other labels.

    With ``if_there`` it need not be there any more.
    """

    pod: Json
    if_there: bool = False


@dataclass(frozen=True, slots=True)
class PodLeaves(SimulationEvent):
    """Somebody deletes the pod ``namespace/name``: bound, it leaves after its grace period.

    Where a controller put another in its place, that one is meant. With ``if_there`` neither need be there any more.
    """

    pod: str
    if_there: bool = False


@dataclass(frozen=True, slots=True)
class ScalerComes(SimulationEvent):
    """Somebody has a workload scaled, from now on by this one."""

    scaler: Scaler


@dataclass(frozen=True, slots=True)
class WorkloadScales(SimulationEvent):
    """Somebody scales a workload by hand that a scaler looks after."""

    workload: str
    replicas: int


@dataclass(frozen=True, slots=True)
class WorkloadLeaves(SimulationEvent):
    """Somebody deletes a workload that a scaler looks after, with its pods."""

    workload: str


@dataclass(frozen=True, slots=True)
class PodGroupArrives(SimulationEvent):
    """Somebody creates a PodGroup."""

    group: Json


@dataclass(frozen=True, slots=True)
class PodGroupChanges(SimulationEvent):
    """Somebody writes a PodGroup: it asks for fewer pods, say."""

    group: Json


@dataclass(frozen=True, slots=True)
class PodGroupLeaves(SimulationEvent):
    """Somebody deletes the PodGroup ``namespace/name``; its pods stay."""

    group: str


@dataclass(frozen=True, slots=True)
class PermitAllows(SimulationEvent):
    """``plugin`` lets a pod go on that waits at Permit."""

    pod: str
    plugin: str


@dataclass(frozen=True, slots=True)
class PermitRejects(SimulationEvent):
    """``plugin`` does not let a pod go on that waits at Permit."""

    pod: str
    plugin: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeJoins(SimulationEvent):
    node: Json


@dataclass(frozen=True, slots=True)
class NodeLeaves(SimulationEvent):
    """The node is gone at once, and its pods with it."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeChanges(SimulationEvent):
    """Somebody writes a node. ``None`` leaves things as they are; so do labels that are not named.

    ``labels``: ``None`` as a value takes a label away. ``taints`` (raw) replace all but those of conditions.
    """

    node: str
    labels: Mapping[str, str | None] | None = None
    taints: tuple[Json, ...] | None = None
    unschedulable: bool | None = None
    allocatable: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PodIsEvicted(SimulationEvent):
    """Somebody evicts the pod ``namespace/name``. Nothing happens where it is on no node then."""

    pod: str


@dataclass(frozen=True, slots=True)
class NodeDrains(SimulationEvent):
    """Somebody cordons the node and evicts its pods."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeReports(SimulationEvent):
    """The node's kubelet reports, perhaps again, whether it is ready."""

    node: str
    ready: bool


@dataclass(frozen=True, slots=True)
class NodeConditions(SimulationEvent):
    """Conditions of the node have these statuses: True, False or Unknown.

    Where Ready is Unknown its kubelet is silent from then on; where another status is one that the kubelet reports, it
    is heard of again.
    """

    node: str
    conditions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeFallsSilent(SimulationEvent):
    """The node's kubelet is not heard of any more; its pods run on until they are evicted."""

    node: str
