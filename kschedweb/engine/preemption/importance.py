"""The importance of pods: the most important ones are evicted last."""

from __future__ import annotations

import math
from collections.abc import Callable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.validation.gosort import sort_slice


def by_importance(pods: list[Pod], listed: list[Pod], rules: PreemptionRules) -> list[Pod]:
    """Sort by higher priority, then by earlier start, then as ``rules`` say.

    Where they do not say it, ties stay as kube-scheduler's sort leaves them, and pods that have not started keep the
    order in which they are ``listed`` on the node.
    """
    if rules.ties_by_uid:
        return sorted(pods, key=lambda pod: (-pod.priority, pod.started, pod.uid))
    ordered = list(pods)
    sort_slice(ordered, _more_important_by_clock if rules.unstarted_by_clock else _more_important_of(listed))
    return ordered


def more_important(pod: Pod, other: Pod) -> bool:
    """Return whether ``pod`` is more important than ``other``; of two pods that have not started, neither is."""
    if pod.priority != other.priority:
        return pod.priority > other.priority
    return pod.started < other.started


def _more_important_by_clock(pod: Pod, other: Pod) -> bool:
    return _both_unstarted(pod, other) or more_important(pod, other)


def _more_important_of(listed: list[Pod]) -> Callable[[Pod, Pod], bool]:
    unstarted = [pod.key for pod in listed if pod.started == math.inf]
    if len(unstarted) < 2:
        return more_important
    places = {key: place for place, key in enumerate(unstarted)}

    def less(pod: Pod, other: Pod) -> bool:
        if _both_unstarted(pod, other):
            return places[pod.key] < places[other.key]
        return more_important(pod, other)

    return less


def _both_unstarted(pod: Pod, other: Pod) -> bool:
    return pod.priority == other.priority and pod.started == other.started == math.inf


def earliest_start(victims: tuple[Pod, ...]) -> float:
    """Return when the longest running of the most important ``victims`` started."""
    highest = max(victim.priority for victim in victims)
    return min(victim.started for victim in victims if victim.priority == highest)
