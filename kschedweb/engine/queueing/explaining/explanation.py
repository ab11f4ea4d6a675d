"""Explanation of a workload's wait: one answer about one workload, as plain data."""

from __future__ import annotations

from enum import Enum

from kschedweb.engine.queueing.cycle.assignment import (
    EXCEEDS_MAX_QUOTA,
    NO_MATCHING_FLAVOR,
    TOPOLOGY_PLACEMENT_FAILED,
    Assignment,
    AssignmentMode,
    FlavorAttempt,
    pick_most_severe,
)
from kschedweb.engine.queueing.cycle.entries import CycleEntry
from kschedweb.engine.queueing.explaining.evictions import EvictionSearch, search_evictions
from kschedweb.engine.queueing.explaining.flavor_nodes import FlavorNodes, find_small_flavors
from kschedweb.engine.queueing.explaining.forecast import Forecast, forecast_admission
from kschedweb.engine.queueing.explaining.next_cycle import NextCycle, predict_cycle
from kschedweb.engine.queueing.explaining.queue_positions import (
    QueuedWorkload,
    QuotaHolder,
    list_holders,
    list_positions,
    sum_requests,
)
from kschedweb.engine.queueing.explaining.queue_state import QueueState
from kschedweb.engine.queueing.explaining.quota_chains import QuotaChain, trace_chain
from kschedweb.engine.queueing.explaining.remedies import Remedy, find_remedies
from kschedweb.engine.queueing.queues import QueueHead
from kschedweb.engine.queueing.quota.amounts import FlavorResource, Requests
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.workload import (
    GATED_BY_ANNOTATION,
    IS_ADMITTED,
    IS_FINISHED,
    PENDING,
    Workload,
)
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo
from kschedweb.engine.values import dataclass


class WaitVerdict(Enum):
    """State of a workload."""

    FINISHED = "finished"
    EVICTED = "evicted"
    ADMITTED = "admitted"
    # It has quota, and its admission checks are not all passed.
    CHECKS = "checks"
    INACTIVE = "inactive"
    GATED = "gated"
    ON_HOLD = "on hold"
    BACKOFF = "backoff"
    # No queue takes it: a LocalQueue or ClusterQueue is missing or stopped.
    NOT_QUEUED = "not queued"
    # A queue has it, and never looks at its flavors: a check failed, or the namespace or its requests are refused.
    INADMISSIBLE = "inadmissible"
    # It fits now, and the next cycle looks at it.
    NEXT = "next"
    # It fits now, and others of its queue come first.
    BEHIND = "behind"
    # It fits now, and others of its tree take or keep the room in the same cycle.
    CROWDED_OUT = "crowded out"
    PREEMPTS = "preempts"
    NO_CANDIDATES = "no candidates"
    WAITING_FOR_QUOTA = "waiting for quota"
    EXCEEDS_CAPACITY = "exceeds capacity"
    NO_FLAVOR = "no flavor"
    NO_PLACE = "no place"


@dataclass(frozen=True)
class PodSetExplanation:
    """A pod set, and the flavors that were looked at for it."""

    name: str
    count: int
    requests: Requests
    attempts: tuple[FlavorAttempt, ...]
    # Resource -> flavor, if it gets any.
    flavors: dict[str, str]


@dataclass(frozen=True)
class WorkloadExplanation:
    """The answer about a workload."""

    key: str
    verdict: WaitVerdict
    local_queue: str
    cluster_queue: str
    priority: int
    created: float
    pods: int
    requests: Requests
    # In Kueue's words: of its conditions, and of the nomination here.
    condition: str
    message: str
    is_strict: bool
    # Its place in the queue, from 1; None if it does not wait there.
    position: int | None
    ahead: tuple[QueuedWorkload, ...]
    pod_sets: tuple[PodSetExplanation, ...]
    # By resource that is missing.
    chains: tuple[QuotaChain, ...]
    holders: tuple[QuotaHolder, ...]
    evictions: EvictionSearch | None
    remedies: tuple[Remedy, ...]
    forecast: Forecast | None
    # What the next cycle makes of it, if it fits and is at the head of its queue.
    next_cycle: NextCycle | None
    # Flavors whose nodes do not hold its pods even when they are empty.
    small_flavors: tuple[FlavorNodes, ...]


def explain_workload(full_state: QueueState, key: str, *, run_seconds: float | None = None) -> WorkloadExplanation:
    """Explain how the workload ``key`` ("namespace/name") stands. Raises WorkloadMissingError.

    ``run_seconds`` is how long jobs run of which nothing else is known.
    """
    queue = full_state.find_queue_name(full_state.find_workload(key))
    state = full_state.restrict_to_tree(queue) if queue else full_state
    workload = state.find_workload(key)
    info = state.world.create_info(workload)
    settled_verdict = _find_settled_verdict(state, workload, queue)
    if settled_verdict is not None:
        return _describe(state, info, queue, settled_verdict)
    cycle = state.start_cycle()
    entry = cycle.nominate(QueueHead(info.copy_for_cycle(queue), False))
    assert entry is not None, "it has no quota"
    if not entry.has_nomination:
        return _describe(state, info, queue, WaitVerdict.INADMISSIBLE, entry)
    evictions = search_evictions(state, cycle, entry)
    verdict = _judge(entry, _find_position(state, queue, key))
    next_cycle = predict_cycle(state, key) if verdict is WaitVerdict.NEXT else None
    if next_cycle is not None and not next_cycle.gets_quota:
        verdict = WaitVerdict.CROWDED_OUT
    return _describe(
        state,
        info,
        queue,
        verdict,
        entry,
        evictions,
        find_remedies(state, info, entry),
        forecast_admission(state, key, run_seconds),
        next_cycle,
    )


def _find_settled_verdict(state: QueueState, workload: Workload, queue: str) -> WaitVerdict | None:
    """Return the verdict on a workload that no cycle looks at; None for others."""
    if workload.state != PENDING:
        return _judge_reserved(workload)
    if not workload.is_active:
        return WaitVerdict.INACTIVE
    if workload.is_gated(state.world.gates):
        return WaitVerdict.GATED
    if workload.is_on_hold:
        return WaitVerdict.ON_HOLD
    if not state.world.cache.is_queue_active(queue) or _find_position(state, queue, workload.key) is None:
        return WaitVerdict.NOT_QUEUED
    return None if workload.is_backoff_over(state.now) else WaitVerdict.BACKOFF


def _judge_reserved(workload: Workload) -> WaitVerdict:
    """Return the verdict on a workload that has quota, or has finished."""
    if workload.state == IS_FINISHED:
        return WaitVerdict.FINISHED
    if workload.is_evicted:
        return WaitVerdict.EVICTED
    return WaitVerdict.ADMITTED if workload.state == IS_ADMITTED else WaitVerdict.CHECKS


def _find_position(state: QueueState, queue: str, key: str) -> int | None:
    pending = state.world.queues.queues.get(queue)
    keys = [info.key for info in pending.list_pending()] if pending is not None else []
    return keys.index(key) + 1 if key in keys else None


def _judge(entry: CycleEntry, position: int | None) -> WaitVerdict:
    assignment = entry.assignment
    if assignment.mode == AssignmentMode.FIT:
        return WaitVerdict.NEXT if position == 1 else WaitVerdict.BEHIND
    if assignment.mode == AssignmentMode.PREEMPT:
        return WaitVerdict.PREEMPTS if entry.targets else WaitVerdict.NO_CANDIDATES
    return {
        NO_MATCHING_FLAVOR: WaitVerdict.NO_FLAVOR,
        EXCEEDS_MAX_QUOTA: WaitVerdict.EXCEEDS_CAPACITY,
        TOPOLOGY_PLACEMENT_FAILED: WaitVerdict.NO_PLACE,
    }.get(find_no_fit_reason(assignment), WaitVerdict.WAITING_FOR_QUOTA)


def find_no_fit_reason(assignment: Assignment) -> str:
    """Return why nothing fits, of KEP-10852: by pod set the mildest reason of its flavors, over all the most severe."""
    overall = ""
    for pod_set in assignment.pod_sets:
        if pod_set.mode != AssignmentMode.NO_FIT:
            continue
        reasons = [_explain_attempt(attempt) for attempt in pod_set.attempts] or [NO_MATCHING_FLAVOR]
        mildest = reasons[0]
        for reason in reasons:
            mildest = reason if pick_most_severe(mildest, reason) == mildest else mildest
        overall = pick_most_severe(overall, mildest)
    return overall


def _explain_attempt(attempt: FlavorAttempt) -> str:
    if attempt.mismatch is not None:
        return NO_MATCHING_FLAVOR
    reason = ""
    for check in attempt.checks:
        reason = pick_most_severe(reason, check.no_fit_reason)
    return reason or TOPOLOGY_PLACEMENT_FAILED


def _describe(
    state: QueueState,
    info: WorkloadInfo,
    queue: str,
    verdict: WaitVerdict,
    entry: CycleEntry | None = None,
    evictions: EvictionSearch | None = None,
    remedies: tuple[Remedy, ...] = (),
    forecast: Forecast | None = None,
    next_cycle: NextCycle | None = None,
) -> WorkloadExplanation:
    workload = info.workload
    pod_sets = _describe_pod_sets(info, entry)
    flavors = dict.fromkeys(flavor for pod_set in pod_sets for flavor in list_flavors(pod_set))
    positions = list_positions(state, queue)
    position = next((item.position for item in positions if item.key == info.key), None)
    lacking = _list_lacking(entry) if entry is not None else []
    pending = state.world.queues.queues.get(queue)
    return WorkloadExplanation(
        info.key,
        verdict,
        workload.queue_name,
        queue,
        workload.effective_priority(state.world.gates),
        workload.created,
        sum(pod_set.count for pod_set in workload.pod_sets),
        sum_requests(info),
        _read_condition(state, workload),
        entry.message if entry is not None else "",
        pending is not None and pending.is_strict,
        position,
        tuple(positions[: position - 1]) if position is not None else (),
        pod_sets,
        tuple(trace_chain(entry.queue, key) for key in lacking) if entry is not None else (),
        tuple(list_holders(state, state.tree_queues(queue), frozenset(lacking))) if lacking else (),
        evictions,
        remedies,
        forecast,
        next_cycle,
        () if verdict is WaitVerdict.FINISHED else find_small_flavors(state, info, flavors),
    )


def list_flavors(pod_set: PodSetExplanation) -> list[str]:
    """Return the flavors that a pod set has, or whose nodes suit it."""
    suiting = [attempt.flavor for attempt in pod_set.attempts if attempt.mismatch is None]
    return suiting or list(pod_set.flavors.values())


def _read_condition(state: QueueState, workload: Workload) -> str:
    """Return Kueue's last word on it."""
    if workload.is_gated(state.world.gates):
        return f"Admission is gated by: {workload.annotations[GATED_BY_ANNOTATION]}"
    for kind in (kinds.FINISHED, kinds.EVICTED, kinds.ADMITTED, kinds.QUOTA_RESERVED):
        condition = workload.find_condition(kind)
        if condition is not None and (condition.is_true or kind == kinds.QUOTA_RESERVED):
            return condition.message
    return ""


def _list_lacking(entry: CycleEntry) -> list[FlavorResource]:
    """Return what is missing in any flavor whose nodes suit."""
    if not entry.has_nomination:
        return []
    return list(
        dict.fromkeys(
            check.key
            for pod_set in entry.assignment.pod_sets
            for attempt in pod_set.attempts
            for check in attempt.checks
            if check.missing
        )
    )


def _describe_pod_sets(info: WorkloadInfo, entry: CycleEntry | None) -> tuple[PodSetExplanation, ...]:
    assignment = entry.assignment if entry is not None and entry.has_nomination else None
    explanations = []
    for total in info.total_requests:
        assigned = assignment.find_pod_set(total.name) if assignment is not None else None
        flavors = {name: choice.flavor for name, choice in assigned.choices.items()} if assigned else total.flavors
        attempts = tuple(assigned.attempts) if assigned is not None else ()
        explanations.append(PodSetExplanation(total.name, total.count, total.requests, attempts, dict(flavors)))
    return tuple(explanations)
