"""The scheduling loop where pods may belong to groups: a group is tried as one."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.status import error
from kschedweb.engine.queue import GroupQueue, QueuedGroup, QueuedPod
from kschedweb.engine.queue.queued_pods import Queued
from kschedweb.engine.simulation.hopeless_group_tries import HopelessGroupTries
from kschedweb.engine.simulation.hopeless_tries import HopelessTries
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.simulation.result import GroupTried
from kschedweb.engine.simulation.scheduling import SchedulingLoop

UNKNOWN = "pod group state not found for pod group {}"


class GroupLoop(SchedulingLoop):
    """Like ``SchedulingLoop``, but the placements of all pods of a group are carried out at the end of one cycle."""

    def __init__(self, scheduler: Scheduler, pods: Pods, seconds: float, hopeless: HopelessTries | None = None) -> None:
        super().__init__(scheduler, pods, seconds, hopeless)
        self._tries = HopelessGroupTries(scheduler, remembers=hopeless is not None)
        # The last recorded try of each group, to leave out repetitions.
        self._told: dict[str, GroupTried] = {}

    def _begin_cycle(self, queued: Queued, now: float) -> None:
        if not isinstance(queued, QueuedGroup):
            super()._begin_cycle(queued, now)
            return
        queued.members = [member for member in queued.members if self._is_there(member)]
        if not queued.members:
            self._queue.conclude_group(queued, now, placed=True, rejected=False)
            return
        self._refresh_snapshot(now)
        self.pods.observer.tries_group(queued.group, queued.pods, now)
        for member in queued.members:
            self.pods.observer.tries(self.pods.lives[member.key], member.attempts, self.scheduler.start, now)
        group_placement = self._find_placement(queued)
        for member, placement in zip(queued.members, group_placement.placements, strict=True):
            self.pods.observer.decided(member.pod, placement, now)
        self._conclude_later(lambda time: self._conclude_group(queued, group_placement, time), now)

    @property
    def _queue(self) -> GroupQueue:
        assert isinstance(self.pods.queue, GroupQueue)
        return self.pods.queue

    def _is_there(self, member: QueuedPod) -> bool:
        life = self._find_life(member)
        if life is None or life.pod.terminating:
            self.pods.queue.mark_done(member.pod.uid)
            return False
        return True

    def _find_placement(self, queued: QueuedGroup) -> GroupPlacement:
        group = self.pods.world.cluster.groups.refresh(queued.group)
        if group is not None:
            return self._tries.find_placement(group, queued.pods, self.pods.observer.request())
        return GroupPlacement.from_refusal(queued.group, queued.pods, error(UNKNOWN.format(queued.group.key)))

    def _conclude_group(self, queued: QueuedGroup, group_placement: GroupPlacement, now: float) -> None:
        for member, placement in zip(queued.members, group_placement.placements, strict=True):
            self._conclude_cycle(member, placement, now)
        for part in group_placement.by_group:
            self._record_try(part, now)
        self._queue.conclude_group(
            queued, now, placed=group_placement.searched.ok, rejected=group_placement.searched.is_rejected
        )
        if group_placement.victims:
            self._clear_nominations(sorted(group_placement.cleared_nodes), group_placement.group.priority, now)
            self._evict_victims(f"pod group {group_placement.group.key}", group_placement.victims, now)

    def _record_try(self, group_placement: GroupPlacement, now: float) -> None:
        """Record the result of the group's try. A group that was placed once stays scheduled."""
        groups, condition = self.pods.world.cluster.groups, group_placement.condition
        tried_group = group_placement.group
        group = groups.refresh(tried_group)
        condition_changed = group is not None and not (group.scheduled and not group_placement.placed)
        if group is not None and group_placement.placed and not group.scheduled:
            group = replace(group, scheduled=True)
            groups.put_group(group)
            self._queue.update_group(group)
        group_try = GroupTried(
            now,
            # A PodGroup may have the same name.
            tried_group.entity if tried_group.is_composite else tried_group.key,
            group_placement.placed,
            condition["reason"],
            condition["message"],
            condition_changed,
            group_placement.domain,
            group_placement.victims,
        )
        # A quick simulation lists only the tries of a group that differ from the one before.
        last = self._told.get(group_try.group)
        if self.hopeless is None or last is None or replace(last, time=now) != group_try:
            self.pods.result.groups.append(group_try)
        self._told[group_try.group] = group_try
