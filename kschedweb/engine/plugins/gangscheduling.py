"""GangScheduling holds the pods of a gang back until enough of them exist, and lets them start together."""

from __future__ import annotations

from functools import partial
from typing import Any

from kschedweb.engine.config.specs import PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    COMPOSITE_GROUP_ADD,
    COMPOSITE_GROUP_UPDATE,
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
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.cluster_objects import ClusterObjects

NAME = "GangScheduling"
# Seconds that a pod waits at Permit for the others.
TIMEOUT = 5 * 60.0
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"
WAITS = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GangScheduling:
    name = NAME

    def __init__(self, args: PluginArgs, hierarchies: bool = False, composites: bool = False) -> None:
        """Follow the release.

        ``hierarchies``: see ``Behaviour.pod_group_hierarchies``; ``composites``: ``Release.has_composite_groups``.
        """
        self.hierarchies, self.composites = hierarchies, composites

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        """Reject the pod until as many pods of the gang exist as have to be placed together.

        Of a composite group as many groups have to be ready.
        """
        if not pod.scheduling_group:
            return SUCCESS
        group, name = self._find_root(pod, cluster), pod.scheduling_group.partition("/")[2]
        if group is None and self.hierarchies:
            ancestors = "or one of its composite pod group ancestors has not been created yet"
            return unresolvable(f'pod group "{name}" {ancestors}')
        if group is None:
            return unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')
        if cluster.groups.is_ready(group):
            return SUCCESS
        if not self.hierarchies:
            return unresolvable(TOO_FEW)
        quorum = f"{group.entity} tree to have at least one ready child group" if group.is_basic else ""
        return unresolvable(f"waiting for {quorum or f'{group.entity} to meet its quorum'}")

    def _find_root(self, pod: Pod, cluster: ClusterObjects) -> PodGroup | None:
        return cluster.groups.find_root(pod.scheduling_group) if self.composites else cluster.groups.group_of(pod)

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
        hints = [
            EventHint(UNSCHEDULED_POD_ADD, self._is_member),
            EventHint(ASSIGNED_POD_ADD, self._is_member),
            EventHint(POD_GROUP_ADD, self._is_own_group),
            EventHint(POD_GROUP_UPDATE, self._asks_for_fewer),
        ]
        if self.composites:
            hints += [
                EventHint(COMPOSITE_GROUP_ADD, self._is_own_group),
                EventHint(COMPOSITE_GROUP_UPDATE, self._asks_for_fewer),
            ]
        return hints

    def _is_member(self, pod: Pod, change: ObjectChange) -> bool:
        """Return whether the pod that came belongs to the same group, or tree of groups."""
        if not pod.scheduling_group or not change.new.scheduling_group:
            return False
        if not self.composites:
            return bool(change.new.scheduling_group == pod.scheduling_group)
        root = self._find_root(pod, change.cluster)
        return root is not None and root is self._find_root(change.new, change.cluster)

    def _is_own_group(self, pod: Pod, change: ObjectChange) -> bool:
        if not self.composites or not pod.scheduling_group:
            return bool(change.new.key == pod.scheduling_group)
        root = self._find_root(pod, change.cluster)
        return root is not None and root is change.cluster.groups.find_root_above(change.new)

    def _asks_for_fewer(self, pod: Pod, change: ObjectChange) -> bool:
        old, new = change.old.min_count, change.new.min_count
        return old is not None and new is not None and new < old and self._is_own_group(pod, change)


def _variant(release: Any) -> PluginVariant:
    if not release.behaviour.pod_group_entities:
        return {}
    factory = partial(
        GangScheduling,
        hierarchies=release.behaviour.pod_group_hierarchies,
        composites=release.has_composite_groups,
    )
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
