"""Pods that may not preempt others, and pods that are being preempted."""

from __future__ import annotations

from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod

NEVER_POLICY = "Never"
NEVER = "not eligible due to preemptionPolicy=Never."


def never_preempts(pod: Pod) -> bool:
    """Return whether the pod never preempts others, whatever their priority."""
    return get_mapping(pod.raw, "spec").get("preemptionPolicy") == NEVER_POLICY


def being_preempted(pod: Pod) -> bool:
    """Return whether the pod is terminating because the scheduler evicted it."""
    if not pod.terminating:
        return False
    for condition in get_objects(get_mapping(pod.raw, "status"), "conditions"):
        if condition.get("type") == "DisruptionTarget":
            return condition.get("status") == "True" and condition.get("reason") == "PreemptionByScheduler"
    return False
