"""SchedulingGates keeps a pod out of the queue while its spec names scheduling gates."""

from __future__ import annotations

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import POD, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.status import SUCCESS, Status, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects

# The message of the condition PodScheduled, which the API server writes when a pod with gates is created.
CONDITION = "Scheduling is blocked due to non-empty scheduling gates"


class SchedulingGates:
    name = "SchedulingGates"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        if not pod.gates:
            return SUCCESS
        return unresolvable(f"waiting for scheduling gates: [{' '.join(pod.gates)}]")

    def events(self) -> list[EventHint]:
        return [EventHint(ClusterEvent(POD, Action.POD_GATES_GONE), _after_own_update)]


def _after_own_update(pod: Pod, change: ObjectChange) -> bool:
    return bool(change.new.uid == pod.uid)


SPEC = PluginSpec(
    "SchedulingGates",
    frozenset({"preEnqueue"}),
    "Keeps a pod with scheduling gates out of the queue.",
    factory=SchedulingGates,
)
