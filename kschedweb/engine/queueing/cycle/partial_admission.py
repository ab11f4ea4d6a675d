"""Partial admission: the largest counts of pods with which a workload gets quota (`PodSetReducer`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kschedweb.engine.queueing.quota.amounts import divide_amount
from kschedweb.engine.queueing.workloads.workload import PodSet

AssignmentT = TypeVar("AssignmentT")
TargetsT = TypeVar("TargetsT")


def find_largest_counts(
    pod_sets: Sequence[PodSet], attempt: Callable[[list[int]], tuple[AssignmentT, TargetsT, bool]]
) -> tuple[AssignmentT, TargetsT] | None:
    """Return what ``attempt`` gives for the least reduction that is possible; None if none is.

    The search halves, as Go's `sort.Search` does: what is possible is taken to be so with fewer pods too.
    """
    spare = [
        pod_set.count - (pod_set.count if pod_set.min_count is None else pod_set.min_count) for pod_set in pod_sets
    ]
    total = sum(spare)
    if total == 0:
        return None
    successes: dict[int, tuple[AssignmentT, TargetsT]] = {}
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        counts = [
            pod_set.count - divide_amount(delta * middle, total) for pod_set, delta in zip(pod_sets, spare, strict=True)
        ]
        assignment, targets, is_possible = attempt(counts)
        if is_possible:
            successes[middle] = (assignment, targets)
            high = middle
        else:
            low = middle + 1
    return successes.get(low)
