"""A pod as the scheduler reads it."""

from __future__ import annotations

import itertools
import marshal
import math
from collections.abc import Hashable
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import NodeAffinityTerms, PodAffinity, read_pod_affinity
from kschedweb.engine.objects.content_cache import ContentCache
from kschedweb.engine.objects.json_access import (
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
from kschedweb.engine.objects.times import parse_time
from kschedweb.engine.objects.volume import PodVolume, read_volumes
from kschedweb.engine.values import dataclass

DEFAULT_SCHEDULER = "default-scheduler"
# Distinct templates kept in the cache.
MAX_TEMPLATES = 65536
# Fields of the spec that pods of one template have in common.
SHARED_FIELDS = (
    *("schedulerName", "priority", "preemptionPolicy", "nodeSelector", "affinity", "tolerations"),
    *("topologySpreadConstraints", "hostNetwork", "hostUsers", "schedulingGates", "overhead", "resources"),
    *("resourceClaims", "runtimeClassName", "restartPolicy"),
)
CONTAINER_FIELDS = ("name", "image", "resources", "ports", "restartPolicy", "restartPolicyRules")
ANY_ADDRESS = "0.0.0.0"  # noqa: S104
# Fields of the status that name the pod's claims.
CLAIM_FIELDS = ("resourceClaimStatuses", "extendedResourceClaimStatus")
# (host IP, protocol, port).
Port = tuple[str, str, int]
# Parts of the pod, each with the path of its fields.
PathedObjects = list[tuple[Json, str]]


@dataclass(frozen=True, eq=False)
class Pod:
    """A pod; two pods are equal only if they are the same object. Amounts are in milli-CPU and whole units.

    The fields from ``template`` on are shared by all pods of one template, such as those of a Deployment.
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
    # (apiVersion, kind, name).
    controller: tuple[str, str, str] | None
    # The key of the PodGroup that it names; "" for none.
    scheduling_group: str
    raw: Json = field(repr=False)
    # A number for all pods that share the fields below.
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
    # The requests with which the pod is scheduled.
    requests: Amounts
    # The amounts that it takes of its node.
    occupied: Amounts
    # The same in (milli-CPU, bytes), with defaults for missing requests.
    occupied_nonzero: tuple[int, int]
    # The sum of its containers' limits, over those that have one.
    limits: Amounts
    # The requests for NodeResourcesFit's score: with defaults, without pod-level resources.
    scoring_requests: Amounts

    def with_counting(self, counting: Counting) -> Pod:
        """Return the pod with its amounts counted as a release counts them."""
        if counting == self.resources.counting or not self.resources.reported:
            return self
        resources = replace(self.resources, counting=counting)
        return replace(
            self, resources=resources, occupied=resources.occupied, occupied_nonzero=resources.occupied_nonzero
        )

    @cached_property
    def pod_level_scoring_requests(self) -> Amounts:
        """The requests for NodeResourcesFit's score since 1.38: of the pod as a whole, or as the kubelet reports."""
        resources = self.resources
        counts_alike = not resources.pod_level_set and not resources.reported
        return self.scoring_requests if counts_alike else resources.pod_level_scoring_requests

    @property
    def resize_deferred(self) -> bool:
        """True if the kubelet defers a resize of the pod until its node has room."""
        return self.resources.resize_deferred

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def seen_by_selectors(self) -> Hashable:
        """A value that is equal for pods that no selector can tell apart."""
        return self.namespace, frozenset(self.labels.items()), self.terminating

    @cached_property
    def signature(self) -> Hashable:
        """A value that is equal for pods that differ at most in name, uid, status and annotations.

        As kube-scheduler's pod signature.
        """
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
        """The time at which the pod started, in seconds of the epoch; infinite if it has not."""
        return read_start_time(get_mapping(self.raw, "status"))

    @cached_property
    def scheduled(self) -> float:
        """The time at which the pod got its node, else started, else was created; NaN if unknown.

        In seconds of the epoch.
        """
        return read_scheduled_time(self.raw, get_mapping(self.raw, "status"))

    def condition_since(self, condition: str) -> float | None:
        """Return since when a condition is true, in seconds of the epoch; ``None`` if it is not, or unknown."""
        return _read_condition_since(get_mapping(self.raw, "status"), condition)

    def on(self, node_name: str) -> Pod:
        """Return this pod bound to ``node_name``."""
        # `replace` would run the constructor of a frozen dataclass, which is slow, and drop cached properties.
        bound = object.__new__(Pod)
        bound.__dict__.update(self.__dict__, node_name=node_name)
        bound.__dict__.pop("signature", None)
        return bound

    def under_scheduler(self, scheduler_name: str) -> Pod:
        """Return this pod as the profile ``scheduler_name`` sees it."""
        other = object.__new__(Pod)
        other.__dict__.update(self.__dict__, scheduler_name=scheduler_name)
        return other

    def renewed_from(self, raw: Json) -> Pod:
        """Return the pod as its newer object ``raw`` shows it; raise ObjectError as ``from_json`` does.

        Most updates change only the node and the status; then all other fields are kept without reading them.
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
        # No API server sends this; `from_json` names the wrong field.
        except (TypeError, AttributeError):
            return Pod.from_json(raw)
        pod = object.__new__(Pod)
        pod.__dict__.update(
            self.__dict__,
            node_name=get_string(get_mapping(raw, "spec"), "nodeName", "spec."),
            terminating=new.get("deletionTimestamp") is not None,
            nominated_node=get_string(status, "nominatedNodeName", "status."),
            raw=raw,
        )
        # Cached properties that depend on the fields that changed.
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
        """Read a v1 Pod, with the API server's defaults; raise ObjectError."""
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
    """Return ``Pod.started`` of a pod with this status."""
    time = parse_time(status.get("startTime"))
    return math.inf if time is None else time


def read_scheduled_time(raw: Json, status: Json) -> float:
    """Return ``Pod.scheduled`` of a raw pod with this status."""
    time = _read_condition_since(status, "PodScheduled")
    if time is None:
        time = parse_time(status.get("startTime"))
    if time is None:
        time = parse_time((raw.get("metadata") or {}).get("creationTimestamp"))
    return math.nan if time is None else time


def _read_condition_since(status: Json, condition: str) -> float | None:
    if not status.get("conditions"):
        return None
    true = [
        entry
        for entry in get_objects(status, "conditions")
        if entry.get("type") == condition and entry.get("status") == "True"
    ]
    return next((time for entry in true if (time := parse_time(entry.get("lastTransitionTime"))) is not None), None)


def _check_late_fields(spec: Json, status: Json) -> None:
    """Check fields that are read only when the pod changes or ends, so that no error comes up then."""
    get_integer(spec, "terminationGracePeriodSeconds", path="spec.", bits=64)
    get_objects(status, "resourceClaimStatuses", "status.")
    get_mapping(status, "extendedResourceClaimStatus", "status.")


_TEMPLATES: ContentCache[dict[str, object]] = ContentCache(MAX_TEMPLATES)
_NUMBERS = itertools.count()


def _cached_shared(namespace: str, spec: Json, status: Json) -> dict[str, object]:
    """Return the fields that pods of one template share, read once for all of them."""
    try:
        # `marshal` is the fastest way to a key; its version 2 writes no references, so equal content has equal bytes.
        content = marshal.dumps(_template_content(namespace, spec, status), 2)
    except (ValueError, TypeError, AttributeError):
        # The content is not JSON; the error names the field.
        return _read_shared(namespace, spec, status)
    cached = _TEMPLATES.get(content)
    return cached if cached is not None else _TEMPLATES.store(content, _read_shared(namespace, spec, status))


def _template_content(namespace: str, spec: Json, status: Json) -> tuple[Any, ...]:
    """Return everything that ``_read_shared``, and plugins that read the pod's JSON, look at."""
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
    # Containers that report neither resources nor allocated resources are as good as unknown.
    reports_resources = any(parts != [None, None] or not isinstance(name, str) for name, *parts in containers)
    return (
        status.get("resources"),
        containers if reports_resources else [],
        [raw.get("reason") for raw in _get_list(status, "conditions") if raw.get("type") == "PodResizePending"],
    )


def _get_list(raw: Json, key: str) -> list[Json]:
    """Return ``raw[key]``; raise TypeError for no list, as another empty value is not the same template."""
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(key)
    return value


def _read_shared(namespace: str, spec: Json, status: Json) -> dict[str, object]:
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
    """Return True if two pods on a node cannot have these host ports."""
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
