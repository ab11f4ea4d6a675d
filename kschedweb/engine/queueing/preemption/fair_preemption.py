"""Preemption under fair sharing: victims by the shares of queues and cohorts (`fairPreemptions`)."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.queueing.preemption.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    PreemptionContext,
    PreemptionTarget,
    fill_back,
    restore_targets,
)
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict
from kschedweb.engine.queueing.quota.objects import NEVER
from kschedweb.engine.queueing.quota.quota_tree import CohortNode, QuotaNode
from kschedweb.engine.queueing.quota.shares import LOWEST_SHARE, DominantShare, compute_share
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo

# The strategies of the Configuration's fairSharing.preemptionStrategies.
FINAL_SHARE, INITIAL_SHARE = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
DEFAULT_STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)

Cohort = CohortNode[ClusterQueueSnapshot]


class TargetQueueOrdering:
    """Says which queue gives a victim next: always below the child with the highest share."""

    def __init__(self, context: PreemptionContext, candidates: list[WorkloadInfo]) -> None:
        self._context = context
        self._queue = context.queue
        self._preemptor_cohorts = set(context.queue.ancestors())
        self._candidates: dict[str, list[WorkloadInfo]] = {}
        for candidate in candidates:
            self._candidates.setdefault(candidate.cluster_queue, []).append(candidate)
        # What gives no victims any more.
        self._pruned: set[QuotaNode] = set()

    def __iter__(self) -> Iterator[ClusterQueueSnapshot]:
        """Yield queues that have candidates, until all are pruned."""
        if self._queue.parent is None:
            while self._queue not in self._pruned and self.has_candidate(self._queue):
                yield self._queue
            return
        root = self._queue.parent.root
        while root not in self._pruned:
            queue = self._find_next(root)
            if queue is not None:
                yield queue

    def has_candidate(self, queue: ClusterQueueSnapshot) -> bool:
        return bool(self._candidates.get(queue.name))

    def pop_candidate(self, queue: ClusterQueueSnapshot) -> WorkloadInfo:
        return self._candidates[queue.name].pop(0)

    def drop_queue(self, queue: ClusterQueueSnapshot) -> None:
        self._pruned.add(queue)

    def _find_next(self, cohort: Cohort) -> ClusterQueueSnapshot | None:
        """Return the queue below ``cohort`` that gives the next victim; None if something was only pruned."""
        queue, queue_share = self._find_highest_queue(cohort)
        child, child_share = self._find_highest_cohort(cohort)
        if queue is None and child is None:
            self._pruned.add(cohort)
            return None
        # A cohort wins ties: the most unfair node in it can be chosen.
        if child is not None and child_share.rank >= queue_share.rank:
            return self._find_next(child)
        return queue

    def _find_highest_queue(self, cohort: Cohort) -> tuple[ClusterQueueSnapshot | None, DominantShare]:
        highest, highest_share = None, LOWEST_SHARE
        for queue in cohort.child_queues.values():
            if queue in self._pruned:
                continue
            share = compute_share(queue)
            if (not share.is_borrowing and queue is not self._queue) or not self.has_candidate(queue):
                self._pruned.add(queue)
            elif highest is None or share.rank > highest_share.rank:
                highest, highest_share = queue, share
            elif share.rank == highest_share.rank and self._first_rank(queue) < self._first_rank(highest):
                highest = queue
        return highest, highest_share

    def _first_rank(self, queue: ClusterQueueSnapshot) -> tuple[bool, bool, int, float, str]:
        return self._context.candidate_rank(self._candidates[queue.name][0])

    def _find_highest_cohort(self, cohort: Cohort) -> tuple[Cohort | None, DominantShare]:
        """Return the cohort with the highest share; of equals Kueue takes any one."""
        highest, highest_share = None, LOWEST_SHARE
        equals: list[Cohort] = []
        for child in cohort.child_cohorts.values():
            if child in self._pruned:
                continue
            share = compute_share(child)
            if not share.is_borrowing and child not in self._preemptor_cohorts:
                self._pruned.add(child)
            elif share.rank >= highest_share.rank:
                equals = [*equals, child] if share.rank == highest_share.rank else [child]
                highest, highest_share = child, share
        if self._context.journal is not None and len(equals) > 1:
            self._note_tie(equals)
        return highest, highest_share

    def _note_tie(self, cohorts: list[Cohort]) -> None:
        """Note cohorts of equal shares if more than one of them has candidates."""
        tied = tuple(
            cohort.name for cohort in cohorts if any(self.has_candidate(queue) for queue in cohort.subtree_queues())
        )
        assert self._context.journal is not None
        if len(tied) > 1 and tied not in self._context.journal.ties:
            self._context.journal.ties.append(tied)

    def find_compared_nodes(self, target: ClusterQueueSnapshot) -> tuple[QuotaNode, QuotaNode]:
        """Return the nodes whose shares are compared: the children of the lowest common cohort (`getAlmostLCAs`)."""
        common = next(cohort for cohort in target.ancestors() if cohort in self._preemptor_cohorts)
        return _child_below(self._queue, common), _child_below(target, common)


def _child_below(queue: ClusterQueueSnapshot, cohort: Cohort) -> QuotaNode:
    node: QuotaNode = queue
    while node.parent is not None and node.parent is not cohort:
        node = node.parent
    return node


class FairSearch:
    """A search for victims under fair sharing."""

    def __init__(self, context: PreemptionContext, strategies: tuple[str, ...]) -> None:
        self._context = context
        self._strategies = strategies
        self._targets: list[PreemptionTarget] = []
        # Candidates that the first strategy spared.
        self._retried: list[WorkloadInfo] = []

    def find_targets(self) -> list[PreemptionTarget]:
        """Return who has to go; an empty list if nobody's going helps."""
        context = self._context
        candidates = sorted(self._find_candidates(), key=context.candidate_rank)
        if not candidates:
            return []
        if context.journal is not None:
            context.journal.begin((candidate.key for candidate in candidates), may_borrow=True)
        # Shares count the preemptor too.
        with context.queue.with_usage(context.usage):
            fits = self._run_first_strategy(candidates)
            if not fits and len(self._strategies) > 1:
                fits = self._run_second_strategy()
        targets = fill_back(context, self._targets, may_borrow=True) if fits else self._targets
        restore_targets(context.snapshot, targets)
        if fits and context.journal is not None:
            context.journal.succeed(target.info.key for target in targets)
        return targets if fits else []

    def _find_candidates(self) -> list[WorkloadInfo]:
        queue, policies = self._context.queue, self._context.queue.preemption
        candidates = []
        if policies.within_queue != NEVER:
            candidates += self._filter_candidates(queue, policies.within_queue)
        if queue.parent is not None and policies.reclaim != NEVER:
            for other in queue.parent.root.subtree_queues():
                if other is not queue and not other.is_within_nominal(self._context.needed):
                    candidates += self._filter_candidates(other, policies.reclaim)
        return candidates

    def _filter_candidates(self, queue: ClusterQueueSnapshot, policy: str) -> list[WorkloadInfo]:
        context = self._context
        return [
            info
            for info in queue.workloads.values()
            if context.may_preempt(info.workload, policy) and info.uses_any(context.needed)
        ]

    def _evict(self, candidate: WorkloadInfo, reason: str) -> bool:
        """Take ``candidate`` as a target; return whether the preemptor fits now."""
        self._targets.append(self._context.remove_target(candidate, reason))
        with self._context.queue.without_usage(self._context.usage):
            return self._context.fits(may_borrow=True)

    def _run_first_strategy(self, candidates: list[WorkloadInfo]) -> bool:
        """Evict while shares allow it; return whether the preemptor fits then (`runFirstFsStrategy`)."""
        context = self._context
        ordering = TargetQueueOrdering(context, candidates)
        is_entitled = "FairSharingPreemptWithinNominal" in context.gates and context.queue.is_within_nominal(
            context.needed
        )
        for queue in ordering:
            if queue is context.queue or is_entitled:
                reason = IN_CLUSTER_QUEUE if queue is context.queue else IN_COHORT_RECLAMATION
                if self._evict(ordering.pop_candidate(queue), reason):
                    return True
            elif self._evict_by_share(ordering, queue):
                return True
        return False

    def _evict_by_share(self, ordering: TargetQueueOrdering, queue: ClusterQueueSnapshot) -> bool:
        """Evict the first workload of ``queue`` that the first strategy gives up; return whether that is enough."""
        preemptor_node, target_node = ordering.find_compared_nodes(queue)
        own_share, former_share = compute_share(preemptor_node), compute_share(target_node)
        if own_share.is_infinite and not former_share.is_infinite:
            # No strategy gives anything to an infinite share.
            while ordering.has_candidate(queue):
                self._pass_over(ordering.pop_candidate(queue))
            return False
        while ordering.has_candidate(queue):
            candidate = ordering.pop_candidate(queue)
            if self._strategies[0] == FINAL_SHARE:
                with queue.without_usage(candidate.usage):
                    passes = own_share.rank <= compute_share(target_node).rank
            else:
                passes = own_share.rank < former_share.rank
            if passes:
                return self._evict(candidate, IN_COHORT_FAIR_SHARING)
            self._pass_over(candidate)
        return False

    def _pass_over(self, candidate: WorkloadInfo) -> None:
        """Spare ``candidate``; the second strategy may ask for it again."""
        self._context.note(candidate, CandidateVerdict.FAIR_SHARE)
        self._retried.append(candidate)

    def _run_second_strategy(self) -> bool:
        """Evict of each queue one that was spared, by the shares before (`runSecondFsStrategy`)."""
        ordering = TargetQueueOrdering(self._context, self._retried)
        for queue in ordering:
            preemptor_node, target_node = ordering.find_compared_nodes(queue)
            candidate = ordering.pop_candidate(queue)
            passes = compute_share(preemptor_node).rank < compute_share(target_node).rank
            if passes and self._evict(candidate, IN_COHORT_FAIR_SHARING):
                return True
            ordering.drop_queue(queue)
        return False


def find_fair_targets(context: PreemptionContext, strategies: tuple[str, ...]) -> list[PreemptionTarget]:
    return FairSearch(context, strategies).find_targets()
