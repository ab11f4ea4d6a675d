"""GangScheduling holds the pods of a gang back until enough of them exist, and lets them start together."""

from __future__ import annotations

from functools import partial
from typing import Any

from kschedweb.engine.config.specs import PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    POD_GROUP_ADD,
    POD_GROUP_UPDATE,
    UNSCHEDULED_POD_ADD,
    EventHint,
    ObjectChange,
)
from kschedweb.engine.framework.groups import GroupCycle, Progress
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SUCCESS, Code, Status, error, unresolvable, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects

NAME = "GangScheduling"
# Seconds that a pod waits at Permit for the others.
TIMEOUT = 5 * 60.0
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"
WAITS = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GangScheduling:
    name = NAME

    def __init__(self, args: PluginArgs, hierarchies: bool = False) -> None:
        """``hierarchies``: see ``Behaviour.pod_group_hierarchies``."""
        self.hierarchies = hierarchies

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        """Reject the pod until as many pods of the gang exist as have to be placed together."""
        if not pod.scheduling_group:
            return SUCCESS
        group, name = cluster.groups.group_of(pod), pod.scheduling_group.partition("/")[2]
        if group is None and self.hierarchies:
            ancestors = "or one of its composite pod group ancestors has not been created yet"
            return unresolvable(f'pod group "{name}" {ancestors}')
        if group is None:
            return unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')
        if group.min_count is not None and cluster.groups.member_count(group.key) < group.min_count:
            quorum = f"waiting for podgroup/{group.key} to meet its quorum"
            return unresolvable(quorum if self.hierarchies else TOO_FEW)
        return SUCCESS

    def placement_feasible(self, cycle: GroupCycle, progress: Progress) -> Status:
        """Return ``Wait`` while pods that are still to be tried may complete the gang."""
        min_count, scheduled, remaining = cycle.group.min_placed, progress.scheduled, progress.remaining
        minimum, counted = f"minCount ({min_count})", f"{scheduled} scheduled, {remaining} remaining"
        if self.hierarchies:
            minimum = f"scheduling policy's minimum threshold ({min_count})"
            counted = f"{scheduled} scheduled, {progress.unschedulable} unschedulable, {remaining} not-evaluated"
        if remaining + scheduled < min_count:
            return unschedulable(f"{minimum} cannot be satisfied: {counted}")
        if scheduled < min_count:
            return Status(Code.WAIT, (f"{minimum} is not yet satisfied: {counted}",))
        return SUCCESS

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        """Wait for the other pods. The pod that completes the gang lets all of them go on."""
        key = cycle.pod.scheduling_group
        if not key:
            return SUCCESS, 0.0
        group = cycle.snapshot.objects.groups.get(key)
        if group is None:
            message = f"pod group object not found for pod group podgroup/{key}"
            return error(f"failed to get podGroup {key}: {message}"), 0.0
        if group.min_count is None:
            return SUCCESS, 0.0
        members = cycle.snapshot.group_members(key)
        if len(members) < group.min_count:
            return WAITS, TIMEOUT
        cycle.allows[self.name] = tuple(member.key for member in members)
        return SUCCESS, 0.0

    def events(self) -> list[EventHint]:
        return [
            EventHint(UNSCHEDULED_POD_ADD, _same_group),
            EventHint(ASSIGNED_POD_ADD, _same_group),
            EventHint(POD_GROUP_ADD, _own_group),
            EventHint(POD_GROUP_UPDATE, _own_group_asks_for_fewer),
        ]


def _same_group(pod: Pod, change: ObjectChange) -> bool:
    return bool(pod.scheduling_group) and change.new.scheduling_group == pod.scheduling_group


def _own_group(pod: Pod, change: ObjectChange) -> bool:
    return bool(change.new.key == pod.scheduling_group)


def _own_group_asks_for_fewer(pod: Pod, change: ObjectChange) -> bool:
    old, new = change.old.min_count, change.new.min_count
    return _own_group(pod, change) and old is not None and new is not None and new < old


def _variant(release: Any) -> PluginVariant:
    if not release.behaviour.pod_group_entities:
        return {}
    factory = partial(GangScheduling, hierarchies=release.behaviour.pod_group_hierarchies)
    variant = PluginVariant(gate="GenericWorkload", factory=factory if release.has_group_scheduling else None)
    if not release.behaviour.gang_permit:
        variant["points"] = frozenset({"preEnqueue", "placementFeasible"})
    return variant


SPEC = PluginSpec(
    NAME,
    frozenset({"preEnqueue", "permit"}),
    "Lets the pods of a group start together.",
    gate="GangScheduling",
    variant=_variant,
)
