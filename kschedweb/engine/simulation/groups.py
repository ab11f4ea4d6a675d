"""The scheduler at work where pods may belong to groups: a group is tried as one."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.groupplacement import GroupPlacement
from kschedweb.engine.framework.status import error
from kschedweb.engine.queue import GroupQueue, QueuedGroup, QueuedPod
from kschedweb.engine.queue.pods import Queued
from kschedweb.engine.simulation.hopeless import Hopeless
from kschedweb.engine.simulation.hopelessgroups import HopelessGroups
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.simulation.result import GroupTried
from kschedweb.engine.simulation.scheduling import SchedulingLoop

UNKNOWN = "pod group state not found for pod group {}"


class GroupLoop(SchedulingLoop):
    """As ``SchedulingLoop``. All pods of a group have what was found for them at the end of one cycle."""

    def __init__(self, scheduler: Scheduler, pods: Pods, seconds: float, hopeless: Hopeless | None = None) -> None:
        super().__init__(scheduler, pods, seconds, hopeless)
        self._tries = HopelessGroups(scheduler, remembers=hopeless is not None)
        self._told: dict[str, GroupTried] = {}

    def _begin(self, queued: Queued, now: float) -> None:
        if not isinstance(queued, QueuedGroup):
            super()._begin(queued, now)
            return
        queued.members = [member for member in queued.members if self._is_there(member)]
        if not queued.members:
            self._queue.conclude(queued, now, placed=True, rejected=False)
            return
        self._look(now)
        self.pods.observer.tries_group(queued.group, queued.pods, now)
        for member in queued.members:
            self.pods.observer.tries(self.pods.lives[member.key], member.attempts, self.scheduler.start, now)
        found = self._find(queued)
        for member, placement in zip(queued.members, found.placements, strict=True):
            self.pods.observer.decided(member.pod, placement, now)
        self._later(lambda time: self._conclude_group(queued, found, time), now)

    @property
    def _queue(self) -> GroupQueue:
        assert isinstance(self.pods.queue, GroupQueue)
        return self.pods.queue

    def _is_there(self, member: QueuedPod) -> bool:
        life = self._life(member)
        if life is None or life.pod.terminating:
            self.pods.queue.done(member.pod.uid)
            return False
        return True

    def _find(self, queued: QueuedGroup) -> GroupPlacement:
        group = self.pods.world.cluster.groups.get(queued.group.key)
        if group is not None:
            return self._tries.find(group, queued.pods, self.pods.observer.request())
        return GroupPlacement.refused(queued.group, queued.pods, error(UNKNOWN.format(queued.group.key)))

    def _conclude_group(self, queued: QueuedGroup, found: GroupPlacement, now: float) -> None:
        for member, placement in zip(queued.members, found.placements, strict=True):
            self._conclude(member, placement, now)
        self._note(queued, found, now)
        self._queue.conclude(queued, now, placed=found.searched.ok, rejected=found.searched.rejected)
        if found.victims:
            self._evict(f"pod group {found.group.key}", found.victims, now)

    def _note(self, queued: QueuedGroup, found: GroupPlacement, now: float) -> None:
        """Write down how the group fared; one that was placed once stays so."""
        groups, condition = self.pods.world.cluster.groups, found.condition
        group = groups.get(queued.group.key)
        told = group is not None and not (group.scheduled and not found.placed)
        if group is not None and found.placed and not group.scheduled:
            group = replace(group, scheduled=True)
            groups.put(group)
            self._queue.update_group(group)
        tried = GroupTried(
            now,
            queued.group.key,
            found.placed,
            condition["reason"],
            condition["message"],
            told,
            found.domain,
            found.victims,
        )
        last = self._told.get(tried.group)
        if self.hopeless is None or last is None or replace(last, time=now) != tried:
            self.pods.result.groups.append(tried)
        self._told[tried.group] = tried
