"""What the live loop does where pods may belong to groups: a group is tried, and reported, as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.groupplacement import GroupPlacement
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.live.intents import CLUSTER, GroupRef, Intent, ReportGroup
from kschedweb.engine.live.reservations import Reservation
from kschedweb.engine.live.work import Work
from kschedweb.engine.objects.access import Json, integer, mapping, objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import SCHEDULED, PodGroup
from kschedweb.engine.queue import GroupQueue, QueuedGroup, QueuedPod
from kschedweb.engine.queue.pods import Queued
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class GroupTry:
    """The last try of a group at ``time``, and its pods in the order in which they were tried."""

    time: float
    pods: list[Pod]
    found: GroupPlacement
    _there: Scheduler | None = None
    _bound: int = 0  # how many of the pods ``_there`` has on their nodes

    def judge(self, scheduler: Scheduler, key: str) -> Scheduler:
        """``scheduler`` over the cluster as the pod ``key`` found it; it changes with the next call."""
        before = self.found.before(self.pods, key)
        if self._there is None or len(before) < self._bound:
            self._there, self._bound = self._without(scheduler), 0
        self._there.reserve_group(self.pods, before[self._bound :])
        self._bound = len(before)
        return self._there

    def _without(self, scheduler: Scheduler) -> Scheduler:
        there = scheduler.over(scheduler.snapshot.copy())
        there.nominator = scheduler.nominator.copy()
        for pod in self.pods:
            there.nominator.remove(pod.key)
            if pod.key in there.snapshot.pods.slots:
                there.snapshot.remove_pod(pod.key)
        return there


class GroupWork(Work):
    """As ``Work``. What was found for the pods of a group is carried out at the end of its cycle.

    Each pod is reserved, and asks Permit, by itself: GangScheduling lets those that wait go on together, and another
    plugin may hold some of them back, as in kube-scheduler.
    """

    _last: GroupTry | None = None

    @property
    def _groups(self) -> GroupQueue:
        assert isinstance(self.queue, GroupQueue)
        return self.queue

    def _try(self, queued: Queued, now: float) -> list[Intent]:
        self._last = None
        if not isinstance(queued, QueuedGroup):
            return super()._try(queued, now)
        intents = self._refresh(queued)
        if not queued.members:
            self._groups.conclude(queued, now, placed=True, rejected=False)
            return intents
        self.look(now)
        request = replace(self.request, watch=Stopwatch(self.clock))
        found = self.scheduler.find_group(queued.group, queued.pods, request)
        self._last = GroupTry(now, queued.pods, found)
        return [*intents, *self._conclude(queued, found, now)]

    def _refresh(self, queued: QueuedGroup) -> list[Intent]:
        """Leave out the pods that are not to be tried any more, and take the others as they are now."""
        intents: list[Intent] = []
        there = []
        for member in queued.members:
            pod, said = self._fetched(member)
            intents += said
            if pod is not None:
                member.pod = pod
                there.append(member)
        queued.members = there
        return intents

    def _conclude(self, queued: QueuedGroup, found: GroupPlacement, now: float) -> list[Intent]:
        intents: list[Intent] = []
        begun: list[Reservation] = []
        for member, placement in zip(queued.members, found.placements, strict=True):
            decision = placement.decision(member.pod, now, member.attempts, placement.watch)
            if not placement.node:
                intents += self._put_back(member, decision, placement, now)
                continue
            placement.watch.resume()
            reservation, refused = self._assume(member, decision, placement.watch, now)
            intents += refused
            if reservation is not None:
                begun.append(reservation)
        intents += self._let_go(begun, now)
        scheduler = queued.members[0].pod.scheduler_name
        self._groups.conclude(queued, now, placed=found.searched.ok, rejected=found.searched.rejected)
        intents += self._evict(found.victims, GroupRef.of(found.group), CLUSTER, scheduler, now)
        return [*intents, *self._report(found)]

    def _let_go(self, begun: list[Reservation], now: float) -> list[Intent]:
        """Bind those of the pods that need not wait, with those that wait for them since an earlier try."""
        intents: list[Intent] = []
        now_begun = {reservation.uid for reservation in begun}
        for plugin, key in dict.fromkeys(_allowed(begun)):
            pod = self.pods.get(key)
            waiting = None if pod is None else self.reservations.waiting(pod.uid)
            if waiting is None:
                continue
            if waiting.uid in now_begun:
                waiting.binding.allow(plugin)
            else:
                intents += self.allow(waiting, plugin, now)
        for reservation in begun:
            intents += self._go_on(reservation, now)
        return intents

    def _report(self, found: GroupPlacement) -> list[Intent]:
        """The group's condition where that is new; one that was placed once stays so."""
        groups, said = self.world.cluster.groups, found.condition
        group = groups.get(found.group.key)
        if group is None or (group.scheduled and not found.placed):
            return []
        if found.placed and not group.scheduled:
            group = replace(group, scheduled=True)
            groups.put(group)
            self._groups.update_group(group)
        known, generation = _condition(group), integer(mapping(group.raw, "metadata"), "generation", path="metadata.")
        told = (known.get("status"), known.get("reason"), known.get("message"), known.get("observedGeneration") or 0)
        if told == (said["status"], said["reason"], said["message"], generation):
            return []
        since = known.get("lastTransitionTime") or "" if known.get("status") == said["status"] else ""
        return [ReportGroup(GroupRef.of(group), said["status"], said["reason"], said["message"], generation, since)]

    def _requeue(self, queued: QueuedPod, rejected_by: frozenset[str], now: float) -> None:
        if queued.pod.scheduling_group and not rejected_by.isdisjoint(self.holds):
            # Whoever denied it is not to be asked again at once, and for ever.
            self._groups.put_aside(queued, now, rejected_by)
        else:
            super()._requeue(queued, rejected_by, now)

    def member(self, uid: str) -> Pod | None:
        key = next((group.key for group in self.world.cluster.groups if group.uid == uid), "")
        waiting = (pod for pod in self.pods.values() if pod.scheduling_group == key and not pod.node_name)
        return next(waiting, None) if key else None

    def judge(self, pod: Pod, now: float) -> Scheduler:
        """For a pod of the group that was tried just now: beside those that were tried before it."""
        last = self._last
        if last is None or last.time != now or all(one.uid != pod.uid for one in last.pods):
            return self.scheduler
        return last.judge(self.scheduler, pod.key)


def _allowed(begun: list[Reservation]) -> Iterator[tuple[str, str]]:
    """(plugin, key of a pod): which waits they end."""
    for reservation in begun:
        for plugin, keys in reservation.binding.cycle.allows.items():
            yield from ((plugin, key) for key in keys)


def _condition(group: PodGroup) -> Json:
    """The condition that the cluster shows, {} for none."""
    listed = objects(mapping(group.raw, "status"), "conditions", "status.")
    return next((one for one in listed if one.get("type") == SCHEDULED), {})
