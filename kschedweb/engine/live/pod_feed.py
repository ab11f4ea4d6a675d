"""Take in the cluster's pods: those that wait, those on nodes, and those that this loop placed."""

from __future__ import annotations

from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD_ADD,
    pod_changes,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.live.intents import Intent
from kschedweb.engine.live.reservations import Reservation, Stage
from kschedweb.engine.live.scheduling_work import SchedulingWork
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue import GroupQueue

FINISHED = frozenset({"Succeeded", "Failed"})
DELETED, ENDING = "the pod was deleted", "the pod is being deleted"
CHANGED, ELSEWHERE = "the pod was changed", 'the pod was bound to node "{}" by another'


class PodFeed:
    """Takes in pods. Finished pods count as gone; pods of other schedulers count once they are on a node."""

    def __init__(self, work: SchedulingWork) -> None:
        self._work, self._world, self._queue, self._pods = work, work.world, work.queue, work.pods
        self._groups = work.world.cluster.groups
        # uid -> key
        self._keys: dict[str, str] = {}
        release = work.scheduler.configuration.release
        self._counting, self._gives_up = release.counting, release.behaviour.terminating_pods_release_node

    def find_by_uid(self, uid: str) -> Pod | None:
        return self._pods.get(self._keys.get(uid, ""))

    def _is_ours(self, pod: Pod) -> bool:
        return pod.scheduler_name in self._work.scheduler.frameworks

    def apply_pod(self, raw: Json, now: float) -> list[Intent]:
        """Take in a pod that was created or changed; raises ObjectError if it cannot be read."""
        if get_mapping(raw, "status").get("phase") in FINISHED:
            metadata = get_mapping(raw, "metadata")
            return self.delete_pod(f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}", now)
        metadata = get_mapping(raw, "metadata")
        old = self._pods.get(f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}")
        # A pod of another uid replaces the old one, whose deletion was missed.
        if old is None or ((uid := metadata.get("uid")) != old.uid and uid):
            pod = Pod.from_json(raw).with_counting(self._counting)
            intents = [] if old is None else self.delete_pod(old.key, now)
            return [*intents, *self._add_pod(pod, now)]
        pod = old.renewed_from(raw).with_counting(self._counting)
        if not old.node_name:
            return self._settle_pod(old, pod, now) if pod.node_name else self._update_pending(old, pod, now)
        # A pod never leaves its node again: an object without a node is older.
        return self._update_on_node(old, pod, now) if pod.node_name else []

    def _add_pod(self, pod: Pod, now: float) -> list[Intent]:
        self._pods[pod.key], self._keys[pod.uid] = pod, pod.key
        if pod.node_name:
            self._groups.add_member(pod)
            self._world.add_pod(pod)
            self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, pod, now)
        elif self._is_ours(pod):
            self._groups.add_member(pod)
            self._queue.add(pod, now)
            # Only releases with groups of pods know this event.
            if isinstance(self._queue, GroupQueue):
                self._queue.move_all_to_active_or_backoff(UNSCHEDULED_POD_ADD, None, pod, now)
        return []

    def _update_pending(self, old: Pod, new: Pod, now: float) -> list[Intent]:
        self._pods[new.key] = new
        reservation = self._work.reservations.get(new.uid)
        if reservation is not None:
            return self._update_reserved(reservation, old, new, now)
        if self._is_ours(new):
            self._queue.update(old, new, now)
            # The room that was kept on the old nominated node is free for others.
            if old.nominated_node and old.nominated_node != new.nominated_node:
                self._release_nomination(old, now)
        return []

    def _update_reserved(self, reservation: Reservation, old: Pod, new: Pod, now: float) -> list[Intent]:
        is_held = reservation.is_held and reservation.stage is Stage.WAITING
        if new.terminating and (is_held or (self._gives_up and not old.terminating)):
            return self._work.supersede_waiting(reservation, ENDING, now)
        if not is_held:
            return []
        # People answer about the pod as it was when they were asked.
        return self._work.supersede_waiting(reservation, CHANGED, now) if old.signature != new.signature else []

    def _settle_pod(self, old: Pod, new: Pod, now: float) -> list[Intent]:
        """Take in that the pod has a node now: the one that it got here, or another."""
        intents: list[Intent] = []
        self._pods[new.key] = new
        reservation = self._work.reservations.get(new.uid)
        if reservation is not None and reservation.node == new.node_name and reservation.stage is not Stage.WAITING:
            self._confirm_binding(reservation, new)
        else:
            if reservation is not None:
                intents = self._work.supersede_waiting(reservation, ELSEWHERE.format(new.node_name), now)
            self._queue.delete(old)
            # The pod may have been another scheduler's until now, and no member of its group here.
            self._groups.add_member(new)
            self._world.add_pod(new)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, new, now)
        return intents

    def _confirm_binding(self, reservation: Reservation, pod: Pod) -> None:
        """Take in that the cluster shows a binding of this loop."""
        # The assumed pod is on the node already: it is replaced, and counted only once.
        assumed = reservation.queued.pod.on(reservation.node)
        self._work.on_bound(reservation)
        self._work.reservations.remove(pod.uid)
        self._replace_pod(assumed, pod)

    def _update_on_node(self, old: Pod, new: Pod, now: float) -> list[Intent]:
        self._pods[new.key] = new
        self._replace_pod(old, new)
        for event in pod_changes(old, new):
            self._queue.move_all_to_active_or_backoff(event, old, new, now)
        return []

    def _replace_pod(self, old: Pod, new: Pod) -> None:
        if old.signature == new.signature:
            self._world.refresh_pod(new)
        else:
            self._world.update_pod(old, new)

    def delete_pod(self, key: str, now: float) -> list[Intent]:
        """Delete the pod ``namespace/name``, if it is known."""
        pod = self._pods.pop(key, None)
        if pod is None:
            return []
        self._keys.pop(pod.uid, None)
        if pod.node_name:
            self._groups.remove_member(pod)
            self._world.remove_pod(pod)
            self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None, now)
            return []
        reservation = self._work.reservations.get(pod.uid)
        if reservation is not None:
            self._groups.remove_member(pod)
            return self._work.supersede_waiting(reservation, DELETED, now)
        if self._is_ours(pod):
            self._queue.delete(pod)
            # The pod leaves its group last: the queue still tries a group once more that was complete with it.
            self._groups.remove_member(pod)
            if pod.nominated_node:
                self._release_nomination(pod, now)
        return []

    def _release_nomination(self, pod: Pod, now: float) -> None:
        """Wake the pods of no higher priority: the room that was kept for ``pod`` is free."""
        self._queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, pod, None, now, only=lambda other: other.priority <= pod.priority
        )
