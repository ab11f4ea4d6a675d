"""A workload as queues and the cache hold it: its requests, and how far the search for its flavors got."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import (
    PODS,
    FlavorResource,
    Quantities,
    Requests,
    add_amounts,
    add_requests,
    divide_requests,
    read_amounts,
    scale_requests,
)
from kschedweb.engine.queueing.topology.topology_assignments import TopologyAssignment
from kschedweb.engine.queueing.workloads.pod_set_memo import PodSetMemo
from kschedweb.engine.queueing.workloads.requests import (
    RequestOptions,
    count_requests,
    sum_pod_requests,
)
from kschedweb.engine.queueing.workloads.workload import PodSet, Workload
from kschedweb.engine.values import dataclass

# A search has come to the last flavor of its group.
NO_FLAVORS_LEFT = -1


@dataclass(frozen=True, slots=True)
class DomainUsage:
    """Pods of a kind in a topology domain."""

    values: tuple[str, ...]
    pod_requests: Requests
    count: int

    @property
    def requests(self) -> Requests:
        """Return the usage of the domain, each with its own place among the pods."""
        return add_requests(scale_requests(self.pod_requests, self.count), {PODS: self.count})


# Flavor -> what is used of its topology.
TopologyUsage = dict[str, list[DomainUsage]]


@dataclass
class Usage:
    """The usage of a workload: of quota, and of topology domains."""

    quota: Quantities
    topology: TopologyUsage


@dataclass(frozen=True)
class PodSetRequests:
    """The sum of the requests of a pod set's pods (`PodSetResources`)."""

    name: str
    count: int
    requests: Requests
    # Resource -> flavor, once they are assigned.
    flavors: dict[str, str]
    topology: TopologyAssignment | None = None
    domain_usage: tuple[DomainUsage, ...] = ()
    delayed: str | None = None

    def scale_to(self, count: int) -> PodSetRequests:
        if self.topology is not None or self.count in (0, count):
            return self
        requests = scale_requests(divide_requests(self.requests, self.count), count)
        return replace(self, count=count, requests=requests)


@dataclass
class AssignmentState:
    """Progress of a search for flavors, and its time (`AssignmentClusterQueueState`)."""

    # By pod set: resource -> index of the last flavor tried, or NO_FLAVORS_LEFT.
    last_flavors: list[dict[str, int]]
    queue_generation: int
    cycle: int
    scheduling_hash: str

    @property
    def has_pending_flavors(self) -> bool:
        return any(index != NO_FLAVORS_LEFT for indices in self.last_flavors for index in indices.values())

    def next_flavor(self, pod_set: int, resource: str) -> int:
        """Return the index of the flavor at which the search goes on."""
        if pod_set >= len(self.last_flavors) or resource not in self.last_flavors[pod_set]:
            return 0
        return self.last_flavors[pod_set][resource] + 1

    def matches_shape(self, scheduling_hash: str) -> bool:
        return not (self.scheduling_hash and scheduling_hash) or self.scheduling_hash == scheduling_hash


class PodSetFacts(NamedTuple):
    """Values that depend on pod sets alone, not on their workload's status."""

    # What one pod of each counts for quota.
    requests: tuple[Requests, ...]
    shape: str


class InfoFactory:
    """The settings on which a workload's requests depend: the Configuration and the gates."""

    def __init__(self, options: RequestOptions, gates: FeatureGates) -> None:
        self.options = options
        self.gates = gates
        self._facts = PodSetMemo[PodSetFacts]()

    def _find_facts(self, pod_sets: tuple[PodSet, ...]) -> PodSetFacts:
        return self._facts.get(pod_sets, self._compute_facts)

    def _compute_facts(self, pod_sets: tuple[PodSet, ...]) -> PodSetFacts:
        requests = tuple(count_requests(pod_set.spec, self.options) for pod_set in pod_sets)
        return PodSetFacts(requests, describe_shape(pod_sets))

    def create(self, workload: Workload) -> WorkloadInfo:
        """Return what is known of ``workload`` as it is written."""
        info = WorkloadInfo(workload)
        if workload.status.admission is not None:
            info.cluster_queue = workload.status.admission.cluster_queue
            info.total_requests = self._sum_admission(workload)
        else:
            info.total_requests = self._sum_pod_sets(workload)
        if "SchedulingEquivalenceHashing" in self.gates:
            shape = self._find_facts(workload.pod_sets).shape
            info.scheduling_hash = hash_shape(shape, workload, info.total_requests, self.gates)
        return info

    def _count_pods(self, workload: Workload) -> dict[str, int]:
        """Return the pods by pod set that are still needed (`podSetsCountsAfterReclaim`)."""
        reclaimable = workload.status.reclaimable if "ReclaimablePods" in self.gates else {}
        return {
            pod_set.name: pod_set.count - min(reclaimable.get(pod_set.name, 0), pod_set.count)
            for pod_set in workload.pod_sets
        }

    def _sum_pod_sets(self, workload: Workload) -> list[PodSetRequests]:
        counts = self._count_pods(workload)
        per_pod = self._find_facts(workload.pod_sets).requests
        return [
            PodSetRequests(pod_set.name, counts[pod_set.name], scale_requests(requests, counts[pod_set.name]), {})
            for pod_set, requests in zip(workload.pod_sets, per_pod, strict=True)
        ]

    def _sum_admission(self, workload: Workload) -> list[PodSetRequests]:
        """Return the requests of what was assigned (`totalRequestsFromAdmission`)."""
        assert workload.status.admission is not None
        remaining = self._count_pods(workload)
        pod_sets = {pod_set.name: pod_set for pod_set in workload.pod_sets}
        totals = []
        for assigned in workload.status.admission.pod_sets:
            pod_set = pod_sets.get(assigned.name)
            count = assigned.count if assigned.count is not None else pod_set.count if pod_set else 0
            requests = read_amounts(assigned.usage)
            topology = assigned.topology if "TopologyAwareScheduling" in self.gates else None
            domain_usage: tuple[DomainUsage, ...] = ()
            if topology is not None:
                pod = sum_pod_requests(pod_set.spec) if pod_set else divide_requests(requests, count)
                domain_usage = tuple(DomainUsage(domain.values, pod, domain.count) for domain in topology.domains)
            needed_count = remaining.get(assigned.name, 0)
            if needed_count < count:
                count, requests = needed_count, scale_requests(divide_requests(requests, count), needed_count)
            totals.append(
                PodSetRequests(
                    assigned.name, count, requests, assigned.flavors, topology, domain_usage, assigned.delayed
                )
            )
        return totals


class WorkloadInfo:
    """A workload with what was computed of it."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.total_requests: list[PodSetRequests] = []
        # The queue it is in, or has quota of.
        self.cluster_queue = ""
        self.last_assignment: AssignmentState | None = None
        self.second_pass_iteration = 0
        self.last_evaluated_generation = 0
        # What workloads share that get the same flavors; "" if that is not computed.
        self.scheduling_hash = ""
        # Pod set -> resource -> flavor of the nomination, while a cycle assigns anew.
        self.nominated_flavors: dict[str, dict[str, str]] = {}
        self._usage: Usage | None = None
        # What it uses, of whatever amount.
        self._flavors: frozenset[FlavorResource] | None = None

    @property
    def key(self) -> str:
        return self.workload.key

    @property
    def usage(self) -> Usage:
        if self._usage is None:
            self._usage = Usage(self._sum_quota(), self._list_topology_usage())
        return self._usage

    def _sum_quota(self) -> Quantities:
        total: Quantities = {}
        for pod_set in self.total_requests:
            for resource, amount in pod_set.requests.items():
                key = FlavorResource(pod_set.flavors.get(resource, ""), resource)
                total[key] = add_amounts(total.get(key, 0), amount)
        return total

    def _list_topology_usage(self) -> TopologyUsage:
        usage: TopologyUsage = {}
        for pod_set in self.total_requests:
            if pod_set.topology is not None:
                for flavor in sorted(set(pod_set.flavors.values())):
                    usage.setdefault(flavor, []).extend(pod_set.domain_usage)
        return usage

    def uses_any(self, resources: frozenset[FlavorResource]) -> bool:
        """Return True if it uses one of ``resources`` (`WorkloadUsesResources`)."""
        if self._flavors is None:
            self._flavors = frozenset(
                FlavorResource(flavor, resource)
                for pod_set in self.total_requests
                for resource, flavor in pod_set.flavors.items()
            )
        return not self._flavors.isdisjoint(resources)

    def copy_for_cycle(self, cluster_queue: str) -> WorkloadInfo:
        """Return a copy that a cycle may change, as a head of ``cluster_queue``."""
        copied = WorkloadInfo(self.workload)
        copied.__dict__.update(self.__dict__)
        copied.cluster_queue = cluster_queue
        return copied

    def refresh(self, fresh: WorkloadInfo) -> None:
        """Take over the workload as it is now, with its requests (`Info.Update`)."""
        self.workload, self.total_requests = fresh.workload, fresh.total_requests
        self.cluster_queue, self.scheduling_hash = fresh.cluster_queue, fresh.scheduling_hash
        self._usage = None
        self._flavors = None


def describe_shape(pod_sets: Sequence[PodSet]) -> str:
    """Return what pod sets have in common that get the same flavors, but for their counts and requests."""
    shapes = [
        [pod_set.name, _describe_spec(pod_set), pod_set.min_count, repr(pod_set.topology_request)]
        for pod_set in pod_sets
    ]
    return json.dumps(shapes, sort_keys=True)


def hash_shape(shape: str, workload: Workload, totals: list[PodSetRequests], gates: FeatureGates) -> str:
    """Return what workloads have in common that get the same flavors (`computeSchedulingHash`)."""
    counts = [pod_set.count for pod_set in workload.pod_sets[len(totals) :]]
    requests = [(total.count, sorted(total.requests.items())) for total in totals]
    return f"{shape}{requests}{counts}{workload.effective_priority(gates)}"


def _describe_spec(pod_set: PodSet) -> Json:
    """Return what of a pod's spec counts for the hash (`SpecShape`)."""
    spec = pod_set.spec
    containers = {
        key: [
            [get_mapping(get_mapping(item, "resources"), "requests"), item.get("ports")]
            for item in get_objects(spec, key, "spec.")
        ]
        for key in ("initContainers", "containers")
    }
    field_names = (
        "nodeSelector",
        "affinity",
        "tolerations",
        "runtimeClassName",
        "priority",
        "topologySpreadConstraints",
    )
    fields = {key: spec.get(key) for key in (*field_names, "overhead", "resourceClaims")}
    return {**containers, **fields, "resources": get_mapping(spec, "resources").get("requests")}
