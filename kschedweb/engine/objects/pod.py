"""A pod as the scheduler reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from kschedweb.engine.objects.access import (
    Json,
    ObjectError,
    boolean,
    integer,
    mapping,
    objects,
    sequence,
    string_map,
    text,
)
from kschedweb.engine.objects.affinity import NodeAffinity, PodAffinity, read_pod_affinity
from kschedweb.engine.objects.resourceclaim import PodClaim, read_pod_claims
from kschedweb.engine.objects.resources import (
    CPU,
    DEFAULT_REQUESTS,
    MEMORY,
    Amounts,
    PodResources,
    read_resources,
    units,
)
from kschedweb.engine.objects.spread import SpreadConstraint, read_constraint
from kschedweb.engine.objects.taints import Toleration, read_tolerations
from kschedweb.engine.objects.volume import PodVolume, read_volumes

DEFAULT_SCHEDULER = "default-scheduler"
Port = tuple[str, str, int]  # host ip, protocol, port


@dataclass(frozen=True, eq=False)
class Pod:
    """One pod; two pods are the same when they are the same object. Amounts are milli-CPU and whole units."""

    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    node_name: str
    scheduler_name: str
    priority: int
    node_selector: dict[str, str] | None
    node_affinity: NodeAffinity
    pod_affinity: PodAffinity
    tolerations: tuple[Toleration, ...]
    spread_constraints: tuple[SpreadConstraint, ...]
    host_ports: tuple[Port, ...]
    volumes: tuple[PodVolume, ...]
    resource_claims: tuple[PodClaim, ...]
    images: tuple[str, ...]
    container_count: int
    gates: tuple[str, ...]
    terminating: bool
    nominated_node: str
    controller: tuple[str, str, str] | None  # apiVersion, kind, name
    resources: PodResources
    raw: Json = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def requests(self) -> Amounts:
        """What the pod asks for when it comes in."""
        return units(self.resources.total())

    @cached_property
    def occupied(self) -> Amounts:
        """What the pod takes from the node it is on."""
        return units(self.resources.total(status=True))

    @cached_property
    def occupied_nonzero(self) -> tuple[int, int]:
        """(milli-CPU, bytes) taken from its node, with defaults for what is not asked for."""
        defaults = DEFAULT_REQUESTS
        if self.resources.pod_level_set:
            asked = self.resources.total(status=True)
            defaults = {name: amount for name, amount in DEFAULT_REQUESTS.items() if name not in asked}
        total = units(self.resources.total(status=True, defaults=defaults))
        return total.get(CPU, 0), total.get(MEMORY, 0)

    @cached_property
    def scoring_requests(self) -> Amounts:
        """What NodeResourcesFit scores with: container defaults in, pod-level resources left out."""
        return units(self.resources.total(at_pod_level=False, defaults=DEFAULT_REQUESTS))

    def on(self, node_name: str) -> Pod:
        """This pod, bound to ``node_name``."""
        return replace(self, node_name=node_name)

    @classmethod
    def read(cls, raw: Json) -> Pod:
        """A v1 Pod, defaulted as the API server does; raises ObjectError where it cannot be understood."""
        metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
        name = text(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        namespace = text(metadata, "namespace", "metadata.") or "default"
        affinity = mapping(spec, "affinity", "spec.")
        containers = objects(spec, "containers", "spec.")
        inits = objects(spec, "initContainers", "spec.")
        return cls(
            namespace=namespace,
            name=name,
            uid=text(metadata, "uid", "metadata.") or f"{namespace}/{name}",
            labels=string_map(metadata, "labels", "metadata."),
            node_name=text(spec, "nodeName", "spec."),
            scheduler_name=text(spec, "schedulerName", "spec.") or DEFAULT_SCHEDULER,
            priority=integer(spec, "priority", path="spec."),
            node_selector=None if spec.get("nodeSelector") is None else string_map(spec, "nodeSelector", "spec."),
            node_affinity=NodeAffinity.read(
                mapping(affinity, "nodeAffinity", "spec.affinity."), "spec.affinity.nodeAffinity."
            ),
            pod_affinity=read_pod_affinity(affinity, namespace),
            tolerations=read_tolerations(spec, "tolerations", "spec."),
            spread_constraints=tuple(
                read_constraint(item) for item in objects(spec, "topologySpreadConstraints", "spec.")
            ),
            host_ports=_host_ports(containers, inits, boolean(spec, "hostNetwork", "spec.")),
            volumes=read_volumes(spec, name),
            resource_claims=read_pod_claims(spec, status),
            images=_images(spec, containers, inits),
            container_count=len(containers) + len(inits),
            gates=tuple(
                text(gate, "name", "spec.schedulingGates.") for gate in objects(spec, "schedulingGates", "spec.")
            ),
            terminating=metadata.get("deletionTimestamp") is not None,
            nominated_node=text(status, "nominatedNodeName", "status."),
            controller=_controller(metadata),
            resources=read_resources(spec, status),
            raw=raw,
        )


def _host_ports(containers: list[Json], inits: list[Json], host_network: bool) -> tuple[Port, ...]:
    ports = []
    for container in containers + [init for init in inits if init.get("restartPolicy") == "Always"]:
        for port in objects(container, "ports", "spec.containers."):
            number = integer(port, "hostPort", path="spec.containers.ports.")
            if host_network and not number:
                number = integer(port, "containerPort", path="spec.containers.ports.")
            if number > 0:
                ports.append((text(port, "hostIP") or "0.0.0.0", text(port, "protocol") or "TCP", number))  # noqa: S104
    return tuple(ports)


def _images(spec: Json, containers: list[Json], inits: list[Json]) -> tuple[str, ...]:
    names = [text(container, "image", "spec.containers.") for container in inits + containers]
    for volume in objects(spec, "volumes", "spec."):
        if volume.get("image") is not None:
            names.append(text(mapping(volume, "image", "spec.volumes."), "reference", "spec.volumes.image."))
    return tuple(names)


def _controller(metadata: Json) -> tuple[str, str, str] | None:
    for owner in sequence(metadata, "ownerReferences", "metadata."):
        if isinstance(owner, dict) and owner.get("controller") is True:
            return text(owner, "apiVersion"), text(owner, "kind"), text(owner, "name")
    return None
