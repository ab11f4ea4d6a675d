"""Which of several pods is the last to be evicted."""

from __future__ import annotations

from datetime import datetime

from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.pod import Pod

NOT_STARTED = float("inf")  # what has not started yet counts as started now


def by_importance(pods: list[Pod]) -> list[Pod]:
    """Higher priority first, then those that have run longer.

    Of pods that have not started the later one comes first: kube-scheduler takes the time anew for each comparison,
    so that the one it looks at first seems to have started earlier, and its sort of short lists goes by insertion.
    """
    ordered: list[Pod] = []
    for pod in pods:
        place = len(ordered)
        while place and more_important(pod, ordered[place - 1]):
            place -= 1
        ordered.insert(place, pod)
    return ordered


def more_important(one: Pod, other: Pod) -> bool:
    if one.priority != other.priority:
        return one.priority > other.priority
    start, other_start = started(one), started(other)
    return start < other_start or start == other_start == NOT_STARTED


def started(pod: Pod) -> float:
    """When the pod started, in seconds of the epoch."""
    time = mapping(pod.raw, "status").get("startTime")
    try:
        return datetime.fromisoformat(time).timestamp() if isinstance(time, str) else NOT_STARTED
    except ValueError:
        return NOT_STARTED


def earliest_start(victims: tuple[Pod, ...]) -> float:
    """When the longest running one of the most important ``victims`` started."""
    highest = max(victim.priority for victim in victims)
    return min(started(victim) for victim in victims if victim.priority == highest)
