"""Kueue's objects besides Workloads: queues, cohorts, flavors, topologies, admission checks."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    get_integer,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.labels import NOTHING, Selector, label_selector
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.objects.taints import Taint, Toleration, read_taints, read_tolerations
from kschedweb.engine.queueing.quota.amounts import UNLIMITED, FlavorResource, Requests, read_amount, read_amounts
from kschedweb.engine.queueing.workloads.conditions import is_condition_true, read_conditions
from kschedweb.engine.values import dataclass

STRICT_FIFO, BEST_EFFORT_FIFO = "StrictFIFO", "BestEffortFIFO"
NEVER, ANY, LOWER_PRIORITY = "Never", "Any", "LowerPriority"
LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
TRY_NEXT_FLAVOR, MAY_STOP_SEARCH = "TryNextFlavor", "MayStopSearch"
PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"
STOP_NONE, HOLD_AND_DRAIN = "None", "HoldAndDrain"
PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"
# Quotas as large as this in milli-CPU or units do not fit 64 bits (`AmountFromQuantity`).
_MAX_CPU_QUOTA = UNLIMITED // 1000 * 1000
# v1beta1's names of what v1beta2 calls MayStopSearch.
_OLD_FUNGIBILITY = {"Borrow": MAY_STOP_SEARCH, "Preempt": MAY_STOP_SEARCH}


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """The quota of a queue or cohort for a resource in a flavor."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


Quotas = dict[FlavorResource, ResourceQuota]
NO_QUOTA = ResourceQuota()


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that get their flavors together."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreemptionPolicy:
    """Policy for the workloads that those of a queue may preempt."""

    within_queue: str = NEVER
    reclaim: str = NEVER
    # Policy and highest priority of victims while borrowing.
    borrow: str = NEVER
    max_priority: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorFungibility:
    """Rules for when the search for a flavor goes on, and for the best flavor then."""

    when_can_borrow: str = MAY_STOP_SEARCH
    when_can_preempt: str = TRY_NEXT_FLAVOR
    preference: str | None = None


@dataclass(frozen=True)
class ClusterQueue:
    """A ClusterQueue's spec."""

    name: str
    cohort: str
    groups: tuple[ResourceGroup, ...]
    quotas: Quotas
    is_strict: bool
    namespace_selector: Selector
    preemption: PreemptionPolicy
    fungibility: FlavorFungibility
    fair_weight: float
    stop_policy: str
    # Admission check -> flavors that it is for.
    checks: dict[str, frozenset[str]]

    @property
    def flavors(self) -> frozenset[str]:
        return frozenset(flavor for group in self.groups for flavor in group.flavors)


@dataclass(frozen=True)
class Cohort:
    """A Cohort's spec."""

    name: str
    parent: str
    quotas: Quotas
    fair_weight: float


@dataclass(frozen=True)
class ResourceFlavor:
    """A kind of nodes."""

    name: str
    node_labels: dict[str, str]
    node_taints: tuple[Taint, ...]
    tolerations: tuple[Toleration, ...]
    topology: str | None


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A queue of a namespace."""

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_running(self) -> bool:
        return self.stop_policy == STOP_NONE


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """A check that a workload has to pass once it has quota."""

    name: str
    controller: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class Topology:
    """Levels of a data center, from the highest to the lowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class TopologyNode:
    """The part of a node that topology-aware scheduling reads."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    allocatable: Requests
    is_usable: bool


def get_name(raw: Json) -> str:
    return get_string(get_mapping(raw, "metadata"), "name", "metadata.")


def get_namespace(raw: Json) -> str:
    return get_string(get_mapping(raw, "metadata"), "namespace", "metadata.")


def read_cluster_queue(raw: Json) -> ClusterQueue:
    """Read a ClusterQueue of v1beta1 or v1beta2, with the API server's defaults."""
    spec = get_mapping(raw, "spec")
    groups = _read_groups(spec)
    selector = spec.get("namespaceSelector")
    return ClusterQueue(
        get_name(raw),
        get_string(spec, "cohortName", "spec.") or get_string(spec, "cohort", "spec."),
        groups,
        read_quotas(spec),
        get_string(spec, "queueingStrategy", "spec.") == STRICT_FIFO,
        NOTHING if selector is None else label_selector(selector, "spec.namespaceSelector."),
        _read_preemption(get_mapping(spec, "preemption", "spec.")),
        _read_fungibility(get_mapping(spec, "flavorFungibility", "spec.")),
        _read_weight(spec),
        get_string(spec, "stopPolicy", "spec.") or STOP_NONE,
        _read_checks(spec, frozenset(flavor for group in groups for flavor in group.flavors)),
    )


def _read_groups(spec: Json) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(
            frozenset(get_strings(item, "coveredResources", at)),
            tuple(get_string(flavor, "name", path) for flavor, path in get_objects_and_paths(item, "flavors", at)),
        )
        for item, at in get_objects_and_paths(spec, "resourceGroups", "spec.")
    )


def read_quotas(spec: Json) -> Quotas:
    quotas: Quotas = {}
    for group, group_path in get_objects_and_paths(spec, "resourceGroups", "spec."):
        for flavor, path in get_objects_and_paths(group, "flavors", group_path):
            for item, at in get_objects_and_paths(flavor, "resources", path):
                resource = get_string(item, "name", at)
                quotas[FlavorResource(get_string(flavor, "name", path), resource)] = ResourceQuota(
                    _read_quota(resource, item.get("nominalQuota", "0")),
                    *(
                        None if item.get(key) is None else _read_quota(resource, item[key])
                        for key in ("borrowingLimit", "lendingLimit")
                    ),
                )
    return quotas


def _read_quota(resource: str, raw: object) -> int:
    amount = read_amount(resource, raw)
    return UNLIMITED if resource == "cpu" and amount >= _MAX_CPU_QUOTA else amount


def _read_preemption(raw: Json) -> PreemptionPolicy:
    path = "spec.preemption."
    borrow = get_mapping(raw, "borrowWithinCohort", path)
    threshold = borrow.get("maxPriorityThreshold")
    return PreemptionPolicy(
        get_string(raw, "withinClusterQueue", path) or NEVER,
        get_string(raw, "reclaimWithinCohort", path) or NEVER,
        get_string(borrow, "policy", f"{path}borrowWithinCohort.") or NEVER,
        None if threshold is None else get_integer(borrow, "maxPriorityThreshold", path=f"{path}borrowWithinCohort."),
    )


def _read_fungibility(raw: Json) -> FlavorFungibility:
    path = "spec.flavorFungibility."
    borrow, preempt = get_string(raw, "whenCanBorrow", path), get_string(raw, "whenCanPreempt", path)
    return FlavorFungibility(
        _OLD_FUNGIBILITY.get(borrow, borrow) or MAY_STOP_SEARCH,
        _OLD_FUNGIBILITY.get(preempt, preempt) or TRY_NEXT_FLAVOR,
        get_string(raw, "preference", path) or None,
    )


def _read_weight(spec: Json) -> float:
    weight = get_mapping(spec, "fairSharing", "spec.").get("weight")
    return 1.0 if weight is None else parse_quantity(str(weight)) / NANO


def _read_checks(spec: Json, flavors: frozenset[str]) -> dict[str, frozenset[str]]:
    # v1beta1 has a plain list, for all flavors.
    checks = dict.fromkeys(get_strings(spec, "admissionChecks", "spec."), flavors)
    strategy = get_mapping(spec, "admissionChecksStrategy", "spec.")
    for item in get_objects(strategy, "admissionChecks", "spec.admissionChecksStrategy."):
        checks[get_string(item, "name")] = frozenset(get_strings(item, "onFlavors")) or flavors
    return checks


def read_cohort(raw: Json) -> Cohort:
    spec = get_mapping(raw, "spec")
    parent = get_string(spec, "parentName", "spec.") or get_string(spec, "parent", "spec.")
    return Cohort(get_name(raw), parent, read_quotas(spec), _read_weight(spec))


def read_flavor(raw: Json) -> ResourceFlavor:
    spec = get_mapping(raw, "spec")
    return ResourceFlavor(
        get_name(raw),
        get_string_map(spec, "nodeLabels", "spec."),
        read_taints(spec, "nodeTaints", "spec."),
        read_tolerations(spec, "tolerations", "spec."),
        get_string(spec, "topologyName", "spec.") or None,
    )


def read_local_queue(raw: Json) -> LocalQueue:
    spec = get_mapping(raw, "spec")
    stop_policy = get_string(spec, "stopPolicy", "spec.") or STOP_NONE
    return LocalQueue(get_namespace(raw), get_name(raw), get_string(spec, "clusterQueue", "spec."), stop_policy)


def read_admission_check(raw: Json) -> AdmissionCheck:
    conditions = read_conditions(get_mapping(raw, "status"), "status.")
    controller = get_string(get_mapping(raw, "spec"), "controllerName", "spec.")
    return AdmissionCheck(get_name(raw), controller, is_condition_true(conditions, "Active"))


def read_topology(raw: Json) -> Topology:
    levels = get_objects_and_paths(get_mapping(raw, "spec"), "levels", "spec.")
    return Topology(get_name(raw), tuple(get_string(item, "nodeLabel", at) for item, at in levels))


def read_topology_node(raw: Json) -> TopologyNode:
    spec, status = get_mapping(raw, "spec"), get_mapping(raw, "status")
    is_ready = is_condition_true(read_conditions(status, "status."), "Ready")
    return TopologyNode(
        get_name(raw),
        get_string_map(get_mapping(raw, "metadata"), "labels", "metadata."),
        read_taints(spec, "taints", "spec."),
        read_amounts(get_mapping(status, "allocatable", "status.")),
        is_ready and spec.get("unschedulable") is not True,
    )
