"""The questions about a cluster's capacity, for pages and REST."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from kschedweb.clusters.importing.documents import DocumentError, Limits, documents_read
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.objects.labels import is_qualified_name
from kschedweb.engine.objects.podgroup import gates
from kschedweb.engine.objects.quantity import read
from kschedweb.engine.studies.capacity.buffer import LOWEST
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
from kschedweb.playground.capacity.models import Kind
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.pod import Pod

MANIFEST = Limits(size=32 * 1024, depth=40, nodes=4_000, yaml_size=32 * 1024)
MOST_PODS, MOST_NODES, MOST_DRAINED, MOST_COPIES = 100_000, 1_000, 1_000, 10_000
MOST_IN_GANG = 1_000


@dataclass(frozen=True)
class PodAsked:
    """The pods in question: those of a workload or a pod of the snapshot, of a manifest, or with given requests."""

    workload: str = ""  # namespace/Kind/name, or namespace/pod
    manifest: str = ""  # YAML or JSON of a v1 Pod, or of a workload
    requests: tuple[tuple[str, str], ...] = ()  # resource, quantity

    def shape(self, snapshot: EngineSnapshot) -> PodShape:
        """The shape; raises ApplicationError, which names the field."""
        if self.workload:
            return self._known(snapshot)
        try:
            return pod_shape(self._written() if self.manifest else self._plain(), snapshot)
        except (ShapeError, ObjectError) as error:
            raise ApplicationError.at("manifest" if self.manifest else "requests", str(error)) from None

    def _known(self, snapshot: EngineSnapshot) -> PodShape:
        try:
            if self.workload.count("/") == 1:
                return replica_shape(snapshot.pod(self.workload), snapshot)
            return workload_shape(snapshot, self.workload)
        except KeyError:
            raise ApplicationError.at("workload", f"The snapshot has no pod {self.workload}.") from None
        except (ShapeError, ObjectError) as error:
            raise ApplicationError.at("workload", str(error)) from None

    def _written(self) -> Any:
        try:
            documents = documents_read(self.manifest, MANIFEST)
        except DocumentError as error:
            raise ApplicationError.at("manifest", error.detail) from None
        if len(documents) != 1:
            raise ApplicationError.at("manifest", f"Write one object; here are {len(documents)}.")
        return template(documents[0])

    def _plain(self) -> dict[str, Any]:
        for name, amount in self.requests:
            try:
                read(amount, name)
            except ObjectError as error:
                raise ApplicationError.at(f"requests.{name}", str(error)) from None
        container = {"name": "main", "image": "", "resources": {"requests": dict(self.requests)}}
        return {"metadata": {"name": "pod", "namespace": "default"}, "spec": {"containers": [container]}}


def template(raw: Any) -> Any:
    """The pod in ``raw``, which is a pod or a workload with a template."""
    spec = raw.get("spec") if isinstance(raw, dict) else None
    if not isinstance(spec, dict) or raw.get("kind") in (None, "Pod"):
        return raw
    if raw.get("kind") == "CronJob" and isinstance(spec.get("jobTemplate"), dict):
        spec = spec["jobTemplate"].get("spec") or {}
    inner = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(inner, dict):
        raise ApplicationError.at("manifest", f"{raw.get('kind')}: has neither containers nor spec.template.")
    own, metadata = _mapping(raw.get("metadata")), _mapping(inner.get("metadata"))
    named = {key: own[key] for key in ("name", "namespace") if own.get(key) is not None}
    pods = inner.get("spec")
    if raw.get("kind") == "StatefulSet" and isinstance(pods, dict):
        pods = with_own_volumes(pods, raw)
    return {"metadata": {**metadata, **named}, "spec": pods}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class FitAsked:
    pod: PodAsked
    limit: int = 10_000


@dataclass(frozen=True)
class GangsAsked:
    """Gangs of ``pods`` pods, of which ``least`` must find a node together (0: all), in one domain of ``topology``."""

    pod: PodAsked
    pods: int
    least: int = 0
    topology: str = ""
    limit: int = 1_000

    @property
    def gates(self) -> tuple[str, ...]:
        """The feature gates that such gangs need."""
        return gates(self.topology)

    def gang(self, snapshot: EngineSnapshot) -> Gang:
        """The gang; raises ApplicationError, which names the field."""
        if self.least > self.pods:
            raise ApplicationError.at("min_count", f"Must not be more than the pods of a gang, which are {self.pods}.")
        if self.topology and not is_qualified_name(self.topology):
            raise ApplicationError.at("topology_key", f"{self.topology}: is not the key of a label.")
        return Gang(self.pod.shape(snapshot), self.pods, self.least, self.topology)


@dataclass(frozen=True)
class NodeAsked:
    """The node type in question: like a node of the snapshot, or with given amounts. ``zones`` are used in turn."""

    like: str = ""
    allocatable: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    zones: tuple[str, ...] = ()

    def shape(self, snapshot: EngineSnapshot) -> NodeShape:
        """The shape; raises ApplicationError, which names the field."""
        if self.like:
            if self.like not in snapshot.index:
                raise ApplicationError.at("like", f"The snapshot has no node {self.like}.")
            raw = snapshot.nodes[snapshot.index[self.like]].raw
        else:
            raw = {
                "metadata": {"name": "node", "labels": dict(self.labels)},
                "status": {"allocatable": {"pods": "110", **dict(self.allocatable)}},
            }
        try:
            csi_node = snapshot.objects.storage.csi_nodes.get(self.like)
            return node_shape(raw, zones=self.zones, taken=snapshot.names, csi_node=csi_node)
        except ShapeError as error:
            raise ApplicationError.at("like" if self.like else "allocatable", str(error)) from None


@dataclass(frozen=True)
class NodesAsked:
    """The pods that are to fit: the pending ones, and ``copies`` more of some shape."""

    node: NodeAsked
    pending: bool = True
    pod: PodAsked = field(default_factory=PodAsked)
    copies: int = 0
    most: int = MOST_NODES

    def pods(self, snapshot: EngineSnapshot) -> list[Pod]:
        found = list(snapshot.pending) if self.pending else []
        if self.copies:
            shape = self.pod.shape(snapshot)
            found += [shape.clone(number) for number in range(1, self.copies + 1)]
        return found


@dataclass(frozen=True)
class DrainAsked:
    nodes: tuple[str, ...]
    options: Options = field(default_factory=Options)
    keep_order: bool = False


@dataclass(frozen=True)
class BufferAsked:
    """What is lost: each zone if ``zones``, and the ``largest`` nodes; pods of at least ``priority`` count."""

    zones: bool = True
    largest: int = 0
    priority: int = LOWEST


Asked: TypeAlias = FitAsked | NodesAsked | DrainAsked | GangsAsked | BufferAsked


def kind_of(asked: Asked) -> Kind:
    kinds = {FitAsked: Kind.FIT, NodesAsked: Kind.NODES, DrainAsked: Kind.DRAIN, GangsAsked: Kind.GANGS}
    return Kind.BUFFER if isinstance(asked, BufferAsked) else kinds[type(asked)]


def asked_of(kind: str, plain: dict[str, Any]) -> Asked:
    """The reverse of ``dataclasses.asdict`` for a question."""
    if kind == Kind.FIT:
        return FitAsked(_pod(plain["pod"]), plain["limit"])
    if kind == Kind.BUFFER:
        return BufferAsked(**plain)
    if kind == Kind.GANGS:
        return GangsAsked(**{**plain, "pod": _pod(plain["pod"])})
    if kind == Kind.DRAIN:
        return DrainAsked(tuple(plain["nodes"]), Options(**plain["options"]), plain["keep_order"])
    node = plain["node"]
    type_ = NodeAsked(node["like"], _pairs(node["allocatable"]), _pairs(node["labels"]), tuple(node["zones"]))
    return NodesAsked(type_, plain["pending"], _pod(plain["pod"]), plain["copies"], plain["most"])


def _pod(plain: dict[str, Any]) -> PodAsked:
    return PodAsked(plain["workload"], plain["manifest"], _pairs(plain["requests"]))


def _pairs(plain: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in plain)
