"""Positions in a ClusterQueue, in the order in which Kueue looks at workloads, and the holders of its quota."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.queueing.explaining.queue_state import QueueState
from kschedweb.engine.queueing.quota.amounts import FlavorResource, Requests, add_requests
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class QueuedWorkload:
    """A workload that waits."""

    key: str
    # From 1.
    position: int
    local_queue: str
    priority: int
    # In seconds since 1970: the time by which it queues.
    since: float
    pods: int
    requests: Requests
    # Kueue's last word on it.
    message: str
    # Whether preemptions for it are under way, which keeps it at the head.
    is_sticky: bool
    # Until when it is not tried, in seconds since 1970; None if it may be.
    backoff_until: float | None


@dataclass(frozen=True)
class QuotaHolder:
    """A workload that has quota."""

    key: str
    cluster_queue: str
    local_queue: str
    priority: int
    # When its quota was reserved, in seconds since 1970.
    since: float
    pods: int
    # Flavor and resource -> amount.
    usage: dict[FlavorResource, int]
    # Whether its queue uses more of one of them than its own quota.
    is_borrowing: bool
    is_evicted: bool


def list_positions(state: QueueState, queue: str) -> list[QueuedWorkload]:
    """Return the workloads that wait in the ClusterQueue ``queue``, the head first."""
    pending = state.world.queues.queues.get(queue)
    if pending is None:
        return []
    return [
        _describe_waiting(state, info, position, is_sticky=pending.is_sticky(info))
        for position, info in enumerate(pending.list_pending(), 1)
    ]


def _describe_waiting(state: QueueState, info: WorkloadInfo, position: int, *, is_sticky: bool) -> QueuedWorkload:
    workload = info.workload
    condition = workload.find_condition(kinds.QUOTA_RESERVED)
    return QueuedWorkload(
        info.key,
        position,
        workload.queue_name,
        workload.effective_priority(state.world.gates),
        state.world.configuration.ordering.queue_timestamp(workload),
        sum(pod_set.count for pod_set in workload.pod_sets),
        sum_requests(info),
        condition.message if condition is not None and not condition.is_true else "",
        is_sticky,
        None if workload.is_backoff_over(state.now) else workload.status.requeue_at,
    )


def sum_requests(info: WorkloadInfo) -> Requests:
    """Return what all pod sets of a workload request."""
    total: Requests = {}
    for pod_set in info.total_requests:
        total = add_requests(total, pod_set.requests)
    return total


def list_holders(state: QueueState, queues: Iterable[str], resources: frozenset[FlavorResource]) -> list[QuotaHolder]:
    """Return who has quota of ``resources`` in ``queues``, most of the first resource first."""
    holders = []
    for name in sorted(queues):
        queue = state.world.cache.queues.get(name)
        for info in queue.workloads.values() if queue is not None else ():
            usage = {key: amount for key, amount in info.usage.quota.items() if key in resources and amount}
            if usage:
                assert queue is not None
                is_borrowing = queue.parent is not None and any(queue.used(key) > queue.subtree(key) for key in usage)
                holders.append(describe_holder(state, info, usage, is_borrowing=is_borrowing))
    order = sorted(resources)
    return sorted(holders, key=lambda holder: ([-holder.usage.get(key, 0) for key in order], holder.key))


def describe_holder(
    state: QueueState, info: WorkloadInfo, usage: dict[FlavorResource, int], *, is_borrowing: bool
) -> QuotaHolder:
    workload = info.workload
    reserved = workload.find_condition(kinds.QUOTA_RESERVED)
    return QuotaHolder(
        info.key,
        info.cluster_queue,
        workload.queue_name,
        workload.effective_priority(state.world.gates),
        reserved.since if reserved is not None else 0.0,
        sum(total.count for total in info.total_requests),
        usage,
        is_borrowing,
        workload.is_evicted,
    )
