"""A pod as the scheduler reads it."""

from __future__ import annotations

import itertools
import marshal
import math
from collections.abc import Hashable
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from kschedweb.engine.objects.access import (
    Json,
    ObjectError,
    boolean,
    each,
    integer,
    mapping,
    objects,
    string_map,
    text,
)
from kschedweb.engine.objects.affinity import NodeAffinity, PodAffinity, read_pod_affinity
from kschedweb.engine.objects.alike import Alike
from kschedweb.engine.objects.resourceclaim import PodClaim, read_pod_claims
from kschedweb.engine.objects.resources import (
    Amounts,
    Counting,
    PodResources,
    read_limits,
    read_resources,
    units,
)
from kschedweb.engine.objects.spread import SpreadConstraint, read_constraint
from kschedweb.engine.objects.taints import Toleration, read_tolerations
from kschedweb.engine.objects.volume import PodVolume, read_volumes
from kschedweb.engine.values import dataclass

DEFAULT_SCHEDULER = "default-scheduler"
MAX_TEMPLATES = 65536
SHARED_FIELDS = (
    *("schedulerName", "priority", "preemptionPolicy", "nodeSelector", "affinity", "tolerations"),
    *("topologySpreadConstraints", "hostNetwork", "hostUsers", "schedulingGates", "overhead", "resources"),
    *("resourceClaims", "runtimeClassName", "restartPolicy"),
)
CONTAINER_FIELDS = ("name", "image", "resources", "ports", "restartPolicy", "restartPolicyRules")
ANY_ADDRESS = "0.0.0.0"  # noqa: S104
CLAIM_FIELDS = ("resourceClaimStatuses", "extendedResourceClaimStatus")
Port = tuple[str, str, int]  # host ip, protocol, port
Placed = list[tuple[Json, str]]  # parts of the pod, each with the path of its fields


@dataclass(frozen=True, eq=False)
class Pod:
    """One pod; two pods are the same when they are the same object. Amounts are milli-CPU and whole units.

    ``template`` is one number for pods that share everything in the lines below it, as those of a Deployment do.
    """

    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    node_name: str
    volumes: tuple[PodVolume, ...]
    resource_claims: tuple[PodClaim, ...]
    terminating: bool
    nominated_node: str
    controller: tuple[str, str, str] | None  # apiVersion, kind, name
    scheduling_group: str  # the key of the PodGroup that it names, "" for none
    raw: Json = field(repr=False)
    template: int
    scheduler_name: str
    priority: int
    node_selector: dict[str, str] | None
    node_affinity: NodeAffinity
    pod_affinity: PodAffinity
    tolerations: tuple[Toleration, ...]
    spread_constraints: tuple[SpreadConstraint, ...]
    host_ports: tuple[Port, ...]
    images: tuple[str, ...]
    container_count: int
    gates: tuple[str, ...]
    resources: PodResources
    requests: Amounts  # what the pod asks for when it comes in
    occupied: Amounts  # what it takes from the node it is on
    occupied_nonzero: tuple[int, int]  # (milli-CPU, bytes) of that, with defaults for what is not asked for
    limits: Amounts  # what its containers together may use; without those that have no limit
    scoring_requests: Amounts  # what NodeResourcesFit scores with: with defaults, without pod-level resources

    def counted(self, counting: Counting) -> Pod:
        """The pod as a release counts what it takes from its node."""
        if counting == self.resources.counting or not self.resources.reported:
            return self
        resources = replace(self.resources, counting=counting)
        return replace(
            self, resources=resources, occupied=resources.occupied, occupied_nonzero=resources.occupied_nonzero
        )

    @property
    def resize_deferred(self) -> bool:
        """Whether the kubelet puts a resize of the pod off until there is room on its node."""
        return self.resources.resize_deferred

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def seen_by_selectors(self) -> Hashable:
        """Equal for pods that no selector can tell apart."""
        return self.namespace, frozenset(self.labels.items()), self.terminating

    @cached_property
    def signature(self) -> Hashable:
        """kube-scheduler's pod signature: equal for pods that differ at most in name, uid, status and annotations."""
        return (
            self.template,
            self.seen_by_selectors,
            self.node_name,
            self.volumes,
            self.resource_claims,
            self.controller,
        )

    @cached_property
    def started(self) -> float:
        """When the pod started, in seconds of the epoch; infinite where it has not."""
        return started(mapping(self.raw, "status"))

    @cached_property
    def scheduled(self) -> float:
        """When the pod got its node, or started, or else was created, in seconds of the epoch; NaN: nothing says."""
        return scheduled(self.raw, mapping(self.raw, "status"))

    def since(self, condition: str) -> float | None:
        """Since when a condition of the pod is true, in seconds of the epoch; ``None``: it is not, or nobody knows."""
        return _since(mapping(self.raw, "status"), condition)

    def on(self, node_name: str) -> Pod:
        """This pod, bound to ``node_name``."""
        bound = object.__new__(Pod)
        bound.__dict__.update(self.__dict__, node_name=node_name)
        bound.__dict__.pop("signature", None)
        return bound

    def under(self, scheduler_name: str) -> Pod:
        """This pod, as the profile ``scheduler_name`` sees it."""
        other = object.__new__(Pod)
        other.__dict__.update(self.__dict__, scheduler_name=scheduler_name)
        return other

    def renewed(self, raw: Json) -> Pod:
        """The pod, of the same name and uid, as ``raw`` shows it later; raises ObjectError as ``read`` does.

        What most updates leave as it is, all but the node and the status, is not read again.
        """
        old, new = (mapping(one, "metadata") for one in (self.raw, raw))
        before, after = ({**mapping(one, "spec"), "nodeName": None} for one in (self.raw, raw))
        known, status = mapping(self.raw, "status"), mapping(raw, "status")
        same = before == after and all(old.get(field) == new.get(field) for field in ("labels", "ownerReferences"))
        if not same or any(known.get(field) != status.get(field) for field in CLAIM_FIELDS):
            return Pod.read(raw)
        try:
            if _status_content(known) != _status_content(status):
                return Pod.read(raw)
        except (TypeError, AttributeError):  # not what an API server sends: reading it says what is wrong
            return Pod.read(raw)
        pod = object.__new__(Pod)
        pod.__dict__.update(
            self.__dict__,
            node_name=text(mapping(raw, "spec"), "nodeName", "spec."),
            terminating=new.get("deletionTimestamp") is not None,
            nominated_node=text(status, "nominatedNodeName", "status."),
            raw=raw,
        )
        stale = ["started", "scheduled"]
        if pod.terminating != self.terminating:
            stale += ["seen_by_selectors", "signature"]
        elif pod.node_name != self.node_name:
            stale.append("signature")
        for name in stale:
            pod.__dict__.pop(name, None)
        return pod

    @classmethod
    def read(cls, raw: Json) -> Pod:
        """A v1 Pod, defaulted as the API server does; raises ObjectError where it cannot be understood."""
        metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
        name = text(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        namespace = text(metadata, "namespace", "metadata.") or "default"
        _check(spec, status)
        pod = object.__new__(cls)
        pod.__dict__.update(
            _shared(namespace, spec, status),
            namespace=namespace,
            name=name,
            uid=text(metadata, "uid", "metadata.") or f"{namespace}/{name}",
            labels=string_map(metadata, "labels", "metadata."),
            node_name=text(spec, "nodeName", "spec."),
            volumes=read_volumes(spec, name),
            resource_claims=read_pod_claims(spec, status),
            terminating=metadata.get("deletionTimestamp") is not None,
            nominated_node=text(status, "nominatedNodeName", "status."),
            controller=_controller(metadata),
            scheduling_group=_scheduling_group(namespace, spec),
            raw=raw,
        )
        return pod


def _scheduling_group(namespace: str, spec: Json) -> str:
    if spec.get("schedulingGroup") is None:
        return ""
    name = text(mapping(spec, "schedulingGroup", "spec."), "podGroupName", "spec.schedulingGroup.")
    return f"{namespace}/{name}" if name else ""


def started(status: Json) -> float:
    """``Pod.started`` of a pod of this status."""
    time = _time(status.get("startTime"))
    return math.inf if time is None else time


def scheduled(raw: Json, status: Json) -> float:
    """``Pod.scheduled`` of a raw pod of this status."""
    time = _since(status, "PodScheduled")
    if time is None:
        time = _time(status.get("startTime"))
    if time is None:
        time = _time((raw.get("metadata") or {}).get("creationTimestamp"))
    return math.nan if time is None else time


def _since(status: Json, condition: str) -> float | None:
    if not status.get("conditions"):
        return None
    true = [
        one for one in objects(status, "conditions") if one.get("type") == condition and one.get("status") == "True"
    ]
    return next((time for one in true if (time := _time(one.get("lastTransitionTime"))) is not None), None)


def _time(value: Any) -> float | None:
    """Seconds of the epoch; ``None`` for what is no time. Without a zone it is taken as UTC."""
    try:
        if not isinstance(value, str):
            return None
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _check(spec: Json, status: Json) -> None:
    """Look at what is read only when the pod changes or ends, so that nothing is found broken then."""
    integer(spec, "terminationGracePeriodSeconds", path="spec.", bits=64)
    objects(status, "resourceClaimStatuses", "status.")
    mapping(status, "extendedResourceClaimStatus", "status.")


_TEMPLATES: Alike[dict[str, Any]] = Alike(MAX_TEMPLATES)
_NUMBERS = itertools.count()


def _shared(namespace: str, spec: Json, status: Json) -> dict[str, Any]:
    """The fields that pods of one template share, read once for all of them."""
    try:
        content = marshal.dumps(_content(namespace, spec, status), 2)
    except (ValueError, TypeError, AttributeError):  # not JSON: reading it says what is wrong
        return _read_shared(namespace, spec, status)
    found = _TEMPLATES.get(content)
    return found if found is not None else _TEMPLATES.keep(content, _read_shared(namespace, spec, status))


def _content(namespace: str, spec: Json, status: Json) -> tuple[Any, ...]:
    """Everything that ``_read_shared``, and plugins that look at the pod's JSON, read."""
    return (
        namespace,
        [spec.get(field) for field in SHARED_FIELDS],
        [[raw.get(field) for field in CONTAINER_FIELDS] for raw in _listed(spec, "containers")],
        [[raw.get(field) for field in CONTAINER_FIELDS] for raw in _listed(spec, "initContainers")],
        [raw["image"] for raw in _listed(spec, "volumes") if raw.get("image") is not None],
        *_status_content(status),
    )


def _status_content(status: Json) -> tuple[Any, ...]:
    containers = [
        [raw.get(field) for field in ("name", "resources", "allocatedResources")]
        for key in ("containerStatuses", "initContainerStatuses")
        for raw in _listed(status, key)
    ]
    # Containers that say neither what they have nor what they were promised are as good as unknown.
    told = any(parts != [None, None] or not isinstance(name, str) for name, *parts in containers)
    return (
        status.get("resources"),
        containers if told else [],
        [raw.get("reason") for raw in _listed(status, "conditions") if raw.get("type") == "PodResizePending"],
    )


def _listed(raw: Json, key: str) -> list[Json]:
    """``raw[key]``; raises TypeError where it is no list: what is empty in another way is not the same template."""
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(key)
    return value


def _read_shared(namespace: str, spec: Json, status: Json) -> dict[str, Any]:
    affinity = mapping(spec, "affinity", "spec.")
    containers, inits = each(spec, "containers", "spec."), each(spec, "initContainers", "spec.")
    resources = read_resources(spec, status)
    return {
        "template": next(_NUMBERS),
        "scheduler_name": text(spec, "schedulerName", "spec.") or DEFAULT_SCHEDULER,
        "priority": integer(spec, "priority", path="spec."),
        "node_selector": None if spec.get("nodeSelector") is None else string_map(spec, "nodeSelector", "spec."),
        "node_affinity": NodeAffinity.read(
            mapping(affinity, "nodeAffinity", "spec.affinity."), "spec.affinity.nodeAffinity."
        ),
        "pod_affinity": read_pod_affinity(affinity, namespace),
        "tolerations": read_tolerations(spec, "tolerations", "spec."),
        "spread_constraints": tuple(
            read_constraint(item, at) for item, at in each(spec, "topologySpreadConstraints", "spec.")
        ),
        "host_ports": host_ports(containers, inits, boolean(spec, "hostNetwork", "spec.")),
        "images": _images(spec, containers, inits),
        "container_count": len(containers) + len(inits),
        "gates": tuple(text(gate, "name", at) for gate, at in each(spec, "schedulingGates", "spec.")),
        "resources": resources,
        "requests": resources.requests,
        "occupied": resources.occupied,
        "occupied_nonzero": resources.occupied_nonzero,
        "scoring_requests": resources.scoring_requests,
        "limits": units(read_limits(spec)),
    }


def host_ports(containers: Placed, inits: Placed, host_network: bool) -> tuple[Port, ...]:
    ports = []
    for container, path in containers + [init for init in inits if init[0].get("restartPolicy") == "Always"]:
        for port, at in each(container, "ports", path):
            number = integer(port, "hostPort", path=at)
            if host_network and not number:
                number = integer(port, "containerPort", path=at)
            if number > 0:
                address = text(port, "hostIP", at) or ANY_ADDRESS
                ports.append((address, text(port, "protocol", at) or "TCP", number))
    return tuple(ports)


def conflicting(one: Port, other: Port) -> bool:
    """Whether two pods on a node cannot have these host ports."""
    return one[1:] == other[1:] and same_address(one[0], other[0])


def same_address(one: str, other: str) -> bool:
    return ANY_ADDRESS in (one, other) or one == other


def _images(spec: Json, containers: Placed, inits: Placed) -> tuple[str, ...]:
    names = [text(container, "image", at) for container, at in inits + containers]
    for volume, at in each(spec, "volumes", "spec."):
        if volume.get("image") is not None:
            names.append(text(mapping(volume, "image", at), "reference", f"{at}image."))
    return tuple(names)


def _controller(metadata: Json) -> tuple[str, str, str] | None:
    for owner, at in each(metadata, "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return text(owner, "apiVersion", at), text(owner, "kind", at), text(owner, "name", at)
    return None
