"""The pods that are being tried, and what happened since each of them was taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kschedweb.engine.framework.events import ClusterEvent, ObjectChange
from kschedweb.engine.queue.queued_pods import QueuedPod


class InFlight:
    """Pods by uid, in the order in which they were taken, and the ``events`` that may concern one of them."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        # uid -> number of the first event that came after the pod was taken
        self._since: dict[str, int] = {}
        # (number, event, change); one list for all pods, as kube-scheduler keeps it.
        self.events: deque[tuple[int, ClusterEvent, ObjectChange]] = deque()
        self._counted = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def get(self, uid: str) -> QueuedPod | None:
        return self._pods.get(uid)

    def take_pod(self, queued: QueuedPod) -> bool:
        """Note that the pod is being tried; returns false if it was already."""
        if queued.pod.uid in self._pods:
            return False
        self._pods[queued.pod.uid] = queued
        self._since[queued.pod.uid] = self._counted
        return True

    def mark_done(self, uid: str) -> None:
        """Note that the pod is not being tried any more, and forget the events that it alone could need."""
        if self._pods.pop(uid, None) is None:
            return
        del self._since[uid]
        # The pods are in the order in which they were taken, so that the first one needs the oldest event.
        oldest = next(iter(self._since.values()), self._counted)
        while self.events and self.events[0][0] < oldest:
            self.events.popleft()

    def add_event(self, event: ClusterEvent, change: ObjectChange) -> None:
        """Remember an event for the pods that are being tried."""
        self.events.append((self._counted, event, change))
        self._counted += 1

    def cluster_events_for_pod(self, uid: str) -> Iterator[tuple[ClusterEvent, ObjectChange]]:
        """Return the events since the pod, which is being tried, was taken."""
        since = self._since[uid]
        return ((event, change) for number, event, change in self.events if number >= since)
