"""Topology assignments of all pod sets of a workload, and of pods whose node failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from kschedweb.engine.queueing.quota.amounts import PODS, Requests, add_requests, scale_requests
from kschedweb.engine.queueing.topology.balanced_placement import BalancedPlacer
from kschedweb.engine.queueing.topology.topology_assignments import DomainAssignment, TopologyAssignment, domain_id
from kschedweb.engine.queueing.topology.topology_placement import (
    AssumedUsage,
    DomainChooser,
    DomainCounter,
    PlacementError,
    PlacementRequest,
    PlacementShape,
    build_assignment,
    resolve_shape,
)
from kschedweb.engine.queueing.topology.topology_snapshot import TopologyDomain, TopologySnapshot
from kschedweb.engine.queueing.workloads.workload import TopologyRequest, Workload
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """Places for the pods of a pod set, or the reason why there are none."""

    flavor: str
    assignment: TopologyAssignment | None
    failure: str = ""


class PlacementFailure(NamedTuple):
    """The pod set that could not be placed."""

    pod_set: str
    reason: str
    flavor: str


# Pod set -> result.
PlacementResults = dict[str, PlacementResult]


def find_failure(results: PlacementResults) -> PlacementFailure | None:
    """Return a failure; of several Kueue takes any one."""
    for pod_set, result in results.items():
        if result.failure:
            return PlacementFailure(pod_set, result.failure, result.flavor)
    return None


def place_workload(
    topologies: dict[str, TopologySnapshot],
    requests_by_flavor: dict[str, list[PlacementRequest]],
    workload: Workload,
    *,
    when_empty: bool = False,
) -> PlacementResults:
    """Place all pod sets (`FindTopologyAssignmentsForWorkload`); ``when_empty`` as if no workload ran."""
    shared: AssumedUsage = {}
    results: PlacementResults = {}
    for flavor in sorted(requests_by_flavor):
        topology = topologies[flavor]
        is_shared = "TASHandleOverlappingFlavors" in topology.gates and topology.ends_in_hostname
        search = FlavorPlacement(topology, flavor, shared if is_shared else {}, when_empty=when_empty)
        results.update(search.place_all(requests_by_flavor[flavor], workload))
    return results


class FlavorPlacement:
    """Places the pod sets of a workload that got the same flavor."""

    def __init__(
        self, topology: TopologySnapshot, flavor: str, assumed: AssumedUsage, *, when_empty: bool = False
    ) -> None:
        self._topology = topology
        self._flavor = flavor
        self._assumed = assumed
        self._when_empty = when_empty

    def place_all(self, requests: Iterable[PlacementRequest], workload: Workload) -> PlacementResults:
        """Place the pod sets in turn, those of a group together, until one fails."""
        groups: dict[str, list[PlacementRequest]] = {}
        for position, request in enumerate(requests):
            groups.setdefault(request.pod_set.group or f"\0{position}", []).append(request)
        results: PlacementResults = {}
        for group in groups.values():
            if workload.status.unhealthy_nodes:
                failed = self._replace_group(group, workload, results)
            else:
                failed = self._place_group(group, results)
            if failed:
                break
        return results

    def _place_group(self, group: list[PlacementRequest], results: PlacementResults) -> bool:
        leader, workers = _split_group(group)
        try:
            assignments = self._place(workers, leader)
        except PlacementError as error:
            for request in group:
                results[request.name] = PlacementResult(self._flavor, None, str(error))
            return True
        for request in group:
            assignment = assignments.get(request.name)
            results[request.name] = PlacementResult(self._flavor, assignment)
            self._assume(assignment, request)
        return False

    def _assume(self, assignment: TopologyAssignment | None, request: PlacementRequest) -> None:
        """Take off what a pod set got, for those after it."""
        for domain in assignment.domains if assignment is not None else ():
            usage: Requests = add_requests(scale_requests(request.pod_requests, domain.count), {PODS: domain.count})
            identity = domain_id(domain.values)
            self._assumed[identity] = add_requests(self._assumed.get(identity, {}), usage)

    def _place(
        self, workers: PlacementRequest, leader: PlacementRequest | None, required_domain: str = ""
    ) -> dict[str, TopologyAssignment]:
        """Return the assignments of workers and leader (`findTopologyAssignment`); raise PlacementError."""
        topology = self._topology
        shape = resolve_shape(topology, workers, 0 if leader is None else 1)
        counter = DomainCounter(
            topology, workers, leader, self._assumed, when_empty=self._when_empty, required_domain=required_domain
        )
        counter.fill(shape)
        chooser = DomainChooser(topology, shape, counter.exclusions)
        balanced = None
        if "TASBalancedPlacement" in topology.gates and not shape.is_required and not shape.is_unconstrained:
            balanced = BalancedPlacer(topology, shape, chooser).place()
        level, domains = balanced if balanced is not None else chooser.choose_level(shape.requested_level)
        domains = _descend(topology, shape, chooser, level, domains, is_balanced=balanced is not None)
        if leader is None:
            return {workers.name: build_assignment(topology, domains)}
        leader_domains = []
        for domain in domains:
            if domain.leaders > 0:
                leader_domains.append(domain.copy_shallow())
                leader_domains[-1].pods = domain.leaders
        return {
            leader.name: build_assignment(topology, leader_domains),
            workers.name: build_assignment(topology, domains),
        }

    # Failed nodes

    def _replace_group(self, group: list[PlacementRequest], workload: Workload, results: PlacementResults) -> bool:
        admission = workload.status.admission
        for request in group:
            assigned = admission.find_pod_set(request.name) if admission is not None else None
            if assigned is None or assigned.topology is None:
                continue
            try:
                whole, replacement = self._replace(request, assigned.topology, workload.status.unhealthy_nodes[0])
            except PlacementError as error:
                results[request.name] = PlacementResult(self._flavor, None, str(error))
                return True
            results[request.name] = PlacementResult(self._flavor, whole)
            self._assume(replacement, request)
        return False

    def _replace(
        self, request: PlacementRequest, existing: TopologyAssignment, node: str
    ) -> tuple[TopologyAssignment, TopologyAssignment]:
        """Return the assignment without ``node``, and what of it is new (`findReplacementAssignment`)."""
        lost = [domain.count for domain in existing.domains if domain.values[-1] == node]
        remaining = tuple(domain for domain in existing.domains if domain.values[-1] != node)
        request = replace(request, count=lost[-1] if lost else 0)
        for domain in remaining:
            if domain_id(domain.values) not in self._topology.leaves:
                raise PlacementError(
                    "Cannot replace the node, because the existing topologyAssignment is invalid, "
                    f"as it contains the stale domain {domain.values[0]}"
                )
        required_domain = self._find_required_domain(request, remaining)
        if request.slice_size == 0:
            raise PlacementError("slice topology requested, but slice size not provided")
        if request.layers and required_domain and request.count % request.slice_size:
            request = _repair_slices(request)
        replacement = self._place(request, None, required_domain)[request.name]
        if not replacement.domains:
            raise PlacementError(f"cannot find replacement assignment for unhealthy node: {node}")
        return self._merge(replacement, remaining), replacement

    def _find_required_domain(self, request: PlacementRequest, remaining: tuple[DomainAssignment, ...]) -> str:
        """Return the domain in which the replacement must be, "" for any (`requiredReplacementDomain`)."""
        topology = self._topology
        level = topology.requested_level(request.topology_request)
        if level is None and request.is_implied:
            level = topology.levels[-1]
        index = topology.level_index(level) if level is not None else None
        if index is None or not remaining or request.slice_size == 0:
            return ""
        if request.layers and request.count % request.slice_size:
            # The innermost layer that is broken.
            for layer in reversed(request.layers[1:]):
                if request.count % layer.size:
                    return self._find_incomplete_slice(remaining, request.count, layer.size, layer.topology)
            slice_topology = topology.slice_level(request.topology_request)
            return self._find_incomplete_slice(remaining, request.count, request.slice_size, slice_topology)
        if not request.is_required:
            return ""
        leaf = topology.domains[-1].get(domain_id(remaining[0].values))
        return leaf.ancestor(len(topology.levels) - 1 - index).id if leaf is not None else ""

    def _find_incomplete_slice(
        self, remaining: tuple[DomainAssignment, ...], missing: int, size: int, level: str
    ) -> str:
        """Return the domain that ``missing`` pods make whole again; of several Kueue takes any one."""
        topology = self._topology
        index = topology.level_index(level)
        if index is None:
            return ""
        pods_by_domain: dict[str, int] = {}
        for assigned in remaining:
            leaf = topology.domains[-1].get(domain_id(assigned.values))
            if leaf is not None:
                identity = leaf.ancestor(len(topology.levels) - 1 - index).id
                pods_by_domain[identity] = pods_by_domain.get(identity, 0) + assigned.count
        return next((identity for identity, pods in pods_by_domain.items() if (pods + missing) % size == 0), "")

    def _merge(self, replacement: TopologyAssignment, remaining: tuple[DomainAssignment, ...]) -> TopologyAssignment:
        """Return both in one, ordered by the values of all levels."""
        leaves = self._topology.leaves
        counts: dict[tuple[str, ...], int] = {}
        for domain in (*replacement.domains, *remaining):
            counts[domain.values] = counts.get(domain.values, 0) + domain.count
        ordered = sorted(counts, key=lambda values: domain_id(leaves[domain_id(values)].values))
        return TopologyAssignment(
            replacement.levels, tuple(DomainAssignment(values, counts[values]) for values in ordered)
        )


def _split_group(group: list[PlacementRequest]) -> tuple[PlacementRequest | None, PlacementRequest]:
    """Return leader and workers: the second is the leader unless it has more pods."""
    if len(group) == 1:
        return None, group[0]
    first, second = group[:2]
    return (first, second) if second.count > first.count else (second, first)


def _repair_slices(request: PlacementRequest) -> PlacementRequest:
    """Return ``request`` with the innermost layer whose size divides the pods, or with single pods."""
    layer = next((layer for layer in reversed(request.layers) if request.count % layer.size == 0), None)
    topology_request = request.topology_request or TopologyRequest()
    repaired = replace(
        topology_request,
        constraints=(),
        slice_topology=layer.topology if layer is not None else None,
        slice_size=layer.size if layer is not None else 1,
    )
    return replace(request, pod_set=replace(request.pod_set, topology_request=repaired))


def _descend(
    topology: TopologySnapshot,
    shape: PlacementShape,
    chooser: DomainChooser,
    level: int,
    domains: list[TopologyDomain],
    *,
    is_balanced: bool,
) -> list[TopologyDomain]:
    """Choose, level by level, the domains below ``domains`` down to the leaves."""
    lowest = len(topology.levels) - 1
    domains = chooser.cut_to_size(domains, shape.count, shape.leader_count, shape.slice_size, by_slices=True)
    while level < min(lowest, shape.slice_level) and not is_balanced:
        # Above the slices parents are not kept apart.
        children = chooser.sort_domains(child for domain in domains for child in domain.children)
        domains = chooser.cut_to_size(children, shape.count, shape.leader_count, shape.slice_size, by_slices=True)
        level += 1
    while level < lowest:
        size = shape.slice_size if level < shape.slice_level else shape.inner_sizes.get(level + 1, 1)
        domains = [child for domain in domains for child in _cut_children(chooser, domain, size)]
        level += 1
    return domains


def _cut_children(chooser: DomainChooser, domain: TopologyDomain, slice_size: int) -> list[TopologyDomain]:
    children = chooser.sort_domains(domain.children)
    if slice_size > 1:
        for child in children:
            child.slices = child.pods // slice_size
            child.slices_with_leader = child.pods_with_leader // slice_size
    return chooser.cut_to_size(children, domain.pods, domain.leaders, slice_size, by_slices=slice_size > 1)
