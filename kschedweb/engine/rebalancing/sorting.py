"""Orders of pods as Go's sort leaves them: the comparisons contradict themselves for equal pods."""

from __future__ import annotations

import math

from kschedweb.engine.rebalancing.pods import BEST_EFFORT, BURSTABLE, GUARANTEED, PodView
from kschedweb.engine.validation.gosort import sort_slice

_CLASSES = (BEST_EFFORT, BURSTABLE, GUARANTEED)


def sort_by_priority(pods: list[PodView]) -> None:
    """Sort in place: low priority first, then quality of service, then pods that prefer no eviction last.

    As `SortPodsBasedOnPriorityLowToHigh` does.
    """
    sort_slice(pods, _is_evicted_first)


def sort_by_age(pods: list[PodView]) -> None:
    """Sort in place, the oldest first, as `SortPodsBasedOnAge` does."""
    created = {pod.key: -math.inf if pod.created is None else pod.created for pod in pods}
    sort_slice(pods, lambda first, other: created[first.key] < created[other.key])


def _is_evicted_first(first: PodView, other: PodView) -> bool:
    (priority, quality, prefers), (other_priority, other_quality, other_prefers) = first.tie_breaks, other.tie_breaks
    if priority is None or other_priority is None:
        if (priority is None) != (other_priority is None):
            return priority is None
    elif priority != other_priority:
        return priority < other_priority
    # True both ways for equal pods: the result depends on Go's algorithm, which `sort_slice` follows.
    if quality == other_quality and quality in _CLASSES:
        return not prefers or other_prefers
    return quality == BEST_EFFORT or (quality == BURSTABLE and other_quality == GUARANTEED)
