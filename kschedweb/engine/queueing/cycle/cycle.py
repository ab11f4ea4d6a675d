"""A scheduling cycle: a head of every queue gets quota, waits for victims to go, or goes back (`schedule`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.queueing.cycle.assignment import WAITING_FOR_QUOTA, Assignment, AssignmentMode
from kschedweb.engine.queueing.cycle.entries import (
    ASSUMED,
    ENTRY_EVICTED,
    FAILED_AFTER_NOMINATION,
    GENERIC,
    NAMESPACE_MISMATCH,
    NO_FIT,
    NOMINATED,
    NOT_NOMINATED,
    PENDING_PREEMPTION,
    PREEMPTION_NO_CANDIDATES,
    SECOND_PASS,
    SKIPPED,
    CycleEntry,
)
from kschedweb.engine.queueing.cycle.flavor_assigner import AssignerOptions, FlavorAssigner
from kschedweb.engine.queueing.cycle.partial_admission import find_largest_counts
from kschedweb.engine.queueing.cycle.tournament import FairTournament, order_classically
from kschedweb.engine.queueing.preemption.preemption import PreemptionTarget, describe_preemption, describe_priorities
from kschedweb.engine.queueing.preemption.preemptor import Preemptor
from kschedweb.engine.queueing.queues import QueueHead
from kschedweb.engine.queueing.snapshot import FITS, LACKS_TOPOLOGY, ClusterQueueSnapshot, QueueingSnapshot
from kschedweb.engine.queueing.topology.topology_flavors import apply_placements, list_placement_requests
from kschedweb.engine.queueing.topology.topology_search import place_workload
from kschedweb.engine.queueing.workloads.conditions import truncate_event
from kschedweb.engine.queueing.workloads.requests import find_excessive_requests, find_limit_problems
from kschedweb.engine.queueing.workloads.status_changes import (
    list_required_checks,
    pick_reason,
    propagate_requests,
    release_quota,
    reserve_quota,
    set_preempted,
    sync_admitted,
)
from kschedweb.engine.queueing.workloads.workload import CHECK_REJECTED, CHECK_RETRY, QuotaAdmission, Workload
from kschedweb.engine.queueing.workloads.workload_info import AssignmentState, Usage, WorkloadInfo
from kschedweb.engine.queueing.world import KueueWorld, PreemptionRecord
from kschedweb.engine.validation.fields import aggregate_problems
from kschedweb.engine.values import dataclass

NO_NAMESPACE_MATCH = "workload namespace doesn't match ClusterQueue selector"
_OVERLAP = "Workload has overlapping preemption targets with another workload"


@dataclass
class CycleResult:
    """The result of a cycle."""

    # True if no queue had a head.
    is_idle: bool = False
    entries: list[CycleEntry] = field(default_factory=list)

    def describe_tries(self) -> tuple[object, ...]:
        """Return what the cycle tried, so that one that tries the same is known."""
        return tuple(
            (
                entry.info.key,
                entry.status,
                entry.requeue_reason,
                str(entry.info.last_assignment.last_flavors) if entry.info.last_assignment is not None else "",
            )
            for entry in self.entries
        )


class TriedCycles:
    """Knows when more cycles bring nothing: one changed nothing, and tried what one before had tried."""

    def __init__(self) -> None:
        self._tries: set[tuple[object, ...]] = set()

    def is_over(self, result: CycleResult, *, changed: bool) -> bool:
        """Take the result of a cycle, and whether it changed anything; return whether the next one is needless."""
        if changed:
            self._tries.clear()
            return False
        tries = result.describe_tries()
        if result.is_idle or tries in self._tries:
            return True
        self._tries.add(tries)
        return False


def explain_inadmissible(world: KueueWorld, workload: Workload, selector: Selector | None) -> str:
    """Return why ``workload`` must not be admitted (`ValidateAdmissibility`); "" if it may."""
    labels = world.namespaces.get(workload.namespace)
    if labels is None:
        missing = f'namespaces "{workload.namespace}" not found'
        return f'workload namespace "{workload.namespace}" does not exist: {missing}'
    if selector is not None and not selector.matches(labels):
        return NO_NAMESPACE_MATCH
    if problems := find_excessive_requests(workload.pod_sets):
        return f"resources validation failed: {aggregate_problems(problems)}"
    if problems := find_limit_problems(workload.pod_sets, world.limits(workload.namespace)):
        return f"resources didn't satisfy LimitRange constraints: {aggregate_problems(problems)}"
    return ""


class QuotaScheduler:
    """Runs scheduling cycles."""

    def __init__(self, world: KueueWorld, wait_for_pods: Callable[[], None]) -> None:
        self._world = world
        # Called while a cycle waits until the pods of all admitted workloads are ready.
        self._wait_for_pods = wait_for_pods
        self._cycle = 0

    def run_cycle(self) -> CycleResult:
        world = self._world
        self._cycle += 1
        heads = world.queues.pop_heads(world.cache.is_queue_active)
        if not heads:
            return CycleResult(is_idle=True)
        cycle = SchedulingCycle(world, QueueingSnapshot(world.cache), self._cycle, self._wait_for_pods)
        return CycleResult(entries=cycle.run(heads))


class SchedulingCycle:
    """One cycle, on the snapshot that was taken for it."""

    def __init__(
        self, world: KueueWorld, snapshot: QueueingSnapshot, number: int, wait_for_pods: Callable[[], None]
    ) -> None:
        self._world = world
        self._snapshot = snapshot
        self._number = number
        self._wait_for_pods = wait_for_pods
        configuration = world.configuration
        self._gates = configuration.gates
        self.preemptor = Preemptor(snapshot, configuration.ordering, world.now, configuration.fair_strategies)
        # Workloads that have to go for entries before, by key.
        self._preempted: dict[str, WorkloadInfo] = {}

    def run(self, heads: Iterable[QueueHead]) -> list[CycleEntry]:
        """Process ``heads``; return the entries that they became."""
        entries: list[CycleEntry] = []
        inadmissible: list[CycleEntry] = []
        for head in heads:
            entry = self.nominate(head)
            if entry is not None:
                (entries if entry.has_nomination else inadmissible).append(entry)
        for entry in self._order(entries):
            root = f"ClusterQueue {entry.queue.name}"
            if entry.queue.parent is not None:
                root = f"Cohort {entry.queue.parent.root.name}"
            self._world.log.order.setdefault(root, []).append(entry.info.key)
            self._process(entry)
        for entry in (*entries, *inadmissible):
            if entry.status not in (ASSUMED, ENTRY_EVICTED):
                self._requeue(entry)
        return [*entries, *inadmissible]

    def _order(self, entries: list[CycleEntry]) -> Iterable[CycleEntry]:
        configuration = self._world.configuration
        if configuration.fair_strategies is not None:
            return FairTournament(entries, configuration.ordering)
        return order_classically(entries, configuration.ordering)

    # Nomination

    def nominate(self, head: QueueHead) -> CycleEntry | None:
        """Return the entry of a head; None if it has quota already (`nominate`)."""
        info, world = head.info, self._world
        workload, name = info.workload, info.cluster_queue
        queue = self._snapshot.queues.get(name)
        entry = CycleEntry(info, queue, is_preemptor=head.is_preemptor)
        if not workload.needs_second_pass and world.cache.has_workload(info):
            return None
        if workload.has_check_in(CHECK_RETRY) or workload.has_check_in(CHECK_REJECTED):
            entry.message = "The workload has failed admission checks"
            entry.condition_reason = "PendingEvaluation"
        elif name in self._snapshot.inactive:
            entry.message, entry.condition_reason = f"ClusterQueue {name} is inactive", "Suspended"
        elif queue is None:
            entry.message, entry.condition_reason = f"ClusterQueue {name} not found", "Misconfigured"
        elif mismatch := explain_inadmissible(world, workload, queue.namespace_selector):
            entry.message, entry.condition_reason = mismatch, "Misconfigured"
            if mismatch == NO_NAMESPACE_MATCH:
                entry.requeue_reason = NAMESPACE_MISMATCH
        else:
            entry.record_assignment(*self._assign(info, queue))
        return entry

    def _assign(self, info: WorkloadInfo, queue: ClusterQueueSnapshot) -> tuple[Assignment, list[PreemptionTarget]]:
        """Return what ``info`` would get and who has to go for it (`getAssignments`)."""
        last = info.last_assignment
        if last is not None and self._is_outdated(last, queue, info):
            info.last_assignment = None
        assignment, targets = self._assign_flavors(info, queue)
        self._place_preemptor(info, queue, assignment, targets)
        return assignment, targets

    def _is_outdated(self, last: AssignmentState, queue: ClusterQueueSnapshot, info: WorkloadInfo) -> bool:
        """Return True if a search must not go on where it stopped (`lastAssignmentOutdated`)."""
        if "FlavorFungibilityPreserveScanProgress" in self._gates:
            if not last.matches_shape(info.scheduling_hash):
                return True
            if self._number - last.cycle <= 1:
                return False
        return queue.generation > last.queue_generation

    def _assign_flavors(
        self, info: WorkloadInfo, queue: ClusterQueueSnapshot
    ) -> tuple[Assignment, list[PreemptionTarget]]:
        configuration = self._world.configuration
        options = AssignerOptions(
            self._gates,
            configuration.fair_strategies is not None,
            configuration.ignores_undeclared,
            self._number,
        )
        assigner = FlavorAssigner(info, queue, self._snapshot.flavors, self.preemptor, options)

        def attempt(counts: list[int] | None) -> tuple[Assignment, list[PreemptionTarget], bool]:
            assignment = assigner.assign(counts)
            if assignment.mode == AssignmentMode.FIT:
                return assignment, [], True
            targets = []
            if assignment.mode == AssignmentMode.PREEMPT:
                targets = self.preemptor.find_targets(info, assignment)
            return assignment, targets, bool(targets)

        assignment, targets, is_possible = attempt(None)
        if not is_possible and "PartialAdmission" in self._gates and info.workload.can_shrink:
            reduced = find_largest_counts(info.workload.pod_sets, attempt)
            if reduced is not None:
                return reduced
        return assignment, targets

    def _place_preemptor(
        self, info: WorkloadInfo, queue: ClusterQueueSnapshot, assignment: Assignment, targets: list[PreemptionTarget]
    ) -> None:
        """Find the places that a preemptor keeps (`updateAssignmentForTAS`)."""
        workload = info.workload
        if "TopologyAwareScheduling" not in self._gates or assignment.mode != AssignmentMode.PREEMPT:
            return
        if workload.has_pods_on_unhealthy_node:
            return
        if not queue.is_topology_only and not any(pod_set.is_requesting_topology for pod_set in workload.pod_sets):
            return
        requests = list_placement_requests(assignment, info, queue)
        with self._snapshot.without_usage_of(target.info for target in targets):
            # Without victims it keeps places as if nobody ran, so that less important workloads do not take them.
            results = place_workload(queue.topologies, requests, workload, when_empty=not targets)
        apply_placements(assignment, info, queue, results)

    # Processing

    def _process(self, entry: CycleEntry) -> None:
        """Decide on an entry, on what those before it left (`processEntry`)."""
        usage, fits = self._update_assignment(entry)
        mode = entry.assignment.mode
        workload = entry.info.workload
        fails_fast = "TASFailedNodeReplacementFailFast" in self._gates and workload.has_pods_on_unhealthy_node
        if fails_fast and mode != AssignmentMode.FIT:
            self._evict_without_replacement(entry)
            return
        if mode == AssignmentMode.NO_FIT:
            entry.requeue_reason, entry.condition_reason = NO_FIT, entry.assignment.no_fit_reason
        elif mode == AssignmentMode.PREEMPT and not entry.targets:
            entry.requeue_reason, entry.condition_reason = PREEMPTION_NO_CANDIDATES, WAITING_FOR_QUOTA
            is_first = "PrioritizePreemptorWorkloads" in self._gates and entry.is_preemptor
            if not entry.queue.can_always_reclaim or is_first:
                entry.queue.add(entry.compute_reservation(self._gates))
        elif mode == AssignmentMode.DEFERRED_FIT:
            entry.message = f"{_OVERLAP}, but will fit after these preemptions complete"
            entry.condition_reason = "WaitingForPreemptedWorkloads"
            entry.requeue_reason = PENDING_PREEMPTION
            entry.forget_progress()
            entry.queue.add(usage)
        elif self._overlaps(entry.targets):
            entry.mark_skipped(_OVERLAP, self._gates)
            entry.condition_reason = WAITING_FOR_QUOTA
        elif not fits:
            entry.mark_skipped("Workload no longer fits after processing another workload", self._gates)
            entry.condition_reason = WAITING_FOR_QUOTA
        else:
            self._take(entry, usage)

    def _take(self, entry: CycleEntry, usage: Usage) -> None:
        """Count an entry's usage; then evict its victims, or admit it."""
        self._preempted.update((target.info.key, target.info) for target in entry.targets)
        entry.queue.add(usage)
        if entry.assignment.mode == AssignmentMode.PREEMPT:
            entry.condition_reason = "WaitingForPreemptedWorkloads"
            self._preempt(entry)
            return
        self._wait_until_ready(entry)
        entry.status = NOMINATED
        self._admit(entry)

    def _overlaps(self, targets: Iterable[PreemptionTarget]) -> bool:
        return any(target.info.key in self._preempted for target in targets)

    def _update_assignment(self, entry: CycleEntry) -> tuple[Usage, bool]:
        """Assign anew if others took its places or victims; return its usage, and whether it fits."""
        usage = entry.compute_usage(self._gates)
        fit = self._check_fit(entry, usage)
        lacks_topology = fit == LACKS_TOPOLOGY and "TASRecomputeAssignmentWithinSchedulingCycle" in self._gates
        overlaps = self._overlaps(entry.targets) and "RecomputeAssignmentUponPreemptionTargetsOverlap" in self._gates
        if not overlaps and not lacks_topology:
            return usage, fit == FITS
        entry.forget_progress()
        entry.info.nominated_flavors = entry.assignment.flavors_by_pod_set
        with self._snapshot.without_workloads(self._preempted.values() if overlaps else ()):
            entry.record_assignment(*self._assign(entry.info, entry.queue))
        if overlaps and entry.assignment.mode == AssignmentMode.FIT:
            entry.assignment.set_mode(AssignmentMode.DEFERRED_FIT)
        usage = entry.compute_usage(self._gates)
        fit = self._check_fit(entry, usage)
        entry.info.nominated_flavors = {}
        return usage, fit == FITS

    def _check_fit(self, entry: CycleEntry, usage: Usage) -> str:
        """Return FITS, or what is missing, once all victims so far and its own are gone."""
        victims = {**self._preempted, **{target.info.key: target.info for target in entry.targets}}
        with self._snapshot.without_usage_of(victims.values()):
            return entry.queue.check_fit(usage.quota, usage.topology)

    def _evict_without_replacement(self, entry: CycleEntry) -> None:
        workload = entry.info.workload
        nodes = ",".join(workload.status.unhealthy_nodes)
        message = f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"
        self._world.evict(workload, "NodeFailures", message)
        entry.status = ENTRY_EVICTED

    def _preempt(self, entry: CycleEntry) -> None:
        """Evict the victims of an entry (`IssuePreemptions`)."""
        for target in entry.targets:
            self._preempt_target(entry, target)
        entry.forget_progress()
        entry.message += f". Pending the preemption of {len(entry.targets)} workload(s)"
        entry.requeue_reason = PENDING_PREEMPTION

    def _preempt_target(self, entry: CycleEntry, target: PreemptionTarget) -> None:
        world, workload, preemptor = self._world, target.info.workload, entry.info.workload
        if workload.is_evicted or workload.key in world.expected_evictions:
            if workload.is_evicted:
                world.expected_evictions.discard(workload.key)
            world.log.preempted.append(PreemptionRecord(workload.key, "", preemptor.key, "ongoing", ""))
            return
        world.expected_evictions.add(workload.key)
        message = describe_preemption(entry.info, target, self._snapshot)
        world.evict(
            workload,
            "Preempted",
            message,
            prepare=lambda current: set_preempted(current, target.reason, message, world.now),
        )
        world.log.preempted.append(
            PreemptionRecord(workload.key, target.info.cluster_queue, preemptor.key, target.reason, message)
        )
        world.record_event(workload, "Preempted", message + describe_priorities(preemptor, workload, self._gates))

    # Admission

    def _wait_until_ready(self, entry: CycleEntry) -> None:
        """Wait until the pods of all admitted workloads are ready (`waitForPodsReadyIfNeeded`)."""
        world, workload = self._world, entry.info.workload
        is_exempt = not world.configuration.waits_for_pods_ready or workload.needs_second_pass
        if is_exempt or world.cache.are_all_pods_ready():
            return
        reason = pick_reason(self._gates, "WaitingForPodsReady", "Waiting")
        message = "waiting for all admitted workloads to be in PodsReady condition"
        world.patch_admission(workload, lambda current: release_quota(current, reason, message, self._gates, world.now))
        self._wait_for_pods()

    def _admit(self, entry: CycleEntry) -> None:
        """Give an entry its quota, and write so (`admit`)."""
        world, info = self._world, entry.info
        original = info.workload
        admission = QuotaAdmission(
            entry.cluster_queue, tuple(pod_set.to_admission() for pod_set in entry.assignment.pod_sets)
        )

        def reserve(workload: Workload) -> Workload:
            reserved = reserve_quota(workload, admission, world.now)
            required = list_required_checks(entry.queue.checks, admission)
            if required <= {check.name for check in reserved.status.checks}:
                reserved = sync_admitted(reserved, self._gates, world.now)
            return reserved

        considered = entry.assignment.describe_attempts()
        assumed = world.factory.create(reserve(original))
        if not world.cache.set_workload(assumed):
            entry.message = f"Failed to admit workload: workload {original.key} could not be added to the cache"
            return
        entry.status = ASSUMED

        def write(workload: Workload) -> Workload:
            reserved = reserve(workload)
            return reserved.with_status(unhealthy_nodes=()) if original.status.unhealthy_nodes else reserved

        stored = world.patch_admission(original, write, force=True)
        world.expected_evictions.discard(original.key)
        self._record_admission(original, stored, considered)

    def _record_admission(self, original: Workload, stored: Workload, considered: str) -> None:
        world = self._world
        admission = stored.status.admission
        assert admission is not None
        if not original.has_quota:
            requeued = stored.find_condition("Requeued")
            waited = world.now - (requeued.since if requeued is not None else stored.created)
            message = (
                f"Quota reserved in ClusterQueue {admission.cluster_queue}, wait time since queued was {waited:.0f}s"
            )
            if considered:
                message += f"; Flavors considered: {considered}"
            world.record_event(stored, "QuotaReserved", truncate_event(message))
        if stored.is_admitted and not original.status.unhealthy_nodes:
            message = f"Admitted by ClusterQueue {admission.cluster_queue}, wait time since reservation was 0s"
            world.record_event(stored, "Admitted", message)

    # Requeueing

    def _requeue(self, entry: CycleEntry) -> None:
        """Put back what was not admitted, and write why (`requeueAndUpdate`)."""
        world, info = self._world, entry.info
        if entry.status != NOT_NOMINATED and entry.requeue_reason == GENERIC:
            entry.requeue_reason = FAILED_AFTER_NOMINATION
        if world.queues.queue_second_pass(info.workload, info.second_pass_iteration, world.now):
            entry.requeue_reason = SECOND_PASS
            world.record_event(info.workload, "SecondPassFailed", truncate_event(entry.message))
            return
        entry.is_requeued = False
        current = world.workloads.get(info.key)
        if current is not None and current.is_admissible(self._gates):
            if current.queue_key in world.queues.local_queues:
                info.refresh(world.create_info(current))
            entry.is_requeued = world.queues.requeue_workload(
                info, entry.requeue_reason, entry.condition_reason, world.now
            )
        if entry.status not in (NOT_NOMINATED, SKIPPED):
            return
        reason = pick_reason(self._gates, entry.condition_reason, "Pending")

        def update(workload: Workload) -> Workload:
            released = release_quota(workload, reason, entry.message, self._gates, world.now)
            return propagate_requests(released, info)

        world.patch_admission(info.workload, update)
        world.record_event(info.workload, reason, truncate_event(entry.message))
