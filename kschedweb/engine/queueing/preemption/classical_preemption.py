"""Classical preemption: victims by the policies of the preemptor's queue (`classical/`)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kschedweb.engine.queueing.preemption.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
    PreemptionContext,
    PreemptionTarget,
    fill_back,
    restore_targets,
)
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict
from kschedweb.engine.queueing.quota.objects import NEVER
from kschedweb.engine.queueing.quota.quota_tree import CohortNode
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo


class PreemptionVariant(Enum):
    """By which right a candidate may be evicted; the value is the reason that is told."""

    def __init__(self, reason: str, needs_nominal: bool) -> None:
        self.reason = reason
        # Whether the preemptor must not borrow then.
        self.needs_nominal = needs_nominal

    WITHIN_QUEUE = (IN_CLUSTER_QUEUE, False)
    HIERARCHICAL_RECLAIM = (IN_COHORT_RECLAMATION, False)
    RECLAIM_WITHOUT_BORROWING = (IN_COHORT_RECLAMATION, True)
    RECLAIM_WHILE_BORROWING = (IN_COHORT_RECLAIM_WHILE_BORROWING, False)


class PreemptionCandidate(NamedTuple):
    """A workload that may be evicted."""

    info: WorkloadInfo
    variant: PreemptionVariant
    # The lowest cohort that is above its queue and the preemptor's; None for the preemptor's own queue.
    common_cohort: CohortNode[ClusterQueueSnapshot] | None


class CandidateList:
    """All candidates of a preemptor, in the order in which they are tried (`NewCandidateIterator`)."""

    def __init__(self, context: PreemptionContext) -> None:
        self._context = context
        hierarchical, by_priority = self._collect_others()
        groups = [self._sort(group) for group in (hierarchical, by_priority, self._collect_own())]
        self.has_others = bool(hierarchical or by_priority)
        self.has_hierarchical = bool(hierarchical)
        evicted, running = [], []
        for group in groups:
            evicted += [candidate for candidate in group if candidate.info.workload.is_evicted]
            running += [candidate for candidate in group if not candidate.info.workload.is_evicted]
        self.candidates = evicted + running

    def _sort(self, candidates: list[PreemptionCandidate]) -> list[PreemptionCandidate]:
        return sorted(candidates, key=lambda candidate: self._context.candidate_rank(candidate.info))

    def _collect_own(self) -> list[PreemptionCandidate]:
        queue = self._context.queue
        if queue.preemption.within_queue == NEVER:
            return []
        return self._collect_queue(queue, None, has_advantage=False)

    def _collect_others(self) -> tuple[list[PreemptionCandidate], list[PreemptionCandidate]]:
        """Return candidates of other queues: those of quota nearer to the preemptor, and those by priority."""
        hierarchical: list[PreemptionCandidate] = []
        by_priority: list[PreemptionCandidate] = []
        context, queue = self._context, self._context.queue
        if queue.parent is None or queue.preemption.reclaim == NEVER:
            return hierarchical, by_priority
        # A preemptor that fits a subtree's own quota has the advantage over all that use it from outside.
        has_advantage, remaining = queue.fit_quantities(context.requests)
        previous: CohortNode[ClusterQueueSnapshot] | None = None
        for subtree in queue.ancestors():
            candidates = hierarchical if has_advantage else by_priority
            self._collect_subtree(subtree, subtree, previous, has_advantage, candidates)
            fits, remaining = subtree.fit_quantities(remaining)
            has_advantage = has_advantage or fits
            previous = subtree
        return hierarchical, by_priority

    def _collect_subtree(
        self,
        cohort: CohortNode[ClusterQueueSnapshot],
        root: CohortNode[ClusterQueueSnapshot],
        skipped: CohortNode[ClusterQueueSnapshot] | None,
        has_advantage: bool,
        candidates: list[PreemptionCandidate],
    ) -> None:
        """Add what runs below ``cohort`` in queues and cohorts beyond their quotas."""
        needed = self._context.needed
        for child in cohort.child_cohorts.values():
            if child is not skipped and not child.is_within_nominal(needed):
                self._collect_subtree(child, root, skipped, has_advantage, candidates)
        for queue in cohort.child_queues.values():
            if queue is not self._context.queue and not queue.is_within_nominal(needed):
                candidates += self._collect_queue(queue, root, has_advantage=has_advantage)

    def _collect_queue(
        self,
        queue: ClusterQueueSnapshot,
        common_cohort: CohortNode[ClusterQueueSnapshot] | None,
        *,
        has_advantage: bool,
    ) -> list[PreemptionCandidate]:
        candidates = []
        for info in queue.workloads.values():
            variant = self._classify(info, has_advantage)
            if variant is not None:
                candidates.append(PreemptionCandidate(info, variant, common_cohort))
        return candidates

    def _classify(self, info: WorkloadInfo, has_advantage: bool) -> PreemptionVariant | None:
        """Return by which right ``info`` may be evicted (`classifyPreemptionVariant`)."""
        context, policies = self._context, self._context.queue.preemption
        is_own = info.cluster_queue == context.queue.name
        policy = policies.within_queue if is_own else policies.reclaim
        if not info.uses_any(context.needed) or not context.may_preempt(info.workload, policy):
            return None
        if is_own:
            return PreemptionVariant.WITHIN_QUEUE
        if has_advantage:
            return PreemptionVariant.HIERARCHICAL_RECLAIM
        if policies.borrow == NEVER:
            return PreemptionVariant.RECLAIM_WITHOUT_BORROWING
        priority = info.workload.effective_priority(context.gates)
        is_too_high = policies.max_priority is not None and priority > policies.max_priority
        if is_too_high or priority >= context.preemptor.workload.effective_priority(context.gates):
            return PreemptionVariant.RECLAIM_WITHOUT_BORROWING
        return PreemptionVariant.RECLAIM_WHILE_BORROWING

    def find_obstacle(self, candidate: PreemptionCandidate, *, may_borrow: bool) -> CandidateVerdict | None:
        """Return why it must not be evicted after those before it went (`candidateIsValid`); None if it may."""
        if candidate.info.cluster_queue == self._context.queue.name:
            return None
        if may_borrow and candidate.variant.needs_nominal:
            return CandidateVerdict.MUST_NOT_BORROW
        needed = self._context.needed
        queue = self._context.snapshot.queues[candidate.info.cluster_queue]
        if queue.is_within_nominal(needed):
            return CandidateVerdict.WITHIN_NOMINAL
        for cohort in queue.ancestors():
            if cohort is candidate.common_cohort:
                break
            if cohort.is_within_nominal(needed):
                return CandidateVerdict.WITHIN_NOMINAL
        return None


def find_classical_targets(context: PreemptionContext) -> list[PreemptionTarget]:
    """Return who has to go for the preemptor, an empty list if nobody's going helps (`classicalPreemptions`)."""
    candidates = CandidateList(context)
    for may_borrow in _list_attempts(context, candidates):
        if context.journal is not None:
            context.journal.begin((item.info.key for item in candidates.candidates), may_borrow=may_borrow)
        targets: list[PreemptionTarget] = []
        for candidate in candidates.candidates:
            obstacle = candidates.find_obstacle(candidate, may_borrow=may_borrow)
            if obstacle is not None:
                context.note(candidate.info, obstacle)
                continue
            targets.append(context.remove_target(candidate.info, candidate.variant.reason))
            if context.fits(may_borrow=may_borrow):
                targets = fill_back(context, targets, may_borrow=may_borrow)
                restore_targets(context.snapshot, targets)
                if context.journal is not None:
                    context.journal.succeed(target.info.key for target in targets)
                return targets
        restore_targets(context.snapshot, targets)
    return []


def _list_attempts(context: PreemptionContext, candidates: CandidateList) -> tuple[bool, ...]:
    """Return with and without borrowing, in the order in which they are tried."""
    must_not_borrow = context.queue.preemption.borrow == NEVER
    is_under_nominal = all(context.queue.quota(key).nominal > context.queue.used(key) for key in context.needed)
    if not candidates.has_others or (must_not_borrow and not is_under_nominal):
        return (True,)
    return (False, True) if must_not_borrow and not candidates.has_hierarchical else (True, False)
