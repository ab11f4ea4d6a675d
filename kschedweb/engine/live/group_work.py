"""The live loop's work where pods may belong to groups: a group is tried and reported as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.json_types import Json
from kschedweb.engine.live.intents import CLUSTER, GroupRef, Intent, ReportGroup
from kschedweb.engine.live.reservations import Reservation
from kschedweb.engine.live.scheduling_work import SchedulingWork
from kschedweb.engine.objects.json_access import get_integer, get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import CONDITIONS, PodGroup
from kschedweb.engine.queue import GroupQueue, QueuedGroup, QueuedPod
from kschedweb.engine.queue.queued_pods import Queued
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class GroupTry:
    """The last try of a group."""

    # Seconds of the epoch.
    time: float
    # The group's pods, in the order in which they were tried.
    pods: list[Pod]
    placement: GroupPlacement
    # A scheduler over a copy of the cluster, made when the first pod is explained.
    _scheduler_copy: Scheduler | None = None
    # Number of the group's pods that ``_scheduler_copy`` has on their nodes.
    _bound: int = 0

    def scheduler_for(self, scheduler: Scheduler, key: str) -> Scheduler:
        """Return ``scheduler`` over the cluster as it was when the pod ``key`` was tried.

        The copy is reused: the next call changes it.
        """
        before = self.placement.assignments_before(self.pods, key)
        # The copy can only add pods; an earlier pod needs a new copy.
        if self._scheduler_copy is None or len(before) < self._bound:
            self._scheduler_copy, self._bound = self._without_group(scheduler), 0
        self._scheduler_copy.reserve_group(self.pods, before[self._bound :])
        self._bound = len(before)
        return self._scheduler_copy

    def _without_group(self, scheduler: Scheduler) -> Scheduler:
        scheduler_copy = scheduler.with_snapshot(scheduler.snapshot.copy())
        scheduler_copy.nominator = scheduler.nominator.copy()
        for pod in self.pods:
            scheduler_copy.nominator.delete_nominated_pod(pod.key)
            if pod.key in scheduler_copy.snapshot.pods.slots:
                scheduler_copy.snapshot.remove_pod(pod.key)
        return scheduler_copy


class GroupWork(SchedulingWork):
    """Like ``SchedulingWork``, but the placements of a group's pods are carried out together when its cycle ends.

    Each pod reserves its node and asks Permit by itself, as in kube-scheduler: GangScheduling lets the waiting pods go
    on together, and another plugin may hold some of them back.
    """

    _last: GroupTry | None = None

    @property
    def _groups(self) -> GroupQueue:
        assert isinstance(self.queue, GroupQueue)
        return self.queue

    def _try_queued(self, queued: Queued, now: float) -> list[Intent]:
        self._last = None
        if not isinstance(queued, QueuedGroup):
            return super()._try_queued(queued, now)
        self._refresh_members(queued)
        self.refresh_snapshot(now)
        intents: list[Intent] = []
        leaving = [member for member in queued.members if member.pod.terminating]
        refused = self.scheduler.refuse_group(queued.group, queued.pods) if leaving else None
        if refused is None:
            intents += [self._skip_pod(member.pod) for member in leaving]
            queued.members = [member for member in queued.members if not member.pod.terminating]
        if not queued.members:
            self._groups.conclude_group(queued, now, placed=True, rejected=False)
            return intents
        request = replace(self.request, watch=Stopwatch(self.clock))
        group_placement = refused or self.scheduler.find_group(queued.group, queued.pods, request)
        self._last = GroupTry(now, queued.pods, group_placement)
        return [*intents, *self._conclude_group(queued, group_placement, now)]

    def _refresh_members(self, queued: QueuedGroup) -> None:
        """Leave out the pods that are gone or have a node, and read the others as they are now."""
        present = []
        for member in queued.members:
            pod = self._read_pod(member)
            if pod is not None:
                member.pod = pod
                present.append(member)
        queued.members = present

    def _conclude_group(self, queued: QueuedGroup, group_placement: GroupPlacement, now: float) -> list[Intent]:
        intents: list[Intent] = []
        begun: list[Reservation] = []
        for member, placement in zip(queued.members, group_placement.placements, strict=True):
            decision = placement.to_decision(member.pod, now, member.attempts, placement.watch)
            if not placement.node:
                intents += self._put_back(member, decision, placement, now)
                continue
            # The plugins' durations at Reserve and Permit belong to the pod's own watch.
            placement.watch.resume()
            reservation, refused = self._assume_pod(member, decision, placement.watch, now)
            intents += refused
            if reservation is not None:
                begun.append(reservation)
        intents += self._bind_allowed(begun, now)
        scheduler = queued.members[0].pod.scheduler_name
        self._groups.conclude_group(
            queued, now, placed=group_placement.searched.ok, rejected=group_placement.searched.is_rejected
        )
        intents += self._clear_nominations(sorted(group_placement.cleared_nodes), group_placement.group.priority)
        intents += self._evict_victims(
            group_placement.victims, GroupRef.from_group(group_placement.group), CLUSTER, scheduler, now
        )
        return [*intents, *(report for part in group_placement.by_group for report in self._report_group(part))]

    def _bind_allowed(self, begun: list[Reservation], now: float) -> list[Intent]:
        """Bind the pods that need not wait, and those of an earlier try that waited for them."""
        intents: list[Intent] = []
        now_begun = {reservation.uid for reservation in begun}
        # Waits end before any pod is bound: a pod of this try may wait for a later one of it.
        for plugin, key in dict.fromkeys(_allowed_waits(begun)):
            pod = self.pods.get(key)
            waiting = None if pod is None else self.reservations.find_waiting(pod.uid)
            if waiting is None:
                continue
            if waiting.uid in now_begun:
                waiting.binding.allow(plugin)
            else:
                intents += self.allow_waiting(waiting, plugin, now)
        for reservation in begun:
            intents += self._continue_binding(reservation, now)
        return intents

    def _report_group(self, group_placement: GroupPlacement) -> list[Intent]:
        """Report the group's condition if it is new. A group that was placed once stays scheduled."""
        groups, condition = self.world.cluster.groups, group_placement.condition
        group = groups.refresh(group_placement.group)
        if group is None or (group.scheduled and not group_placement.placed):
            return []
        if group_placement.placed and not group.scheduled:
            group = replace(group, scheduled=True)
            groups.put_group(group)
            self._groups.update_group(group)
        old_condition, generation = (
            _group_condition(group),
            get_integer(get_mapping(group.raw, "metadata"), "generation", path="metadata."),
        )
        old_state = (
            old_condition.get("status"),
            old_condition.get("reason"),
            old_condition.get("message"),
            old_condition.get("observedGeneration") or 0,
        )
        if old_state == (condition["status"], condition["reason"], condition["message"], generation):
            return []
        since = (
            old_condition.get("lastTransitionTime") or "" if old_condition.get("status") == condition["status"] else ""
        )
        return [
            ReportGroup(
                GroupRef.from_group(group),
                condition["status"],
                condition["reason"],
                condition["message"],
                generation,
                since,
            )
        ]

    def _requeue_pod(self, queued: QueuedPod, rejected_by: frozenset[str], now: float) -> None:
        if queued.pod.scheduling_group and not rejected_by.isdisjoint(self.holds):
            # A plugin that holds pods has asked people: it must not ask them again at once, and for ever.
            self._groups.put_aside(queued, now, rejected_by)
        else:
            super()._requeue_pod(queued, rejected_by, now)

    def group_member(self, uid: str) -> Pod | None:
        # Activation names a group by its uid; one of its waiting pods stands for it in the queue.
        groups = self.world.cluster.groups
        group_of_uid = next((group for group in groups if group.uid == uid), None)
        keys = [] if group_of_uid is None else [leaf.key for leaf in groups.list_leaves(group_of_uid)]
        waiting = (pod for pod in self.pods.values() if pod.scheduling_group in keys and not pod.node_name)
        return next(waiting, None)

    def scheduler_for(self, pod: Pod, now: float) -> Scheduler:
        """Return the scheduler as the pod's try saw it: with the pods of its group that were placed before it."""
        last = self._last
        if last is None or last.time != now or all(member_pod.uid != pod.uid for member_pod in last.pods):
            return self.scheduler
        return last.scheduler_for(self.scheduler, pod.key)


def _allowed_waits(begun: list[Reservation]) -> Iterator[tuple[str, str]]:
    """Yield the waits that these reservations end, as (plugin, key of the waiting pod)."""
    for reservation in begun:
        for plugin, keys in reservation.binding.cycle.allows.items():
            yield from ((plugin, key) for key in keys)


def _group_condition(group: PodGroup) -> Json:
    """Return the condition that the cluster shows; {} for none."""
    listed = get_objects(get_mapping(group.raw, "status"), "conditions", "status.")
    return next((condition for condition in listed if condition.get("type") == CONDITIONS[group.kind]), {})
