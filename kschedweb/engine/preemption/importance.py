"""Which of several pods is the last to be evicted."""

from __future__ import annotations

import math

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.gosort import sort_slice


def by_importance(pods: list[Pod], by_clock: bool) -> list[Pod]:
    """Higher priority first, then those that have run longer; ties as kube-scheduler's sort leaves them.

    ``by_clock``: the clock is read for each pod that has not started, so that the first one seems to be older (up to
    1.36).
    """
    ordered = list(pods)
    sort_slice(ordered, _more_important_by_clock if by_clock else more_important)
    return ordered


def more_important(one: Pod, other: Pod) -> bool:
    """Whether ``one`` stays rather than ``other``; of two pods that have not started neither does."""
    if one.priority != other.priority:
        return one.priority > other.priority
    return one.started < other.started


def _more_important_by_clock(one: Pod, other: Pod) -> bool:
    unstarted = one.priority == other.priority and one.started == other.started == math.inf
    return unstarted or more_important(one, other)


def earliest_start(victims: tuple[Pod, ...]) -> float:
    """When the longest running one of the most important ``victims`` started."""
    highest = max(victim.priority for victim in victims)
    return min(victim.started for victim in victims if victim.priority == highest)
