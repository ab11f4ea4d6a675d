"""The search for flavors: which flavor of a resource group a workload gets, and how (`flavorassigner.go`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Protocol

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import REQUIRED
from kschedweb.engine.objects.json_access import get_mapping, get_objects, get_string_map
from kschedweb.engine.objects.nodeselector import parse_term
from kschedweb.engine.objects.taints import find_untolerated, read_tolerations
from kschedweb.engine.queueing.cycle.assignment import (
    MISSING_FLAVOR,
    NO_AFFINITY,
    NO_MATCHING_FLAVOR,
    NO_TOPOLOGY,
    TOPOLOGY_PLACEMENT_FAILED,
    UNTOLERATED_TAINT,
    Assignment,
    AssignmentMode,
    FlavorAttempt,
    FlavorChoice,
    FlavorChoices,
    FlavorMismatch,
    PodSetAssignment,
    PreemptionMode,
    QuotaCheck,
    pick_most_severe,
)
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import (
    PODS,
    FlavorResource,
    Quantities,
    Requests,
    add_amounts,
    add_requests,
    order_resources,
)
from kschedweb.engine.queueing.quota.objects import (
    NEVER,
    PREEMPTION_OVER_BORROWING,
    TRY_NEXT_FLAVOR,
    FlavorFungibility,
    ResourceFlavor,
    ResourceGroup,
)
from kschedweb.engine.queueing.quota.quota_tree import find_lowest_fit
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.topology.topology_flavors import (
    apply_placements,
    check_topology,
    list_placement_requests,
)
from kschedweb.engine.queueing.topology.topology_search import find_failure, place_workload
from kschedweb.engine.queueing.workloads.workload import PodSet
from kschedweb.engine.queueing.workloads.workload_info import (
    NO_FLAVORS_LEFT,
    AssignmentState,
    PodSetRequests,
    WorkloadInfo,
)
from kschedweb.engine.values import dataclass


class PreemptionOracle(Protocol):
    """Says what preempting for a resource of a flavor would come to."""

    def simulate_preemption(
        self, queue: ClusterQueueSnapshot, info: WorkloadInfo, resource: FlavorResource, amount: int
    ) -> tuple[PreemptionMode, int]: ...


@dataclass(frozen=True, slots=True)
class GranularMode:
    """Way to assign a flavor, with the distance of its quota."""

    mode: PreemptionMode
    borrow: int


WORST_MODE = GranularMode(PreemptionMode.NO_FIT, 2**63 - 1)
BEST_MODE = GranularMode(PreemptionMode.FIT, 0)


def is_preferred(mode: GranularMode, other: GranularMode, fungibility: FlavorFungibility) -> bool:
    """Return True if ``mode`` is better than ``other`` (`isPreferred`)."""
    if mode.mode == PreemptionMode.NO_FIT or other.mode == PreemptionMode.NO_FIT:
        return mode.mode != PreemptionMode.NO_FIT
    lacks_candidates = mode.mode == PreemptionMode.NO_CANDIDATES
    if lacks_candidates != (other.mode == PreemptionMode.NO_CANDIDATES):
        return not lacks_candidates
    if fungibility.preference == PREEMPTION_OVER_BORROWING:
        return (-mode.borrow, mode.mode) > (-other.borrow, other.mode)
    return (mode.mode, -mode.borrow) > (other.mode, -other.borrow)


def should_try_next_flavor(mode: GranularMode, fungibility: FlavorFungibility) -> bool:
    if mode.mode in (PreemptionMode.NO_FIT, PreemptionMode.NO_CANDIDATES):
        return True
    if mode.mode in (PreemptionMode.PREEMPT, PreemptionMode.RECLAIM) and (
        fungibility.when_can_preempt == TRY_NEXT_FLAVOR
    ):
        return True
    return mode.borrow > 0 and fungibility.when_can_borrow == TRY_NEXT_FLAVOR


@dataclass
class FlavorSearch:
    """The result of the search in a resource group."""

    choices: FlavorChoices = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    error: str = ""
    attempts: list[FlavorAttempt] = field(default_factory=list)


@dataclass(frozen=True)
class AssignerOptions:
    """The part of the Configuration that the assigner reads."""

    gates: FeatureGates
    uses_fair_sharing: bool
    ignores_undeclared: bool
    cycle: int


class FlavorAssigner:
    """Assigns flavors to a workload."""

    def __init__(
        self,
        info: WorkloadInfo,
        queue: ClusterQueueSnapshot,
        flavors: dict[str, ResourceFlavor],
        oracle: PreemptionOracle,
        options: AssignerOptions,
    ) -> None:
        self._info = info
        self._queue = queue
        self._flavors = flavors
        self._oracle = oracle
        self._options = options
        self._gates = options.gates

    @property
    def _is_observed(self) -> bool:
        return "UnadmittedWorkloadsObservability" in self._gates

    @property
    def _has_topologies(self) -> bool:
        return "TopologyAwareScheduling" in self._gates

    def assign(self, counts: list[int] | None = None) -> Assignment:
        """Return what the workload would get, with ``counts`` of pods instead of all."""
        totals = self._info.total_requests
        if counts is not None:
            totals = [total.scale_to(count) for total, count in zip(totals, counts, strict=True)]
        state = AssignmentState([], self._queue.generation, self._options.cycle, self._info.scheduling_hash)
        assignment = Assignment(state, ignores_undeclared=self._options.ignores_undeclared)
        covers_pods = self._queue.find_group(PODS) is not None
        if covers_pods:
            totals = [
                replace(total, requests=order_resources({**total.requests, PODS: total.count})) for total in totals
            ]
        for positions in self._group_pod_sets():
            if not self._assign_group(assignment, positions, totals):
                self._resolve_reason(assignment)
                return assignment
        if assignment.mode != AssignmentMode.NO_FIT and self._has_topologies:
            self._assign_topologies(assignment)
        self._resolve_reason(assignment)
        return assignment

    def _resolve_reason(self, assignment: Assignment) -> None:
        if "UnadmittedWorkloadsObservability" in self._gates:
            assignment.resolve_no_fit_reason(self._queue)

    def _group_pod_sets(self) -> Iterable[list[int]]:
        """Return the positions of pod sets, those of a group together."""
        groups: dict[str, list[int]] = {}
        for position, pod_set in enumerate(self._info.workload.pod_sets):
            groups.setdefault(str(position) if pod_set.group is None else pod_set.group, []).append(position)
        return groups.values()

    def _assign_group(self, assignment: Assignment, positions: list[int], totals: list[PodSetRequests]) -> bool:
        """Add the assignments of the pod sets at ``positions``; return False if one of them gets nothing."""
        pod_sets = [self._start_assignment(totals[position]) for position in positions]
        requests: Requests = {}
        for position in positions:
            requests = add_requests(requests, totals[position].requests)
        search = self._search_group(assignment, positions, pod_sets, requests)
        is_complete = True
        for position, pod_set in zip(positions, pod_sets, strict=True):
            wanted_requests = totals[position].requests
            pod_set.choices = self._resolve_choices(position, wanted_requests, search.choices)
            pod_set.reasons, pod_set.error = list(search.reasons), search.error
            pod_set.attempts = search.attempts
            assignment.append(wanted_requests, pod_set)
            if pod_set.error or (wanted_requests and not pod_set.choices):
                is_complete = False
        return is_complete

    def _start_assignment(self, total: PodSetRequests) -> PodSetAssignment:
        """Return the assignment of a pod set, with what a pass before gave it."""
        pod_set = PodSetAssignment(total.name, total.count, total.requests)
        if self._has_topologies:
            pod_set.choices = {
                resource: FlavorChoice(flavor, AssignmentMode.FIT) for resource, flavor in total.flavors.items()
            }
            pod_set.delayed, pod_set.topology = total.delayed, total.topology
        return pod_set

    def _search_group(
        self, assignment: Assignment, positions: list[int], pod_sets: list[PodSetAssignment], requests: Requests
    ) -> FlavorSearch:
        """Search a flavor for each resource that a group of pod sets requests."""
        group_search = FlavorSearch()
        for pod_set in pod_sets:
            group_search.choices.update(pod_set.choices)
        attempts: dict[str, FlavorAttempt] = {}
        for resource, amount in requests.items():
            group = self._queue.find_group(resource)
            if group is None and (amount == 0 or self._options.ignores_undeclared):
                continue
            if resource in group_search.choices:
                continue
            search = self._search_flavor(positions, requests, resource, group, assignment.quota)
            self._merge_attempts(attempts, search.attempts, resource, group)
            if search.error or not search.choices:
                group_search.choices = {}
                group_search.reasons, group_search.error = search.reasons, search.error
                break
            group_search.choices.update(search.choices)
            group_search.reasons += search.reasons
        group_search.attempts = [attempts[name] for name in sorted(attempts)]
        return group_search

    def _merge_attempts(
        self,
        attempts: dict[str, FlavorAttempt],
        new: list[FlavorAttempt],
        resource: str,
        group: ResourceGroup | None,
    ) -> None:
        """Add ``new`` attempts to those of other resources (`mergeFlavorAttemptsForResource`)."""
        for attempt in new:
            known_attempt = attempts.get(attempt.flavor, replace(attempt, reasons=()))
            attempts[attempt.flavor] = known_attempt.merge(attempt)
        if not new or group is None:
            return
        present = {attempt.flavor for attempt in new}
        for flavor in set(attempts).intersection(group.flavors) - present:
            reason = f"flavor {flavor} does not provide resource {resource}"
            attempts[flavor] = replace(
                attempts[flavor],
                mode=AssignmentMode.NO_FIT,
                reasons=tuple(sorted({*attempts[flavor].reasons, reason})),
                no_fit_reason=NO_MATCHING_FLAVOR if self._is_observed else attempts[flavor].no_fit_reason,
            )

    def _resolve_choices(self, position: int, wanted_requests: Requests, choices: FlavorChoices) -> FlavorChoices:
        """Return what of a group's flavors is a pod set's (`resolvePodSetFlavors`)."""
        if wanted_requests:
            return {resource: choices[resource] for resource in wanted_requests if resource in choices}
        if self._info.workload.pod_sets[position].group is None:
            return {}
        # A leader without requests is placed where the group's topology is.
        return {resource: choice for resource, choice in choices.items() if choice.flavor in self._queue.topologies}

    def _search_flavor(
        self,
        positions: list[int],
        requests: Requests,
        resource: str,
        group: ResourceGroup | None,
        assigned: Quantities,
    ) -> FlavorSearch:
        """Find the flavor for all requested resources of a group (`findFlavorForPodSets`)."""
        search = FlavorSearch()
        if group is None:
            search.reasons.append(f"resource {resource} unavailable in ClusterQueue")
            return search
        wanted_requests = {name: amount for name, amount in requests.items() if name in group.resources}
        best, attempted = WORST_MODE, -1
        is_fungible = "FlavorFungibility" in self._gates
        last = self._info.last_assignment
        start = last.next_flavor(positions[0], resource) if last is not None and is_fungible else 0
        for attempted in range(start, len(group.flavors)):
            flavor = group.flavors[attempted]
            if not self._check_flavor(search, flavor, positions, resource, group):
                continue
            choices, mode = self._check_quota(search, flavor, wanted_requests, assigned)
            is_final, is_better = mode.mode == PreemptionMode.FIT, mode.mode > best.mode
            if is_fungible:
                is_final = not should_try_next_flavor(mode, self._queue.fungibility)
                is_better = is_preferred(mode, best, self._queue.fungibility)
            if is_final or is_better:
                search.choices, best = choices, mode
            if is_final:
                break
        for choice in search.choices.values() if is_fungible else ():
            choice.last_flavor = NO_FLAVORS_LEFT if attempted == len(group.flavors) - 1 else attempted
        if best.mode == PreemptionMode.FIT:
            search.reasons = []
        return search

    def _is_outside_nomination(self, flavor: str, positions: list[int], resource: str) -> bool:
        """Return True if the nomination chose another flavor, to which a cycle that assigns anew sticks."""
        nominated = self._info.nominated_flavors
        if not nominated:
            return False
        if "RecomputeAssignmentUponPreemptionTargetsOverlap" not in self._gates and not (
            self._has_topologies and "TASRecomputeAssignmentWithinSchedulingCycle" in self._gates
        ):
            return False
        names = [self._info.workload.pod_sets[position].name for position in positions]
        return all(nominated.get(name, {}).get(resource) != flavor for name in names)

    def _check_flavor(
        self, search: FlavorSearch, name: str, positions: list[int], resource: str, group: ResourceGroup
    ) -> bool:
        """Return True if the flavor's nodes suit the pods, else add why not (`checkFlavorForPodSets`)."""
        if self._is_outside_nomination(name, positions, resource):
            search.reasons.append(
                f"skipping flavor {name} as it is not found in the nomination mapping for resource {resource}"
            )
            return False
        flavor = self._flavors.get(name)
        mismatch: FlavorMismatch | None = FlavorMismatch(MISSING_FLAVOR, f"flavor {name} not found")
        if flavor is not None:
            pod_sets = (self._info.workload.pod_sets[position] for position in positions)
            mismatch = next(filter(None, (self._find_mismatch(flavor, pod_set, group) for pod_set in pod_sets)), None)
        if mismatch is None:
            return True
        search.reasons.append(mismatch.text)
        no_fit_reason = NO_MATCHING_FLAVOR if self._is_observed else ""
        search.attempts.append(
            FlavorAttempt(
                name,
                AssignmentMode.NO_FIT,
                reasons=(mismatch.text,),
                no_fit_reason=no_fit_reason,
                mismatch=mismatch,
            )
        )
        return False

    def _find_mismatch(self, flavor: ResourceFlavor, pod_set: PodSet, group: ResourceGroup) -> FlavorMismatch | None:
        """Return why the pods do not suit the flavor's nodes; None if they do."""
        if self._has_topologies:
            text = check_topology(self._queue, pod_set, flavor, group)
            if text:
                return FlavorMismatch(NO_TOPOLOGY, text)
        tolerations = (*read_tolerations(pod_set.spec, "tolerations", "spec."), *flavor.tolerations)
        untolerated = find_untolerated(flavor.node_taints, tolerations, True)
        if untolerated:
            taint = untolerated[0]
            # Go's print of a taint.
            text = f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {flavor.name}"
            return FlavorMismatch(UNTOLERATED_TAINT, text)
        if not matches_node_labels(pod_set.spec, flavor.node_labels):
            return FlavorMismatch(NO_AFFINITY, f"flavor {flavor.name} doesn't match node affinity")
        return None

    def _check_quota(
        self, search: FlavorSearch, flavor: str, wanted_requests: Requests, assigned: Quantities
    ) -> tuple[FlavorChoices, GranularMode]:
        """Return what the flavor gives for ``wanted_requests``, and the worst of the modes."""
        choices: FlavorChoices = {}
        worst, checks = BEST_MODE, []
        for resource, amount in wanted_requests.items():
            key = FlavorResource(flavor, resource)
            check = self._fit_quota(key, assigned.get(key, 0), amount)
            checks.append(check)
            granular = GranularMode(check.mode, check.borrow)
            if is_preferred(worst, granular, self._queue.fungibility):
                worst = granular
            if worst.mode != PreemptionMode.NO_FIT:
                choices[resource] = FlavorChoice(flavor, check.mode.assignment_mode, check.borrow)
        reasons = [check.reason for check in checks if check.reason]
        search.reasons += reasons
        no_fit_reason = ""
        for check in checks if self._is_observed else ():
            no_fit_reason = pick_most_severe(no_fit_reason, check.no_fit_reason)
        search.attempts.append(
            FlavorAttempt(
                flavor,
                worst.mode.assignment_mode,
                max((check.borrow for check in checks), default=0),
                worst.mode.possibility,
                tuple(sorted(reasons)),
                no_fit_reason,
                tuple(checks),
            )
        )
        return choices, worst

    def _fit_quota(self, key: FlavorResource, assumed: int, amount: int) -> QuotaCheck:
        """Return how quota could serve ``amount`` (`fitsResourceQuota`)."""
        queue, value = self._queue, add_amounts(assumed, amount)
        available, capacity = queue.available(key), queue.potential_available(key)
        mode, borrow, is_tried = PreemptionMode.NO_FIT, 0, False
        if value <= capacity:
            borrow, may_reclaim = find_lowest_fit(queue, key, value)
            if value <= available:
                mode = PreemptionMode.FIT
            elif queue.quota(key).nominal >= value or may_reclaim or self._can_preempt_while_borrowing():
                mode, borrow = self._oracle.simulate_preemption(queue, self._info, key, value)
                is_tried = True
        return QuotaCheck(key, assumed, amount, available, capacity, mode, borrow, is_tried)

    def _can_preempt_while_borrowing(self) -> bool:
        preemption = self._queue.preemption
        return preemption.borrow != NEVER or (self._options.uses_fair_sharing and preemption.reclaim != NEVER)

    def _assign_topologies(self, assignment: Assignment) -> None:
        """Place the pods that need it; quota that fits does not help pods without places."""
        workload, queue = self._info.workload, self._queue
        requests = list_placement_requests(assignment, self._info, queue)
        if assignment.mode == AssignmentMode.FIT:
            results = place_workload(queue.topologies, requests, workload)
            failure = find_failure(results)
            if failure is None:
                apply_placements(assignment, self._info, queue, results)
            else:
                pod_set = assignment.find_pod_set(failure.pod_set)
                if pod_set is not None:
                    pod_set.reasons.append(failure.reason)
                assignment.set_pod_set_mode(failure.pod_set, AssignmentMode.PREEMPT)
        # Nobody is preempted for the replacement of a failed node.
        if assignment.mode != AssignmentMode.PREEMPT or workload.status.unhealthy_nodes:
            return
        failure = find_failure(place_workload(queue.topologies, requests, workload, when_empty=True))
        if failure is None:
            for request in (request for listed in requests.values() for request in listed):
                assignment.set_pod_set_mode(request.name, AssignmentMode.PREEMPT)
            return
        pod_set = assignment.find_pod_set(failure.pod_set)
        if pod_set is not None and self._is_observed:
            pod_set.mark_attempt(failure.flavor, AssignmentMode.NO_FIT, TOPOLOGY_PLACEMENT_FAILED)
        assignment.set_pod_set_mode(failure.pod_set, AssignmentMode.NO_FIT)


def matches_node_labels(spec: Json, labels: dict[str, str]) -> bool:
    """Return True if node selector and required affinity allow nodes with ``labels`` (`flavorSelector`).

    Only the keys that the flavor has count; a term without any makes the affinity match.
    """
    selector = get_string_map(spec, "nodeSelector", "spec.")
    if any(key in labels and labels[key] != value for key, value in selector.items()):
        return False
    affinity = get_mapping(get_mapping(spec, "affinity", "spec."), "nodeAffinity", "spec.affinity.")
    terms = []
    for term in get_objects(get_mapping(affinity, REQUIRED), "nodeSelectorTerms"):
        expressions = [item for item in get_objects(term, "matchExpressions") if item.get("key") in labels]
        if not expressions:
            return True
        terms.append(parse_term({"matchExpressions": expressions}))
    return not terms or any(term.matches("", labels) for term in terms)
