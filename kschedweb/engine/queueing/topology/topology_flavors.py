"""Flavors with a topology: the pod sets that need places, and a flavor's places for them."""

from __future__ import annotations

from kschedweb.engine.queueing.cycle.assignment import Assignment, FlavorChoices, PodSetAssignment
from kschedweb.engine.queueing.quota.objects import ResourceFlavor, ResourceGroup
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.topology.topology_placement import PlacementRequest
from kschedweb.engine.queueing.topology.topology_search import PlacementResults
from kschedweb.engine.queueing.workloads.requests import sum_pod_requests
from kschedweb.engine.queueing.workloads.workload import (
    CHECK_READY,
    DELAYED_PENDING,
    DELAYED_READY,
    PodSet,
    QuotaAdmission,
    Workload,
)
from kschedweb.engine.queueing.workloads.workload_info import DomainUsage, TopologyUsage, WorkloadInfo


class TopologyFlavorError(ValueError):
    """A pod set that needs places has no flavor with a topology, or several; the text is Kueue's."""


def needs_topology(pod_set: PodSet, queue: ClusterQueueSnapshot) -> bool:
    return pod_set.is_requesting_topology or queue.is_topology_only


def check_topology(queue: ClusterQueueSnapshot, pod_set: PodSet, flavor: ResourceFlavor, group: ResourceGroup) -> str:
    """Return why flavor and pod set do not go together (`checkPodSetAndFlavorMatchForTAS`); "" if they do."""
    if not needs_topology(pod_set, queue):
        return "" if flavor.topology is None else f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
    if not pod_set.is_requesting_topology:
        return ""
    if flavor.topology is None:
        # A flavor may still give what pods do not request themselves, such as the outputs of transformations.
        is_disjoint = group.resources.isdisjoint(sum_pod_requests(pod_set.spec))
        return "" if is_disjoint else f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
    if flavor.name not in queue.topologies:
        return f'Flavor "{flavor.name}" information missing in TAS cache'
    has_level = queue.topologies[flavor.name].has_level(pod_set.topology_request)
    return "" if has_level else f'Flavor "{flavor.name}" does not contain the requested level'


def list_placement_requests(
    assignment: Assignment, info: WorkloadInfo, queue: ClusterQueueSnapshot
) -> dict[str, list[PlacementRequest]]:
    """Return by flavor the pod sets that still need places (`WorkloadsTopologyRequests`)."""
    requests: dict[str, list[PlacementRequest]] = {}
    for pod_set in info.workload.pod_sets:
        assigned = assignment.find_pod_set(pod_set.name)
        if assigned is None or not needs_topology(pod_set, queue) or assigned.error or assigned.count == 0:
            continue
        if assigned.topology is not None and not _is_on_unhealthy_node(assigned, info.workload):
            continue
        try:
            request = _create_request(assigned, pod_set, info.workload, queue)
        except TopologyFlavorError as error:
            assignment.set_error(assigned, str(error))
            continue
        if request is not None:
            requests.setdefault(request.flavor, []).append(request)
    return requests


def _is_on_unhealthy_node(assigned: PodSetAssignment, workload: Workload) -> bool:
    return assigned.topology is not None and any(
        domain.values[-1] in workload.status.unhealthy_nodes for domain in assigned.topology.domains
    )


def _create_request(
    assigned: PodSetAssignment, pod_set: PodSet, workload: Workload, queue: ClusterQueueSnapshot
) -> PlacementRequest | None:
    """Return the request of a pod set; None if its places are found later, once its checks are passed."""
    if not queue.topologies:
        raise TopologyFlavorError("workload requires Topology, but there is no TAS cache information")
    flavor = find_topology_flavor(assigned.choices, queue)
    if queue.has_multikueue_check or (not workload.has_quota and flavor in queue.provisioned_flavors):
        assigned.delayed = DELAYED_PENDING
        return None
    updates = tuple(
        update
        for check in workload.status.checks
        if check.state == CHECK_READY
        for update in check.updates
        if update.name == pod_set.name
    )
    is_implied = not pod_set.is_requesting_topology and queue.is_topology_only
    return PlacementRequest(pod_set, sum_pod_requests(pod_set.spec), assigned.count, flavor, is_implied, updates)


def find_topology_flavor(choices: FlavorChoices, queue: ClusterQueueSnapshot) -> str:
    """Return the one flavor with a topology (`onlyTASFlavor`); raise TopologyFlavorError."""
    flavors = sorted({choice.flavor for choice in choices.values() if choice.flavor in queue.topologies})
    if not flavors:
        raise TopologyFlavorError("no TAS flavor assigned")
    if len(flavors) > 1:
        raise TopologyFlavorError(f"more than one TAS flavor assigned: {', '.join(flavors)}")
    return flavors[0]


def apply_placements(
    assignment: Assignment, info: WorkloadInfo, queue: ClusterQueueSnapshot, results: PlacementResults
) -> None:
    """Take over where the pods go (`UpdateForTASResult`)."""
    for name, result in results.items():
        assigned = assignment.find_pod_set(name)
        if assigned is not None:
            assigned.topology = result.assignment
            if result.assignment is not None and assigned.delayed is not None:
                assigned.delayed = DELAYED_READY
    assignment.topology = compute_topology_usage(assignment, info, queue, None)


def compute_topology_usage(
    assignment: Assignment, info: WorkloadInfo, queue: ClusterQueueSnapshot, admission: QuotaAdmission | None
) -> TopologyUsage:
    """Return what the assignment takes of domains beyond what ``admission`` has (`ComputeTASNetUsage`)."""
    usage: TopologyUsage = {}
    pod_sets = {pod_set.name: pod_set for pod_set in info.workload.pod_sets}
    for assigned in assignment.pod_sets:
        if assigned.topology is None or assigned.name not in pod_sets:
            continue
        try:
            flavor = find_topology_flavor(assigned.choices, queue)
        except TopologyFlavorError:
            continue
        counted = _count_by_domain(admission, assigned.name)
        requests = sum_pod_requests(pod_sets[assigned.name].spec)
        for domain in assigned.topology.domains:
            count = domain.count - counted.get(domain.values, 0)
            if count > 0:
                usage.setdefault(flavor, []).append(DomainUsage(domain.values, requests, count))
    return usage


def _count_by_domain(admission: QuotaAdmission | None, name: str) -> dict[tuple[str, ...], int]:
    counts: dict[tuple[str, ...], int] = {}
    pod_set = admission.find_pod_set(name) if admission is not None else None
    if pod_set is not None and pod_set.topology is not None:
        for domain in pod_set.topology.domains:
            counts[domain.values] = counts.get(domain.values, 0) + domain.count
    return counts
