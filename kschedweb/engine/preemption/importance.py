"""Which of several pods is the last to be evicted."""

from __future__ import annotations

import math

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.gosort import sort_slice


def by_importance(pods: list[Pod]) -> list[Pod]:
    """Higher priority first, then those that have run longer; ties as kube-scheduler's sort leaves them."""
    ordered = list(pods)
    sort_slice(ordered, more_important)
    return ordered


def more_important(one: Pod, other: Pod) -> bool:
    """Whether ``one`` stays rather than ``other``.

    Of two pods that have not started, ``one`` stays. kube-scheduler reads the clock for each of them, so that the one
    it looks at first seems to have started earlier.
    """
    if one.priority != other.priority:
        return one.priority > other.priority
    return one.started < other.started or one.started == other.started == math.inf


def earliest_start(victims: tuple[Pod, ...]) -> float:
    """When the longest running one of the most important ``victims`` started."""
    highest = max(victim.priority for victim in victims)
    return min(victim.started for victim in victims if victim.priority == highest)
