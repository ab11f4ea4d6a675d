"""A pod as Karpenter sees it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field, replace
from math import inf

from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints, Term, read_pod_constraints
from kschedweb.engine.autoscaling.offers.amounts import (
    MILLI_UNIT,
    PODS,
    Milli,
    Quantities,
    count_quantity,
    find_formats,
    to_quantities,
)
from kschedweb.engine.autoscaling.offers.labels import DELETION_COST, DISRUPTION_COST, DO_NOT_DISRUPT, GROUP
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_time,
)
from kschedweb.engine.objects.labels import parse_int
from kschedweb.engine.objects.pod import Pod, Port
from kschedweb.engine.objects.quantity import MILLI
from kschedweb.engine.objects.resources import Counting, PodResources, read_resources
from kschedweb.engine.objects.taints import NO_SCHEDULE, Taint
from kschedweb.engine.objects.volume import PodVolume, read_volumes
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.engine.values import dataclass

DISRUPTED = Taint(f"{GROUP}/disrupted", "", NO_SCHEDULE)
ENDED = ("Failed", "Succeeded")
PENDING = "Pending"
# How Karpenter counts: container by container, without what the kubelet reports for the pod as a whole.
_AS_KARPENTER = Counting(by_sums=False, of_pod=False, completed=False)
# `EvictionCost` of Karpenter: the deletion cost in units of 2^27, the priority in units of 2^25, within ±10.
_COST_UNIT, _PRIORITY_UNIT, _MOST_COST = 2.0**27, 2.0**25, 10.0
# Go parses the deletion cost as an int32; another number is ignored.
_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class PodData:
    """The part of a pod that all pods of a template share."""

    wants: PodConstraints
    # In milli-units, with one of "pods".
    requests: Milli
    # The same as quantities, as they are printed.
    request_quantities: Quantities
    # Host ports of the containers.
    ports: tuple[Port, ...]
    # The pod uses dynamic resource allocation.
    claims_devices: bool

    @classmethod
    def from_spec(cls, spec: Json, resources: PodResources) -> PodData:
        total = replace(resources, counting=_AS_KARPENTER).total(status=True)
        requests = {name: amount // MILLI for name, amount in total.items()}
        containers = [*get_objects(spec, "containers"), *get_objects(spec, "initContainers")]
        resource_lists = [
            get_mapping(get_mapping(part, "resources"), key) for part in (spec, *containers) for key in _RESOURCE_LISTS
        ]
        quantities = to_quantities(requests, find_formats([*resource_lists, get_mapping(spec, "overhead")]))
        claimed = get_objects(spec, "resourceClaims") or any(
            get_mapping(part, "resources").get("claims") for part in containers
        )
        return cls(
            wants=read_pod_constraints(spec),
            requests=requests | {PODS: MILLI_UNIT},
            request_quantities=quantities | {PODS: count_quantity(1)},
            ports=_host_ports(spec),
            claims_devices=bool(claimed),
        )


_RESOURCE_LISTS = ("requests", "limits")


@dataclass(frozen=True, slots=True, eq=False)
class PodView:
    """A pod as Karpenter sees it."""

    # "namespace/name".
    key: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    # The name of its node, "" for none.
    node: str
    pod_data: PodData
    phase: str
    terminating: bool
    # It is unschedulable by its condition, or has no conditions yet.
    failed_to_schedule: bool
    # It has a nominated node.
    nominated: bool
    # It belongs to a DaemonSet.
    daemon: bool
    # It is a static pod.
    mirror: bool
    # It belongs to a StatefulSet.
    stateful: bool
    unready: bool
    # Seconds of the epoch, -inf if unknown.
    created: float
    # Seconds of the epoch, None if it has not started.
    started: float | None
    # The annotation karpenter.sh/do-not-disrupt.
    protection: str | None
    # 1 by default, within ±10.
    eviction_cost: float
    controller_uid: str
    volumes: tuple[PodVolume, ...]
    # Equal for pods that no selector can tell apart.
    kind: Hashable = field(repr=False)

    @property
    def is_terminal(self) -> bool:
        return self.phase in ENDED

    @property
    def is_active(self) -> bool:
        return not self.is_terminal and not self.terminating

    @property
    def is_provisionable(self) -> bool:
        """True if the pod waits for a node that Karpenter may launch."""
        waiting = self.failed_to_schedule and not self.node and not self.nominated
        return waiting and not self.daemon and not self.mirror

    @property
    def is_reschedulable(self) -> bool:
        """True if the pod must move to another node when its node goes."""
        lives = self.is_active or (self.stateful and self.terminating)
        return lives and not self.daemon and not self.mirror

    @property
    # The key by which Karpenter's queue sorts pods: the largest by CPU and memory first.
    def order(self) -> tuple[int, int, float, str]:
        requests = self.pod_data.requests
        return -requests.get("cpu", 0), -requests.get("memory", 0), self.created, self.uid

    def with_terms(self, terms: tuple[Term, ...] | None) -> PodView:
        """Return the pod with other terms of required node affinity, if ``terms`` is not None."""
        if terms is None:
            return self
        wants = replace(self.pod_data.wants, required=terms, _relaxed={}, _tolerates={})
        return replace(self, pod_data=replace(self.pod_data, wants=wants))

    def has_do_not_disrupt(self, now: float) -> bool:
        """Return whether the pod must not be disrupted: for ever, or until it has run for the time it states."""
        if self.protection is None or self.protection == "true":
            return self.protection is not None
        try:
            duration = parse_seconds(self.protection)
        except ValueError:
            return False
        return duration > 0 and (self.started is None or now - self.started < duration)

    def is_disruptable(self, now: float) -> bool:
        return not self.is_active or not self.has_do_not_disrupt(now)

    def is_evictable(self, now: float) -> bool:
        """Return whether Karpenter would evict the pod."""
        # A pod that tolerates Karpenter's own taint stays on the node while it drains.
        stays = self.pod_data.wants.tolerates((DISRUPTED,)) or self.mirror
        return self.is_active and not stays and not self.has_do_not_disrupt(now)


def read_pod(raw: Json, data_by_template: dict[int, PodData]) -> PodView:
    """Read a pod; raises ObjectError. ``data_by_template`` keeps what the pods of a template share."""
    pod = Pod.from_json(raw)
    metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
    if pod.template not in data_by_template:
        data_by_template[pod.template] = PodData.from_spec(spec, pod.resources)
    asking = data_by_template[pod.template]
    conditions = [
        (get_string(condition, "type", at), get_string(condition, "status", at), get_string(condition, "reason", at))
        for condition, at in get_objects_and_paths(status, "conditions", "status.")
    ]
    waits = not pod.node_name and not conditions
    annotations = get_string_map(metadata, "annotations", "metadata.")
    owners = [
        (get_string(owner, "apiVersion", at), get_string(owner, "kind", at))
        for owner, at in get_objects_and_paths(metadata, "ownerReferences", "metadata.")
    ]
    created = get_time(metadata, "creationTimestamp", "metadata.")
    return PodView(
        key=pod.key,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        labels=pod.labels,
        node=pod.node_name,
        pod_data=asking,
        phase=get_string(status, "phase", "status.") or ("" if pod.node_name else PENDING),
        terminating=pod.terminating,
        failed_to_schedule=waits
        or any(condition[0] == "PodScheduled" and condition[2] == "Unschedulable" for condition in conditions),
        nominated=bool(pod.nominated_node),
        daemon=("apps/v1", "DaemonSet") in owners,
        mirror=("v1", "Node") in owners,
        stateful=("apps/v1", "StatefulSet") in owners,
        unready=("Ready", "False") in [condition[:2] for condition in conditions],
        created=-inf if created is None else created,
        started=get_time(status, "startTime", "status."),
        protection=annotations.get(DO_NOT_DISRUPT),
        eviction_cost=_eviction_cost(annotations, spec),
        controller_uid=_controller_uid(metadata),
        volumes=pod.volumes,
        kind=(pod.namespace, frozenset(pod.labels.items())),
    )


def pod_of_daemon_set(raw: Json) -> PodView:
    """Read the pod of a DaemonSet's template; raises ObjectError."""
    metadata = get_mapping(raw, "metadata")
    template = get_mapping(get_mapping(raw, "spec"), "template", "spec.")
    spec = get_mapping(template, "spec", "spec.template.")
    name, namespace = (
        get_string(metadata, "name", "metadata."),
        get_string(metadata, "namespace", "metadata.") or "default",
    )
    asking = PodData.from_spec(spec, read_resources(spec, {}))
    return PodView(
        key=f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        uid="",
        labels={},
        node="",
        pod_data=asking,
        phase="",
        terminating=False,
        failed_to_schedule=False,
        nominated=False,
        daemon=False,
        mirror=False,
        stateful=False,
        unready=False,
        created=-inf,
        started=None,
        protection=None,
        eviction_cost=1.0,
        controller_uid="",
        volumes=read_volumes(spec, name),
        kind=(namespace, frozenset()),
    )


def _eviction_cost(annotations: dict[str, str], spec: Json) -> float:
    """Return the cost of evicting a pod: 1, changed by its annotations and priority (Karpenter's `EvictionCost`)."""
    cost, annotation = 1.0, annotations.get(DISRUPTION_COST, annotations.get(DELETION_COST))
    number = None if annotation is None else parse_int(annotation)
    if number is not None and number in _INT32:
        cost += number / _COST_UNIT
    if spec.get("priority") is not None:
        cost += get_integer(spec, "priority", path="spec.") / _PRIORITY_UNIT
    return min(max(cost, -_MOST_COST), _MOST_COST)


def _controller_uid(metadata: Json) -> str:
    for owner, at in get_objects_and_paths(metadata, "ownerReferences", "metadata."):
        if owner.get("controller") is True:
            return get_string(owner, "uid", at)
    return ""


def _host_ports(spec: Json) -> tuple[Port, ...]:
    """Return the host ports of a pod's containers; init containers do not count."""
    ports = []
    for container, path in get_objects_and_paths(spec, "containers", "spec."):
        for port, at in get_objects_and_paths(container, "ports", path):
            number = get_integer(port, "hostPort", path=at)
            if number:
                ports.append((get_string(port, "hostIP", at) or "0.0.0.0", get_string(port, "protocol", at), number))  # noqa: S104
    return tuple(ports)
