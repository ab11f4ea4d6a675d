"""Which of several pods is the last to be evicted."""

from __future__ import annotations

from datetime import datetime

from kschedweb.engine.gosort import sort_slice
from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.pod import Pod

NOT_STARTED = float("inf")  # what has not started yet counts as started now


def by_importance(pods: list[Pod]) -> list[Pod]:
    """Higher priority first, then those that have run longer; ties as kube-scheduler's sort leaves them."""
    ordered = list(pods)
    sort_slice(ordered, more_important)
    return ordered


def more_important(one: Pod, other: Pod) -> bool:
    """Whether ``one`` is to stay rather than ``other``.

    Of two that have not started it is the first one, whichever that is: kube-scheduler takes the time anew for each,
    so that the one it looks at first seems to have started earlier.
    """
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
