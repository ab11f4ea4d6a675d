"""Takes in the cluster's pods: those that wait to be scheduled, those on nodes, and those that this loop placed."""

from __future__ import annotations

from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD_ADD,
    pod_changes,
)
from kschedweb.engine.live.intents import Intent
from kschedweb.engine.live.reservations import Reservation, Stage
from kschedweb.engine.live.work import Work
from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue import GroupQueue

FINISHED = frozenset({"Succeeded", "Failed"})
DELETED, ENDING = "the pod was deleted", "the pod is being deleted"
CHANGED, ELSEWHERE = "the pod was changed", 'the pod was bound to node "{}" by another'


class PodFeed:
    """Finished pods count as gone; pods of other schedulers count once they are on a node."""

    def __init__(self, work: Work) -> None:
        self._work, self._world, self._queue, self._pods = work, work.world, work.queue, work.pods
        self._groups = work.world.cluster.groups
        self._keys: dict[str, str] = {}  # by uid
        release = work.scheduler.configuration.release
        self._counting, self._gives_up = release.counting, release.behaviour.ending_pods_give_up_nodes

    def by_uid(self, uid: str) -> Pod | None:
        return self._pods.get(self._keys.get(uid, ""))

    def _ours(self, pod: Pod) -> bool:
        return pod.scheduler_name in self._work.scheduler.frameworks

    def apply(self, raw: Json, now: float) -> list[Intent]:
        """A pod came or changed; raises ObjectError where it cannot be understood."""
        if mapping(raw, "status").get("phase") in FINISHED:
            metadata = mapping(raw, "metadata")
            return self.delete(f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}", now)
        metadata = mapping(raw, "metadata")
        old = self._pods.get(f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}")
        if old is None or ((uid := metadata.get("uid")) != old.uid and uid):
            pod = Pod.read(raw).counted(self._counting)
            intents = [] if old is None else self.delete(old.key, now)
            return [*intents, *self._add(pod, now)]
        pod = old.renewed(raw).counted(self._counting)
        if not old.node_name:
            return self._settle(old, pod, now) if pod.node_name else self._update_pending(old, pod, now)
        # A pod never leaves its node again: an object without a node is older.
        return self._update_on_node(old, pod, now) if pod.node_name else []

    def _add(self, pod: Pod, now: float) -> list[Intent]:
        self._pods[pod.key], self._keys[pod.uid] = pod, pod.key
        if pod.node_name:
            self._groups.join(pod)
            self._world.add(pod)
            self._queue.move(ASSIGNED_POD_ADD, None, pod, now)
        elif self._ours(pod):
            self._groups.join(pod)
            self._queue.add(pod, now)
            if isinstance(self._queue, GroupQueue):
                self._queue.move(UNSCHEDULED_POD_ADD, None, pod, now)
        return []

    def _update_pending(self, old: Pod, new: Pod, now: float) -> list[Intent]:
        self._pods[new.key] = new
        reservation = self._work.reservations.get(new.uid)
        if reservation is not None:
            return self._update_reserved(reservation, old, new, now)
        if self._ours(new):
            self._queue.update(old, new, now)
            if old.nominated_node and old.nominated_node != new.nominated_node:
                self._room_given_up(old, now)
        return []

    def _update_reserved(self, reservation: Reservation, old: Pod, new: Pod, now: float) -> list[Intent]:
        held = reservation.held and reservation.stage is Stage.WAITING
        if new.terminating and (held or (self._gives_up and not old.terminating)):
            return self._work.supersede(reservation, ENDING, now)
        if not held:
            return []
        # The answer that the pod waits for is about the old object.
        return self._work.supersede(reservation, CHANGED, now) if old.signature != new.signature else []

    def _settle(self, old: Pod, new: Pod, now: float) -> list[Intent]:
        """The pod has a node now: the one that it got here, or another."""
        intents: list[Intent] = []
        self._pods[new.key] = new
        reservation = self._work.reservations.get(new.uid)
        if reservation is not None and reservation.node == new.node_name and reservation.stage is not Stage.WAITING:
            self._confirm(reservation, new)
        else:
            if reservation is not None:
                intents = self._work.supersede(reservation, ELSEWHERE.format(new.node_name), now)
            self._queue.delete(old)
            self._groups.join(new)  # until now it may have been another scheduler's
            self._world.add(new)
        self._queue.move(ASSIGNED_POD_ADD, None, new, now)
        return intents

    def _confirm(self, reservation: Reservation, pod: Pod) -> None:
        """The cluster shows a binding of this loop."""
        assumed = reservation.queued.pod.on(reservation.node)
        self._work.bound(reservation)
        self._work.reservations.remove(pod.uid)
        self._replace(assumed, pod)

    def _update_on_node(self, old: Pod, new: Pod, now: float) -> list[Intent]:
        self._pods[new.key] = new
        self._replace(old, new)
        for event in pod_changes(old, new):
            self._queue.move(event, old, new, now)
        return []

    def _replace(self, old: Pod, new: Pod) -> None:
        if old.signature == new.signature:
            self._world.refresh(new)
        else:
            self._world.replace(old, new)

    def delete(self, key: str, now: float) -> list[Intent]:
        """The pod ``namespace/name`` is gone, if it was there."""
        pod = self._pods.pop(key, None)
        if pod is None:
            return []
        self._keys.pop(pod.uid, None)
        if pod.node_name:
            self._groups.leave(pod)
            self._world.remove(pod)
            self._queue.move(ASSIGNED_POD_DELETE, pod, None, now)
            return []
        reservation = self._work.reservations.get(pod.uid)
        if reservation is not None:
            self._groups.leave(pod)
            return self._work.supersede(reservation, DELETED, now)
        if self._ours(pod):
            self._queue.delete(pod)
            self._groups.leave(pod)  # a group that was complete is tried once more
            if pod.nominated_node:
                self._room_given_up(pod, now)
        return []

    def _room_given_up(self, pod: Pod, now: float) -> None:
        """The room kept for ``pod`` is free for the pods that had to leave it."""
        self._queue.move(ASSIGNED_POD_DELETE, pod, None, now, only=lambda other: other.priority <= pod.priority)
