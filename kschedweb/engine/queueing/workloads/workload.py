"""Workloads: what is asked for, what was assigned, and what their conditions say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_time,
)
from kschedweb.engine.objects.quantity import canonicalize_quantity
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.topology.topology_assignments import (
    HOSTNAME,
    TopologyAssignment,
    read_topology_assignment,
)
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.conditions import (
    Condition,
    Conditions,
    find_condition,
    is_condition_false,
    is_condition_true,
    read_conditions,
)
from kschedweb.engine.values import dataclass

PENDING, RESERVED, IS_ADMITTED, IS_FINISHED = "pending", "quotaReserved", "admitted", "finished"
CHECK_PENDING, CHECK_READY, CHECK_RETRY, CHECK_REJECTED = "Pending", "Ready", "Retry", "Rejected"
DELAYED_PENDING, DELAYED_READY = "Pending", "Ready"
ON_HOLD = "OnHold"
GATED_BY_ANNOTATION = "kueue.x-k8s.io/admission-gated-by"
BOOST_ANNOTATION = "kueue.x-k8s.io/priority-boost"
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
WORKLOAD_PRIORITY_CLASS = ("kueue.x-k8s.io", "WorkloadPriorityClass")
POD_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")
# How much later than its preemption a workload queues without PrioritySortingWithinCohort: after its preemptor.
_EPSILON = 0.001


@dataclass(frozen=True, slots=True)
class SliceLayer:
    """A layer of slices: groups of ``size`` pods, each within one domain of the level ``topology``."""

    topology: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The topology request of a pod set."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slice_topology: str | None = None
    slice_size: int | None = None
    constraints: tuple[SliceLayer, ...] = ()
    group: str | None = None

    @property
    def is_explicit(self) -> bool:
        """True if it asks for topology-aware scheduling (`IsExplicitlyRequestingTAS`)."""
        single = (self.required, self.preferred, self.unconstrained, self.slice_topology, self.slice_size)
        return any(setting is not None for setting in single) or bool(self.constraints)

    @property
    def layers(self) -> tuple[SliceLayer, ...]:
        """The layers of slices, outer first, however they are written."""
        if self.constraints:
            return self.constraints
        return (SliceLayer(self.slice_topology, self.slice_size or 0),) if self.slice_topology is not None else ()

    @property
    def is_slices_only(self) -> bool:
        return self.required is None and self.preferred is None and bool(self.layers)


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of a workload that are alike."""

    name: str
    count: int
    min_count: int | None
    # The pod template as it is written.
    template: Json
    topology_request: TopologyRequest | None = None

    @property
    def spec(self) -> Json:
        return get_mapping(self.template, "spec", "template.")

    @property
    def is_requesting_topology(self) -> bool:
        return self.topology_request is not None and self.topology_request.is_explicit

    @property
    def group(self) -> str | None:
        return self.topology_request.group if self.topology_request else None


@dataclass(frozen=True, slots=True)
class PodSetAdmission:
    """The assignment of a pod set (`PodSetAssignment` of the API)."""

    name: str
    count: int | None
    # Resource -> flavor.
    flavors: dict[str, str]
    # Resource -> quantity, as it is written.
    usage: dict[str, str]
    topology: TopologyAssignment | None = None
    delayed: str | None = None

    def to_json(self) -> Json:
        described: Json = {"name": self.name, "count": self.count or 0}
        if self.flavors:
            described["flavors"] = dict(self.flavors)
        if self.usage:
            described["usage"] = dict(self.usage)
        if self.topology is not None:
            described["topology"] = self.topology.to_json()
        if self.delayed is not None:
            described["delayedTopologyRequest"] = self.delayed
        return described


@dataclass(frozen=True, slots=True)
class QuotaAdmission:
    """A reservation of quota."""

    cluster_queue: str
    pod_sets: tuple[PodSetAdmission, ...]

    def find_pod_set(self, name: str) -> PodSetAdmission | None:
        return next((pod_set for pod_set in self.pod_sets if pod_set.name == name), None)

    @property
    def flavors(self) -> frozenset[str]:
        return frozenset(flavor for pod_set in self.pod_sets for flavor in pod_set.flavors.values())

    def to_json(self) -> list[Json]:
        return [pod_set.to_json() for pod_set in self.pod_sets]


@dataclass(frozen=True, slots=True)
class PodSetUpdate:
    """The additions of an admission check to the pods of a pod set."""

    name: str
    node_selector: dict[str, str]
    tolerations: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class CheckState:
    """The state of an admission check for a workload."""

    name: str
    state: str
    message: str = ""
    since: float = 0.0
    retry_after: int | None = None
    updates: tuple[PodSetUpdate, ...] = ()


@dataclass(frozen=True)
class WorkloadStatus:
    """The status of a Workload."""

    conditions: Conditions = ()
    admission: QuotaAdmission | None = None
    # Whether there is a requeueState, and what it says.
    has_requeue_state: bool = False
    requeue_at: float | None = None
    requeue_count: int | None = None
    # Pod set -> pods that are no longer needed.
    reclaimable: dict[str, int] = field(default_factory=dict)
    checks: tuple[CheckState, ...] = ()
    unhealthy_nodes: tuple[str, ...] = ()
    # What the scheduler wrote of its requests: (pod set, resource -> amount).
    resource_requests: tuple[tuple[str, dict[str, int]], ...] = ()


@dataclass(frozen=True)
class Workload:
    """A Workload as it is stored; a change makes another one, so that identity stands for the resource version."""

    namespace: str
    name: str
    uid: str
    created: float
    queue_name: str
    pod_sets: tuple[PodSet, ...]
    priority: int | None = None
    # (group, kind, name)
    priority_class: tuple[str, str, str] | None = None
    is_active: bool = True
    generation: int = 1
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    status: WorkloadStatus = field(default_factory=WorkloadStatus)

    @cached_property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @cached_property
    def queue_key(self) -> str:
        return f"{self.namespace}/{self.queue_name}"

    def with_status(self, **changes: Any) -> Workload:
        return replace(self, status=replace(self.status, **changes))

    def with_condition(self, condition: Condition) -> Workload:
        """Return it with ``condition``; itself if that changes nothing."""
        conditions = kinds.set_condition(self.status.conditions, condition)
        return self if conditions is self.status.conditions else self.with_status(conditions=conditions)

    def find_condition(self, kind: str) -> Condition | None:
        return find_condition(self.status.conditions, kind)

    def is_condition_true(self, kind: str) -> bool:
        return is_condition_true(self.status.conditions, kind)

    @cached_property
    def has_quota(self) -> bool:
        """True if quota is reserved for it."""
        return self.is_condition_true(kinds.QUOTA_RESERVED)

    @property
    def is_admitted(self) -> bool:
        return self.is_condition_true(kinds.ADMITTED)

    @cached_property
    def is_evicted(self) -> bool:
        return self.is_condition_true(kinds.EVICTED)

    @property
    def is_finished(self) -> bool:
        return self.is_condition_true(kinds.FINISHED)

    @property
    def is_on_hold(self) -> bool:
        condition = self.find_condition(kinds.QUOTA_RESERVED)
        return condition is not None and not condition.is_true and condition.reason == ON_HOLD

    @property
    def state(self) -> str:
        """Its state (`workload.Status`)."""
        if self.is_finished:
            return IS_FINISHED
        if self.is_admitted:
            return IS_ADMITTED
        return RESERVED if self.has_quota else PENDING

    @property
    def is_holding_quota(self) -> bool:
        """True if its usage counts (`HasActiveQuotaReservation`)."""
        return self.has_quota and not self.is_finished and self.is_active

    @property
    def can_shrink(self) -> bool:
        """True if it may be admitted with fewer pods."""
        return any(pod_set.min_count is not None and pod_set.count > pod_set.min_count for pod_set in self.pod_sets)

    @property
    def priority_class_name(self) -> str:
        return self.priority_class[2] if self.priority_class else ""

    @property
    def are_checks_ready(self) -> bool:
        return all(check.state == CHECK_READY for check in self.status.checks)

    def has_check_in(self, state: str) -> bool:
        return any(check.state == state for check in self.status.checks)

    @property
    def has_delayed_topology(self) -> bool:
        """True if a topology is still to be assigned (`HasTopologyAssignmentsPending`)."""
        admission = self.status.admission
        return admission is not None and any(
            pod_set.topology is None and pod_set.delayed == DELAYED_PENDING for pod_set in admission.pod_sets
        )

    @property
    def has_pods_on_unhealthy_node(self) -> bool:
        """True if it is admitted to a node that failed (`HasTopologyAssignmentWithUnhealthyNode`)."""
        if not self.status.unhealthy_nodes or not self.is_admitted or self.status.admission is None:
            return False
        return any(values[-1] in self.status.unhealthy_nodes for values in _assigned_domains(self.status.admission))

    @property
    def needs_second_pass(self) -> bool:
        """True if it is scheduled again although it has quota (`NeedsSecondPass`)."""
        if self.is_finished or self.is_evicted or not self.has_quota or self.is_on_hold:
            return False
        delayed = self.status.checks and self.are_checks_ready and self.has_delayed_topology and not self.is_admitted
        return bool(delayed) or self.has_pods_on_unhealthy_node

    def is_gated(self, gates: FeatureGates) -> bool:
        return "AdmissionGatedBy" in gates and bool(self.annotations.get(GATED_BY_ANNOTATION))

    def is_admissible(self, gates: FeatureGates) -> bool:
        """Return True if it may be queued (`IsAdmissible`)."""
        if self.is_gated(gates) or self.is_finished or not self.is_active or self.has_quota or self.is_on_hold:
            return False
        return not self.is_condition_true(kinds.WAITING_FOR_REPLACEMENT_PODS)

    def is_backoff_over(self, now: float) -> bool:
        """Return True if it need not wait any longer before it is tried (`backoffWaitingTimeExpired`)."""
        if is_condition_false(self.status.conditions, kinds.REQUEUED):
            return False
        return self.status.requeue_at is None or now >= self.status.requeue_at

    def base_priority(self) -> int:
        return self.priority or 0

    def effective_priority(self, gates: FeatureGates) -> int:
        """Return its priority with its boost (gate PriorityBoost)."""
        if "PriorityBoost" not in gates:
            return self.base_priority()
        try:
            return self.base_priority() + int(self.annotations.get(BOOST_ANNOTATION) or 0)
        except ValueError:
            return self.base_priority()


@dataclass(frozen=True)
class WorkloadOrdering:
    """The time from which the age of a workload counts (`workload.Ordering`)."""

    # Whether a workload whose pods were not ready in time queues by the time of its eviction.
    by_eviction: bool
    gates: FeatureGates

    def queue_timestamp(self, workload: Workload) -> float:
        """Return the time by which ``workload`` queues (`GetQueueOrderTimestamp`)."""
        evicted = workload.find_condition(kinds.EVICTED)
        reasons = ("AdmissionCheck", "PodsReadyTimeout") if self.by_eviction else ("AdmissionCheck",)
        if evicted is not None and evicted.is_true and evicted.reason in reasons:
            return evicted.since
        if "PrioritySortingWithinCohort" not in self.gates:
            preempted = workload.find_condition(kinds.PREEMPTED)
            if preempted and preempted.is_true and preempted.reason == "InCohortReclaimWhileBorrowing":
                return preempted.since + _EPSILON
        return workload.created


def is_on_hostnames(topology: TopologyAssignment) -> bool:
    return bool(topology.levels) and topology.levels[-1] == HOSTNAME


def _assigned_domains(admission: QuotaAdmission) -> Iterator[tuple[str, ...]]:
    for pod_set in admission.pod_sets:
        if pod_set.topology is not None:
            yield from (domain.values for domain in pod_set.topology.domains)


def read_workload(raw: Json, now: float) -> Workload:
    """Read a Workload of v1beta1 or v1beta2, with the API server's defaults."""
    metadata, spec = get_mapping(raw, "metadata"), get_mapping(raw, "spec")
    namespace, name = get_string(metadata, "namespace", "metadata."), get_string(metadata, "name", "metadata.")
    created = get_time(metadata, "creationTimestamp", "metadata.")
    return Workload(
        namespace,
        name,
        get_string(metadata, "uid", "metadata.") or f"{namespace}/{name}".strip("/"),
        now if created is None else created,
        get_string(spec, "queueName", "spec."),
        tuple(_read_pod_set(item, at) for item, at in get_objects_and_paths(spec, "podSets", "spec.")),
        None if spec.get("priority") is None else get_integer(spec, "priority", path="spec."),
        _read_priority_class(spec),
        spec.get("active") is not False,
        get_integer(metadata, "generation", 1, "metadata.", bits=64) or 1,
        get_string_map(metadata, "annotations", "metadata."),
        get_string_map(metadata, "labels", "metadata."),
        _read_status(get_mapping(raw, "status")),
    )


def _read_priority_class(spec: Json) -> tuple[str, str, str] | None:
    reference = get_mapping(spec, "priorityClassRef", "spec.")
    if reference:
        path = "spec.priorityClassRef."
        return get_string(reference, "group", path), get_string(reference, "kind", path), reference.get("name") or ""
    # v1beta1
    source = {
        "kueue.x-k8s.io/workloadpriorityclass": WORKLOAD_PRIORITY_CLASS,
        "scheduling.k8s.io/priorityclass": POD_PRIORITY_CLASS,
    }.get(get_string(spec, "priorityClassSource", "spec."))
    return (*source, get_string(spec, "priorityClassName", "spec.")) if source else None


def _read_pod_set(raw: Json, path: str) -> PodSet:
    request = get_mapping(raw, "topologyRequest", path)
    return PodSet(
        get_string(raw, "name", path) or "main",
        get_integer(raw, "count", 1, path),
        None if raw.get("minCount") is None else get_integer(raw, "minCount", path=path),
        get_mapping(raw, "template", path),
        _read_topology_request(request, f"{path}topologyRequest.") if raw.get("topologyRequest") is not None else None,
    )


def _read_topology_request(raw: Json, path: str) -> TopologyRequest:
    return TopologyRequest(
        raw.get("required"),
        raw.get("preferred"),
        raw.get("unconstrained"),
        raw.get("podSetSliceRequiredTopology"),
        None if raw.get("podSetSliceSize") is None else get_integer(raw, "podSetSliceSize", path=path),
        tuple(
            SliceLayer(get_string(item, "topology", at), get_integer(item, "size", path=at))
            for item, at in get_objects_and_paths(raw, "podsetSliceRequiredTopologyConstraints", path)
        ),
        raw.get("podSetGroupName"),
    )


def _read_status(raw: Json) -> WorkloadStatus:
    path = "status."
    requeue = get_mapping(raw, "requeueState", path)
    return WorkloadStatus(
        read_conditions(raw, path),
        _read_admission(get_mapping(raw, "admission", path)) if raw.get("admission") is not None else None,
        raw.get("requeueState") is not None,
        get_time(requeue, "requeueAt", "status.requeueState."),
        None if requeue.get("count") is None else get_integer(requeue, "count", path="status.requeueState."),
        {
            get_string(item, "name", at): get_integer(item, "count", path=at)
            for item, at in get_objects_and_paths(raw, "reclaimablePods", path)
        },
        tuple(_read_check(item, at) for item, at in get_objects_and_paths(raw, "admissionChecks", path)),
        tuple(get_string(item, "name", at) for item, at in get_objects_and_paths(raw, "unhealthyNodes", path)),
    )


def _read_admission(raw: Json) -> QuotaAdmission:
    path = "status.admission."
    return QuotaAdmission(
        get_string(raw, "clusterQueue", path),
        tuple(_read_assignment(item, at) for item, at in get_objects_and_paths(raw, "podSetAssignments", path)),
    )


def _read_assignment(raw: Json, path: str) -> PodSetAdmission:
    topology = get_mapping(raw, "topologyAssignment", path)
    return PodSetAdmission(
        get_string(raw, "name", path) or "main",
        None if raw.get("count") is None else get_integer(raw, "count", path=path),
        get_string_map(raw, "flavors", path),
        {
            name: canonicalize_quantity(str(quantity))
            for name, quantity in get_mapping(raw, "resourceUsage", path).items()
        },
        read_topology_assignment(topology, f"{path}topologyAssignment.") if topology else None,
        raw.get("delayedTopologyRequest"),
    )


def _read_check(raw: Json, path: str) -> CheckState:
    return CheckState(
        get_string(raw, "name", path),
        get_string(raw, "state", path),
        get_string(raw, "message", path),
        get_time(raw, "lastTransitionTime", path) or 0.0,
        None if raw.get("requeueAfterSeconds") is None else get_integer(raw, "requeueAfterSeconds", path=path),
        tuple(
            PodSetUpdate(
                get_string(item, "name", at),
                get_string_map(item, "nodeSelector", at),
                tuple(toleration for toleration, _ in get_objects_and_paths(item, "tolerations", at)),
            )
            for item, at in get_objects_and_paths(raw, "podSetUpdates", path)
        ),
    )
