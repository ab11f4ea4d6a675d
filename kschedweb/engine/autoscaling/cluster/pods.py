"""A pod as Karpenter looks at it."""

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
from kschedweb.engine.objects.json_access import (
    Json,
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
_AS_KARPENTER = Counting(by_sums=False, of_pod=False, completed=False)
_COST_UNIT, _PRIORITY_UNIT, _MOST_COST = 2.0**27, 2.0**25, 10.0
_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class PodData:
    """What pods of a template share.

    ``requests`` are in milli-units, with one of "pods"; ``request_quantities`` are the same as quantities.
    """

    wants: PodConstraints
    requests: Milli
    request_quantities: Quantities
    ports: tuple[Port, ...]
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
    """``order`` is how a queue sorts it; ``kind`` is equal for pods that no selector can tell apart."""

    key: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    node: str
    pod_data: PodData
    phase: str
    terminating: bool
    failed_to_schedule: bool
    nominated: bool
    daemon: bool
    mirror: bool
    stateful: bool
    unready: bool
    created: float
    started: float | None
    protection: str | None  # the annotation karpenter.sh/do-not-disrupt
    eviction_cost: float
    controller_uid: str
    volumes: tuple[PodVolume, ...]
    kind: Hashable = field(repr=False)

    @property
    def is_terminal(self) -> bool:
        return self.phase in ENDED

    @property
    def is_active(self) -> bool:
        return not self.is_terminal and not self.terminating

    @property
    def is_provisionable(self) -> bool:
        """Whether it waits for a node that Karpenter may bring."""
        waiting = self.failed_to_schedule and not self.node and not self.nominated
        return waiting and not self.daemon and not self.mirror

    @property
    def is_reschedulable(self) -> bool:
        """Whether it has to go somewhere else where its node goes."""
        lives = self.is_active or (self.stateful and self.terminating)
        return lives and not self.daemon and not self.mirror

    @property
    def order(self) -> tuple[int, int, float, str]:
        requests = self.pod_data.requests
        return -requests.get("cpu", 0), -requests.get("memory", 0), self.created, self.uid

    def with_terms(self, terms: tuple[Term, ...] | None) -> PodView:
        """The pod with other required node affinity, where there are any."""
        if terms is None:
            return self
        wants = replace(self.pod_data.wants, required=terms, _relaxed={}, _tolerates={})
        return replace(self, pod_data=replace(self.pod_data, wants=wants))

    def has_do_not_disrupt(self, now: float) -> bool:
        """Whether it must not be disrupted, for ever or until it has run for some time."""
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
        """Whether Karpenter would ask for its eviction."""
        stays = self.pod_data.wants.tolerates((DISRUPTED,)) or self.mirror
        return self.is_active and not stays and not self.has_do_not_disrupt(now)


def read_pod(raw: Json, data_by_template: dict[int, PodData]) -> PodView:
    """Raises ObjectError. ``data_by_template``: what is asked for by template."""
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
    """The pod that a DaemonSet's template describes; raises ObjectError."""
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
    """What the eviction of a pod costs: 1, more or less by annotations and priority."""
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
    """The ports of the node that its containers take; init containers do not count."""
    ports = []
    for container, path in get_objects_and_paths(spec, "containers", "spec."):
        for port, at in get_objects_and_paths(container, "ports", path):
            number = get_integer(port, "hostPort", path=at)
            if number:
                ports.append((get_string(port, "hostIP", at) or "0.0.0.0", get_string(port, "protocol", at), number))  # noqa: S104
    return tuple(ports)
