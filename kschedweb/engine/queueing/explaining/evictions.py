"""Victims that a workload would evict, with the rule for each, and the reasons why not the others."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.queueing.cycle.assignment import Assignment, AssignmentMode
from kschedweb.engine.queueing.cycle.cycle import SchedulingCycle
from kschedweb.engine.queueing.cycle.entries import CycleEntry
from kschedweb.engine.queueing.explaining.queue_positions import QuotaHolder, describe_holder
from kschedweb.engine.queueing.explaining.queue_state import QueueState
from kschedweb.engine.queueing.preemption.preemption import PreemptionContext
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict, PreemptionJournal
from kschedweb.engine.queueing.quota.amounts import FlavorResource
from kschedweb.engine.queueing.quota.objects import NEVER
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class EvictionCandidate:
    """A workload that has what is needed, and what the search made of it."""

    holder: QuotaHolder
    verdict: CandidateVerdict
    # The reason of its eviction, in Kueue's word; "" unless it has to go.
    rule: str
    # The policy that it was judged by, and its value.
    policy: str
    policy_value: str
    is_own_queue: bool


@dataclass(frozen=True)
class EvictionSearch:
    """The search for victims of a workload."""

    # What would have to be freed.
    needed: tuple[FlavorResource, ...]
    # False if Kueue does not look for victims, as no policy allows any or the request exceeds what may be reclaimed.
    is_tried: bool
    # Whether the last pass let the workload borrow.
    may_borrow: bool
    candidates: tuple[EvictionCandidate, ...]
    # Cohorts of equal shares, of which Kueue asks any one first.
    tied_cohorts: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[EvictionCandidate, ...]:
        return tuple(item for item in self.candidates if item.verdict is CandidateVerdict.TARGET)


def search_evictions(state: QueueState, cycle: SchedulingCycle, entry: CycleEntry) -> EvictionSearch | None:
    """Return the search for victims of ``entry``; None if it needs none, or none would help."""
    assignment = entry.assignment
    needed = assignment.flavors_in_need or find_lacking(assignment)
    if assignment.mode == AssignmentMode.FIT or not needed:
        return None
    is_tried = bool(assignment.flavors_in_need)
    journal = PreemptionJournal()
    rules = {}
    if is_tried:
        targets = cycle.preemptor.find_targets(entry.info, assignment, journal)
        rules = {target.info.key: target.reason for target in targets}
    context = cycle.preemptor.create_context(entry.info, assignment, needed)
    attempt = journal.last_attempt
    verdicts = attempt.verdicts if attempt is not None else {}
    candidates = [
        _explain_candidate(state, context, info, verdicts.get(info.key), rules.get(info.key, ""))
        for info in _list_holders(entry.queue, needed)
    ]
    candidates.sort(key=lambda item: (_ORDER.index(item.verdict), item.holder.priority, -item.holder.since))
    return EvictionSearch(
        tuple(sorted(needed)),
        is_tried,
        attempt is not None and attempt.may_borrow,
        tuple(candidates),
        journal.ties[0] if journal.ties else (),
    )


_ORDER = (
    CandidateVerdict.TARGET,
    CandidateVerdict.SPARED,
    CandidateVerdict.IN_VAIN,
    CandidateVerdict.NOT_NEEDED,
    CandidateVerdict.FAIR_SHARE,
    CandidateVerdict.MUST_NOT_BORROW,
    CandidateVerdict.WITHIN_NOMINAL,
    CandidateVerdict.PRIORITY,
    CandidateVerdict.POLICY_NEVER,
    CandidateVerdict.NOT_ASKED,
)


def find_lacking(assignment: Assignment) -> frozenset[FlavorResource]:
    """Return what is missing in the flavor that lacks the least kinds of resources."""
    lacking: list[frozenset[FlavorResource]] = []
    for pod_set in assignment.pod_sets:
        for attempt in pod_set.attempts:
            keys = frozenset(check.key for check in attempt.checks if check.missing and not check.exceeds_capacity)
            if keys and not any(check.exceeds_capacity for check in attempt.checks):
                lacking.append(keys)
    return min(lacking, key=len, default=frozenset())


def _list_holders(queue: ClusterQueueSnapshot, needed: frozenset[FlavorResource]) -> Iterable[WorkloadInfo]:
    members = [queue] if queue.parent is None else queue.parent.root.subtree_queues()
    return [info for member in members for info in member.workloads.values() if info.uses_any(needed)]


def _explain_candidate(
    state: QueueState, context: PreemptionContext, info: WorkloadInfo, verdict: CandidateVerdict | None, rule: str
) -> EvictionCandidate:
    queue = context.snapshot.queues[info.cluster_queue]
    is_own = queue is context.queue
    policies = context.queue.preemption
    policy = "withinClusterQueue" if is_own else "reclaimWithinCohort"
    value = policies.within_queue if is_own else policies.reclaim
    if verdict is None:
        verdict = _explain_exclusion(context, info, queue, value)
    usage = {key: amount for key, amount in info.usage.quota.items() if key in context.needed and amount}
    is_borrowing = queue.parent is not None and any(queue.used(key) > queue.subtree(key) for key in usage)
    holder = describe_holder(state, info, usage, is_borrowing=is_borrowing)
    return EvictionCandidate(holder, verdict, rule, policy, value, is_own)


def _explain_exclusion(
    context: PreemptionContext, info: WorkloadInfo, queue: ClusterQueueSnapshot, policy: str
) -> CandidateVerdict:
    """Return why ``info`` was no candidate."""
    if policy == NEVER:
        return CandidateVerdict.POLICY_NEVER
    if not context.may_preempt(info.workload, policy):
        return CandidateVerdict.PRIORITY
    if queue is not context.queue and any(
        node.is_within_nominal(context.needed)
        for node in (queue, *queue.ancestors())
        if node not in set(context.queue.ancestors())
    ):
        return CandidateVerdict.WITHIN_NOMINAL
    return CandidateVerdict.NOT_ASKED
