"""Questions about a cluster's capacity, for pages and REST."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from kschedweb.clusters.importing.documents import manifest_read
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.labels import is_qualified_name
from kschedweb.engine.objects.podgroup import list_required_gates
from kschedweb.engine.objects.quantity import read_quantity
from kschedweb.engine.studies.capacity.buffer import LOWEST_PRIORITY
from kschedweb.engine.studies.capacity.drain import Options
from kschedweb.engine.studies.capacity.gangs import Gang
from kschedweb.engine.studies.capacity.shapes import (
    NodeShape,
    PodShape,
    ShapeError,
    node_shape,
    pod_shape,
    replica_shape,
    with_own_volumes,
    workload_shape,
)
from kschedweb.engine.studies.trying.node_change import NodeChange
from kschedweb.playground.capacity.models import CapacityKind
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.pod import Pod

# Limits of one question, which bound the time of its job.
MOST_PODS, MOST_NODES, MOST_DRAINED, MOST_COPIES = 100_000, 1_000, 1_000, 10_000
MOST_IN_GANG = 1_000
MOST_ADDED = 1_000


@dataclass(frozen=True)
class PodQuery:
    """The pods in question, named in one of three ways."""

    # namespace/Kind/name of a workload of the snapshot, or namespace/name of a pod.
    workload: str = ""
    # YAML or JSON of a v1 Pod, or of a workload with a template.
    manifest: str = ""
    # Pairs of resource and quantity. Tuples, so that a question can be the key of a cache.
    requests: tuple[tuple[str, str], ...] = ()

    def to_shape(self, snapshot: EngineSnapshot) -> PodShape:
        """Return the shape of the pods; raise ApplicationError, which names the field."""
        if self.workload:
            return self._shape_from_snapshot(snapshot)
        try:
            pod = extract_pod(manifest_read(self.manifest)) if self.manifest else self._pod_from_requests()
            return pod_shape(pod, snapshot)
        except (ShapeError, ObjectError) as error:
            raise ApplicationError.at("manifest" if self.manifest else "requests", str(error)) from None

    def _shape_from_snapshot(self, snapshot: EngineSnapshot) -> PodShape:
        """Return the shape of the workload's or pod's pods in the snapshot."""
        try:
            # One slash means a pod, two a workload.
            if self.workload.count("/") == 1:
                return replica_shape(snapshot.get_pod(self.workload), snapshot)
            return workload_shape(snapshot, self.workload)
        except KeyError:
            raise ApplicationError.at("workload", f"The snapshot has no pod {self.workload}.") from None
        except (ShapeError, ObjectError) as error:
            raise ApplicationError.at("workload", str(error)) from None

    def _pod_from_requests(self) -> Json:
        for name, amount in self.requests:
            try:
                read_quantity(amount, name)
            except ObjectError as error:
                raise ApplicationError.at(f"requests.{name}", str(error)) from None
        container = {"name": "main", "image": "", "resources": {"requests": dict(self.requests)}}
        return {"metadata": {"name": "pod", "namespace": "default"}, "spec": {"containers": [container]}}


def extract_pod(raw: Any) -> Any:
    """Return the pod in ``raw``, which is a pod or a workload with a template."""
    spec = raw.get("spec") if isinstance(raw, dict) else None
    if not isinstance(spec, dict) or raw.get("kind") in (None, "Pod"):
        return raw
    if raw.get("kind") == "CronJob" and isinstance(spec.get("jobTemplate"), dict):
        spec = spec["jobTemplate"].get("spec") or {}
    inner = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(inner, dict):
        raise ApplicationError.at("manifest", f"{raw.get('kind')}: has neither containers nor spec.template.")
    owner_metadata, metadata = _as_mapping(raw.get("metadata")), _as_mapping(inner.get("metadata"))
    # The workload's name and namespace win over those in the template, which is usually unnamed.
    identity = {key: owner_metadata[key] for key in ("name", "namespace") if owner_metadata.get(key) is not None}
    pods = inner.get("spec")
    # The StatefulSet controller adds a volume for each claim template.
    if raw.get("kind") == "StatefulSet" and isinstance(pods, dict):
        pods = with_own_volumes(pods, raw)
    return {"metadata": {**metadata, **identity}, "spec": pods}


def _as_mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class FitQuery:
    """The question how many more pods of a shape fit."""

    pod: PodQuery
    # Counting stops at this many pods.
    limit: int = 10_000


@dataclass(frozen=True)
class GangsQuery:
    """The question how many more gangs of pods fit."""

    pod: PodQuery
    # Pods of a gang.
    pods: int
    # Pods of a gang that must find a node together (minCount); 0 means all.
    least: int = 0
    # Label key of the domains, of which a gang uses one; "" for anywhere.
    topology: str = ""
    # Counting stops at this many gangs.
    limit: int = 1_000

    @property
    def required_gates(self) -> tuple[str, ...]:
        """The feature gates that such gangs need."""
        return list_required_gates(self.topology)

    def to_gang(self, snapshot: EngineSnapshot) -> Gang:
        """Return the gang; raise ApplicationError, which names the field."""
        if self.least > self.pods:
            raise ApplicationError.at("min_count", f"Must not be more than the pods of a gang, which are {self.pods}.")
        if self.topology and not is_qualified_name(self.topology):
            raise ApplicationError.at("topology_key", f"{self.topology}: is not the key of a label.")
        return Gang(self.pod.to_shape(snapshot), self.pods, self.least, self.topology)


@dataclass(frozen=True)
class NodeTypeQuery:
    """The node type in question: like a node of the snapshot, or with given amounts."""

    # Name of a node of the snapshot; "" if the amounts are given.
    like: str = ""
    # Pairs of resource and quantity.
    allocatable: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    # Zones of the new nodes, used in turn.
    zones: tuple[str, ...] = ()

    def to_shape(self, snapshot: EngineSnapshot) -> NodeShape:
        """Return the shape of the node; raise ApplicationError, which names the field."""
        if self.like:
            if self.like not in snapshot.index:
                raise ApplicationError.at("like", f"The snapshot has no node {self.like}.")
            raw = snapshot.nodes[snapshot.index[self.like]].raw
        else:
            raw = {
                "metadata": {"name": "node", "labels": dict(self.labels)},
                # 110 is the kubelet's default for maxPods.
                "status": {"allocatable": {"pods": "110", **dict(self.allocatable)}},
            }
        try:
            csi_node = snapshot.objects.storage.csi_nodes.get(self.like)
            return node_shape(raw, zones=self.zones, taken_names=snapshot.names, csi_node=csi_node)
        except ShapeError as error:
            raise ApplicationError.at("like" if self.like else "allocatable", str(error)) from None


@dataclass(frozen=True)
class NodesQuery:
    """The question how many nodes of a type must be added."""

    node: NodeTypeQuery
    # True if the pending pods of the snapshot must fit.
    pending: bool = True
    # Shape of the further pods.
    pod: PodQuery = field(default_factory=PodQuery)
    # Number of further pods that must fit.
    copies: int = 0
    # Most new nodes to try.
    most: int = MOST_NODES

    def list_pods(self, snapshot: EngineSnapshot) -> list[Pod]:
        pods = list(snapshot.pending) if self.pending else []
        if self.copies:
            shape = self.pod.to_shape(snapshot)
            pods += [shape.clone(number) for number in range(1, self.copies + 1)]
        return pods


@dataclass(frozen=True)
class DrainQuery:
    """The question whether nodes can be drained."""

    nodes: tuple[str, ...]
    # Options of kubectl drain.
    options: Options = field(default_factory=Options)
    # True to drain in the given order; otherwise the easiest nodes come first.
    keep_order: bool = False


@dataclass(frozen=True)
class BufferQuery:
    """The question whether the cluster survives a loss."""

    # True to lose each zone, one at a time.
    zones: bool = True
    # Number of the largest nodes that are lost together; 0 for none.
    largest: int = 0
    # Pods count from this priority on; those below may be evicted for them.
    priority: int = LOWEST_PRIORITY


CapacityQuery: TypeAlias = FitQuery | NodesQuery | DrainQuery | GangsQuery | BufferQuery | NodeChange


def kind_of(query: CapacityQuery) -> CapacityKind:
    kinds = {
        FitQuery: CapacityKind.FIT,
        NodesQuery: CapacityKind.NODES,
        DrainQuery: CapacityKind.DRAIN,
        GangsQuery: CapacityKind.GANGS,
        BufferQuery: CapacityKind.BUFFER,
        NodeChange: CapacityKind.CHANGE,
    }
    return kinds[type(query)]


def query_from_json(kind: str, plain: Json) -> CapacityQuery:
    """Return the question from the plain data of ``dataclasses.asdict``."""
    if kind == CapacityKind.FIT:
        return FitQuery(_pod_from_json(plain["pod"]), plain["limit"])
    if kind == CapacityKind.BUFFER:
        return BufferQuery(**plain)
    if kind == CapacityKind.GANGS:
        return GangsQuery(**{**plain, "pod": _pod_from_json(plain["pod"])})
    if kind == CapacityKind.DRAIN:
        return DrainQuery(tuple(plain["nodes"]), Options(**plain["options"]), plain["keep_order"])
    if kind == CapacityKind.CHANGE:
        return NodeChange(tuple(plain["lost"]), plain["like"], plain["added"], tuple(plain["zones"]))
    node = plain["node"]
    type_ = NodeTypeQuery(node["like"], _to_pairs(node["allocatable"]), _to_pairs(node["labels"]), tuple(node["zones"]))
    return NodesQuery(type_, plain["pending"], _pod_from_json(plain["pod"]), plain["copies"], plain["most"])


def _pod_from_json(plain: Json) -> PodQuery:
    return PodQuery(plain["workload"], plain["manifest"], _to_pairs(plain["requests"]))


def _to_pairs(plain: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in plain)
