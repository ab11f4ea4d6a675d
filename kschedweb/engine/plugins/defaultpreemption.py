"""DefaultPreemption makes room for a pod that fits nowhere by evicting pods of lower priority."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.objects.access import mapping, objects
from kschedweb.engine.objects.pod import Pod

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


class DefaultPreemption:
    name = "DefaultPreemption"

    def __init__(self, args: dict[str, Any]) -> None:
        percentage, absolute = args.get("minCandidateNodesPercentage"), args.get("minCandidateNodesAbsolute")
        self.percentage = 10 if percentage is None else int(percentage)
        self.absolute = 100 if absolute is None else int(absolute)

    def wanted(self, nodes: int) -> int:
        """How many candidates are enough, of ``nodes`` where evictions could help."""
        return min(max(nodes * self.percentage // 100, self.absolute), nodes)

    def refusal(self, cycle: Cycle, nominated_is_hopeless: bool) -> str:
        """Why the pod may not preempt others; "" where it may.

        ``nominated_is_hopeless``: the node nominated for it earlier was rejected for good in this cycle.
        """
        pod, snapshot = cycle.pod, cycle.snapshot
        if mapping(pod.raw, "spec").get("preemptionPolicy") == "Never":
            return NEVER
        nominated = snapshot.index.get(pod.nominated_node)
        if nominated is None or nominated_is_hopeless:
            return ""
        on_node = snapshot.pods.on(nominated)
        if any(other.priority < pod.priority and being_preempted(other) for other in on_node):
            return TERMINATING
        return ""


def being_preempted(pod: Pod) -> bool:
    """Whether the pod is terminating because the scheduler evicted it."""
    return pod.terminating and any(
        condition.get("type") == "DisruptionTarget"
        and condition.get("status") == "True"
        and condition.get("reason") == "PreemptionByScheduler"
        for condition in objects(mapping(pod.raw, "status"), "conditions")
    )
