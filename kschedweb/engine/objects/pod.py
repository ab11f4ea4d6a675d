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

from kschedweb.engine.objects.affinity import NodeAffinityTerms, PodAffinity, read_pod_affinity
from kschedweb.engine.objects.content_cache import ContentCache
from kschedweb.engine.objects.json_access import (
    Json,
    ObjectError,
    get_boolean,
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
)
from kschedweb.engine.objects.resourceclaim import PodClaim, read_pod_claims
from kschedweb.engine.objects.resources import (
    Amounts,
    Counting,
    PodResources,
    read_limits,
    read_resources,
    round_to_units,
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
PathedObjects = list[tuple[Json, str]]  # parts of the pod, each with the path of its fields


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
    node_affinity: NodeAffinityTerms
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

    def with_counting(self, counting: Counting) -> Pod:
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
        return read_start_time(get_mapping(self.raw, "status"))

    @cached_property
    def scheduled(self) -> float:
        """When the pod got its node, or started, or else was created, in seconds of the epoch; NaN: nothing says."""
        return read_scheduled_time(self.raw, get_mapping(self.raw, "status"))

    def condition_since(self, condition: str) -> float | None:
        """Since when a condition of the pod is true, in seconds of the epoch; ``None``: it is not, or nobody knows."""
        return _read_condition_since(get_mapping(self.raw, "status"), condition)

    def on(self, node_name: str) -> Pod:
        """This pod, bound to ``node_name``."""
        bound = object.__new__(Pod)
        bound.__dict__.update(self.__dict__, node_name=node_name)
        bound.__dict__.pop("signature", None)
        return bound

    def under_scheduler(self, scheduler_name: str) -> Pod:
        """This pod, as the profile ``scheduler_name`` sees it."""
        other = object.__new__(Pod)
        other.__dict__.update(self.__dict__, scheduler_name=scheduler_name)
        return other

    def renewed_from(self, raw: Json) -> Pod:
        """The pod, of the same name and uid, as ``raw`` shows it later; raises ObjectError as ``from_json`` does.

        What most updates leave as it is, all but the node and the status, is not read again.
        """
        old, new = (get_mapping(raw_pod, "metadata") for raw_pod in (self.raw, raw))
        before, after = ({**get_mapping(raw_pod, "spec"), "nodeName": None} for raw_pod in (self.raw, raw))
        old_status, status = get_mapping(self.raw, "status"), get_mapping(raw, "status")
        same = before == after and all(old.get(field) == new.get(field) for field in ("labels", "ownerReferences"))
        if not same or any(old_status.get(field) != status.get(field) for field in CLAIM_FIELDS):
            return Pod.from_json(raw)
        try:
            if _status_content(old_status) != _status_content(status):
                return Pod.from_json(raw)
        except (TypeError, AttributeError):  # not what an API server sends: reading it says what is wrong
            return Pod.from_json(raw)
        pod = object.__new__(Pod)
        pod.__dict__.update(
            self.__dict__,
            node_name=get_string(get_mapping(raw, "spec"), "nodeName", "spec."),
            terminating=new.get("deletionTimestamp") is not None,
            nominated_node=get_string(status, "nominatedNodeName", "status."),
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
    def from_json(cls, raw: Json) -> Pod:
        """A v1 Pod, defaulted as the API server does; raises ObjectError where it cannot be understood."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        name = get_string(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        namespace = get_string(metadata, "namespace", "metadata.") or "default"
        _check_late_fields(spec, status)
        pod = object.__new__(cls)
        pod.__dict__.update(
            _cached_shared(namespace, spec, status),
            namespace=namespace,
            name=name,
            uid=get_string(metadata, "uid", "metadata.") or f"{namespace}/{name}",
            labels=get_string_map(metadata, "labels", "metadata."),
            node_name=get_string(spec, "nodeName", "spec."),
            volumes=read_volumes(spec, name),
            resource_claims=read_pod_claims(spec, status),
            terminating=metadata.get("deletionTimestamp") is not None,
            nominated_node=get_string(status, "nominatedNodeName", "status."),
            controller=_find_controller(metadata),
            scheduling_group=_scheduling_group(namespace, spec),
            raw=raw,
        )
        return pod


def _scheduling_group(namespace: str, spec: Json) -> str:
    if spec.get("schedulingGroup") is None:
        return ""
    name = get_string(get_mapping(spec, "schedulingGroup", "spec."), "podGroupName", "spec.schedulingGroup.")
    return f"{namespace}/{name}" if name else ""


def read_start_time(status: Json) -> float:
    """``Pod.started`` of a pod of this status."""
    time = _parse_time(status.get("startTime"))
    return math.inf if time is None else time


def read_scheduled_time(raw: Json, status: Json) -> float:
    """``Pod.scheduled`` of a raw pod of this status."""
    time = _read_condition_since(status, "PodScheduled")
    if time is None:
        time = _parse_time(status.get("startTime"))
    if time is None:
        time = _parse_time((raw.get("metadata") or {}).get("creationTimestamp"))
    return math.nan if time is None else time


def _read_condition_since(status: Json, condition: str) -> float | None:
    if not status.get("conditions"):
        return None
    true = [
        entry
        for entry in get_objects(status, "conditions")
        if entry.get("type") == condition and entry.get("status") == "True"
    ]
    return next((time for entry in true if (time := _parse_time(entry.get("lastTransitionTime"))) is not None), None)


def _parse_time(value: Any) -> float | None:
    """Seconds of the epoch; ``None`` for what is no time. Without a zone it is taken as UTC."""
    try:
        if not isinstance(value, str):
            return None
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _check_late_fields(spec: Json, status: Json) -> None:
    """Look at what is read only when the pod changes or ends, so that nothing is found broken then."""
    get_integer(spec, "terminationGracePeriodSeconds", path="spec.", bits=64)
    get_objects(status, "resourceClaimStatuses", "status.")
    get_mapping(status, "extendedResourceClaimStatus", "status.")


_TEMPLATES: ContentCache[dict[str, Any]] = ContentCache(MAX_TEMPLATES)
_NUMBERS = itertools.count()


def _cached_shared(namespace: str, spec: Json, status: Json) -> dict[str, Any]:
    """The fields that pods of one template share, read once for all of them."""
    try:
        content = marshal.dumps(_template_content(namespace, spec, status), 2)
    except (ValueError, TypeError, AttributeError):  # not JSON: reading it says what is wrong
        return _read_shared(namespace, spec, status)
    cached = _TEMPLATES.get(content)
    return cached if cached is not None else _TEMPLATES.store(content, _read_shared(namespace, spec, status))


def _template_content(namespace: str, spec: Json, status: Json) -> tuple[Any, ...]:
    """Everything that ``_read_shared``, and plugins that look at the pod's JSON, read."""
    return (
        namespace,
        [spec.get(field) for field in SHARED_FIELDS],
        [[raw.get(field) for field in CONTAINER_FIELDS] for raw in _get_list(spec, "containers")],
        [[raw.get(field) for field in CONTAINER_FIELDS] for raw in _get_list(spec, "initContainers")],
        [raw["image"] for raw in _get_list(spec, "volumes") if raw.get("image") is not None],
        *_status_content(status),
    )


def _status_content(status: Json) -> tuple[Any, ...]:
    containers = [
        [raw.get(field) for field in ("name", "resources", "allocatedResources")]
        for key in ("containerStatuses", "initContainerStatuses")
        for raw in _get_list(status, key)
    ]
    # Containers that say neither what they have nor what they were promised are as good as unknown.
    reports_resources = any(parts != [None, None] or not isinstance(name, str) for name, *parts in containers)
    return (
        status.get("resources"),
        containers if reports_resources else [],
        [raw.get("reason") for raw in _get_list(status, "conditions") if raw.get("type") == "PodResizePending"],
    )


def _get_list(raw: Json, key: str) -> list[Json]:
    """``raw[key]``; raises TypeError where it is no list: what is empty in another way is not the same template."""
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(key)
    return value


def _read_shared(namespace: str, spec: Json, status: Json) -> dict[str, Any]:
    affinity = get_mapping(spec, "affinity", "spec.")
    containers, inits = (
        get_objects_and_paths(spec, "containers", "spec."),
        get_objects_and_paths(spec, "initContainers", "spec."),
    )
    resources = read_resources(spec, status)
    return {
        "template": next(_NUMBERS),
        "scheduler_name": get_string(spec, "schedulerName", "spec.") or DEFAULT_SCHEDULER,
        "priority": get_integer(spec, "priority", path="spec."),
        "node_selector": None if spec.get("nodeSelector") is None else get_string_map(spec, "nodeSelector", "spec."),
        "node_affinity": NodeAffinityTerms.from_json(
            get_mapping(affinity, "nodeAffinity", "spec.affinity."), "spec.affinity.nodeAffinity."
        ),
        "pod_affinity": read_pod_affinity(affinity, namespace),
        "tolerations": read_tolerations(spec, "tolerations", "spec."),
        "spread_constraints": tuple(
            read_constraint(item, at) for item, at in get_objects_and_paths(spec, "topologySpreadConstraints", "spec.")
        ),
        "host_ports": host_ports(containers, inits, get_boolean(spec, "hostNetwork", "spec.")),
        "images": _list_images(spec, containers, inits),
        "container_count": len(containers) + len(inits),
        "gates": tuple(
            get_string(gate, "name", at) for gate, at in get_objects_and_paths(spec, "schedulingGates", "spec.")
        ),
        "resources": resources,
        "requests": resources.requests,
        "occupied": resources.occupied,
        "occupied_nonzero": resources.occupied_nonzero,
        "scoring_requests": resources.scoring_requests,
        "limits": round_to_units(read_limits(spec)),
    }


def host_ports(containers: PathedObjects, inits: PathedObjects, host_network: bool) -> tuple[Port, ...]:
    ports = []
    for container, path in containers + [init for init in inits if init[0].get("restartPolicy") == "Always"]:
        for port, at in get_objects_and_paths(container, "ports", path):
            number = get_integer(port, "hostPort", path=at)
            if host_network and not number:
                number = get_integer(port, "containerPort", path=at)
            if number > 0:
                address = get_string(port, "hostIP", at) or ANY_ADDRESS
                ports.append((address, get_string(port, "protocol", at) or "TCP", number))
    return tuple(ports)


def ports_conflict(port: Port, other: Port) -> bool:
    """Whether two pods on a node cannot have these host ports."""
    return port[1:] == other[1:] and is_same_address(port[0], other[0])


def is_same_address(address: str, other: str) -> bool:
    return ANY_ADDRESS in (address, other) or address == other


def _list_images(spec: Json, containers: PathedObjects, inits: PathedObjects) -> tuple[str, ...]:
    names = [get_string(container, "image", at) for container, at in inits + containers]
    for volume, at in get_objects_and_paths(spec, "volumes", "spec."):
        if volume.get("image") is not None:
            names.append(get_string(get_mapping(volume, "image", at), "reference", f"{at}image."))
    return tuple(names)


def _find_controller(metadata: Json) -> tuple[str, str, str] | None:
    for owner, at in get_objects_and_paths(metadata, "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return get_string(owner, "apiVersion", at), get_string(owner, "kind", at), get_string(owner, "name", at)
    return None
