"""Preemption: whom a workload may evict, in which order they are asked, and what both kinds of search share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict, PreemptionJournal
from kschedweb.engine.queueing.quota.amounts import FlavorResource, Quantities
from kschedweb.engine.queueing.quota.objects import ANY, LOWER_OR_NEWER_EQUAL_PRIORITY, LOWER_PRIORITY
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot, QueueingSnapshot
from kschedweb.engine.queueing.topology.topology_placement import PlacementRequest
from kschedweb.engine.queueing.topology.topology_search import find_failure, place_workload
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.workload import Workload, WorkloadOrdering
from kschedweb.engine.queueing.workloads.workload_info import TopologyUsage, Usage, WorkloadInfo
from kschedweb.engine.values import dataclass

IN_CLUSTER_QUEUE = "InClusterQueue"
IN_COHORT_RECLAMATION = "InCohortReclamation"
IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
# What each reason means, in Kueue's words.
REASON_WORDS = {
    IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    IN_COHORT_RECLAMATION: "reclamation within the cohort",
    IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}
# By how much older a workload must be with SchedulerTimestampPreemptionBuffer, in seconds.
_TIMESTAMP_BUFFER = 300


@dataclass(frozen=True, slots=True)
class PreemptionTarget:
    """A workload that has to go."""

    info: WorkloadInfo
    reason: str


@dataclass(frozen=True)
class PreemptionContext:
    """A workload that looks for room, and the state in which it looks."""

    preemptor: WorkloadInfo
    queue: ClusterQueueSnapshot
    snapshot: QueueingSnapshot
    ordering: WorkloadOrdering
    now: float
    # What has to be freed.
    needed: frozenset[FlavorResource]
    # What it requests in all.
    requests: Quantities
    placements: dict[str, list[PlacementRequest]] = field(default_factory=dict)
    topology: TopologyUsage = field(default_factory=dict)
    # Where the search writes what becomes of its candidates; None if nobody reads it.
    journal: PreemptionJournal | None = None

    @property
    def gates(self) -> FeatureGates:
        return self.ordering.gates

    @property
    def usage(self) -> Usage:
        return Usage(self.requests, self.topology)

    def fits(self, *, may_borrow: bool) -> bool:
        """Return True if the preemptor fits as things are (`workloadFits`)."""
        for resource, amount in self.requests.items():
            if not may_borrow and self.queue.is_borrowing_with(resource, amount):
                return False
            if amount > self.queue.available(resource):
                return False
        return find_failure(place_workload(self.queue.topologies, self.placements, self.preemptor.workload)) is None

    def may_preempt(self, candidate: Workload, policy: str) -> bool:
        """Return True if ``policy`` lets the preemptor evict ``candidate`` (`SatisfiesPreemptionPolicy`)."""
        if policy == ANY:
            return True
        if policy not in (LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL_PRIORITY):
            return False
        own_priority, other_priority = (
            item.effective_priority(self.gates) for item in (self.preemptor.workload, candidate)
        )
        if own_priority != other_priority or policy == LOWER_PRIORITY:
            return own_priority > other_priority
        age = self.ordering.queue_timestamp(candidate) - self.ordering.queue_timestamp(self.preemptor.workload)
        return age > (_TIMESTAMP_BUFFER if "SchedulerTimestampPreemptionBuffer" in self.gates else 0)

    def candidate_rank(self, candidate: WorkloadInfo) -> tuple[bool, bool, int, float, str]:
        """Return what candidates are ordered by (`CandidatesOrdering`)."""
        ranks, key = self.snapshot.candidate_ranks, candidate.key
        if key not in ranks:
            ranks[key] = self._rank_anywhere(candidate.workload)
        is_running, priority, newness, uid = ranks[key]
        return is_running, candidate.cluster_queue == self.queue.name, priority, newness, uid

    def _rank_anywhere(self, workload: Workload) -> tuple[bool, int, float, str]:
        """Return the part of the rank that is the same for every preemptor."""
        reserved = workload.find_condition(kinds.QUOTA_RESERVED)
        since = reserved.since if reserved is not None and reserved.is_true else self.now
        return not workload.is_evicted, workload.effective_priority(self.gates), -since, workload.uid

    def note(self, candidate: WorkloadInfo, verdict: CandidateVerdict) -> None:
        if self.journal is not None:
            self.journal.note(candidate.key, verdict)

    def remove_target(self, candidate: WorkloadInfo, reason: str) -> PreemptionTarget:
        self.note(candidate, CandidateVerdict.IN_VAIN)
        self.snapshot.remove_workload(candidate)
        return PreemptionTarget(candidate, reason)


def fill_back(
    context: PreemptionContext, targets: list[PreemptionTarget], *, may_borrow: bool
) -> list[PreemptionTarget]:
    """Return ``targets`` without those that need not go (`fillBackWorkloads`).

    The last target takes the place of one that is spared, so that their order changes.
    """
    targets = list(targets)
    for position in range(len(targets) - 2, -1, -1):
        context.snapshot.add_workload(targets[position].info)
        if context.fits(may_borrow=may_borrow):
            targets[position] = targets[-1]
            targets.pop()
        else:
            context.snapshot.remove_workload(targets[position].info)
    return targets


def restore_targets(snapshot: QueueingSnapshot, targets: Iterable[PreemptionTarget]) -> None:
    for target in targets:
        snapshot.add_workload(target.info)


# What both kinds of search are.
FindTargets = Callable[[PreemptionContext], list[PreemptionTarget]]


def describe_preemption(preemptor: WorkloadInfo, target: PreemptionTarget, snapshot: QueueingSnapshot) -> str:
    """Return the message of the victim's conditions (`preemptionMessage`)."""
    workload = preemptor.workload
    job = workload.labels.get("kueue.x-k8s.io/job-uid") or "UNKNOWN"
    paths = (snapshot.queues[info.cluster_queue].path for info in (preemptor, target.info))
    return (
        f"Preempted to accommodate a workload (UID: {workload.uid or 'UNKNOWN'}, JobUID: {job}) due to "
        f"{REASON_WORDS[target.reason]}; preemptor path: {next(paths)}; preemptee path: {next(paths)}"
    )


def describe_priorities(preemptor: Workload, target: Workload, gates: FeatureGates) -> str:
    """Return the end of the victim's event: both priorities."""
    parts = []
    for role, workload in (("preemptor", preemptor), ("preemptee", target)):
        effective, base = workload.effective_priority(gates), workload.base_priority()
        parts.append(f"; {role} effective priority: {effective} (base: {base}, boost: {effective - base})")
    return "".join(parts)
