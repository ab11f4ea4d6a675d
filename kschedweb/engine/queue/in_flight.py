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
        self._since: dict[str, int] = {}  # uid -> the number of the first event that came after it was taken
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
        """The pod is being tried; whether it was not already."""
        if queued.pod.uid in self._pods:
            return False
        self._pods[queued.pod.uid] = queued
        self._since[queued.pod.uid] = self._counted
        return True

    def mark_done(self, uid: str) -> None:
        """The pod is not being tried any more; events that only it could need are forgotten."""
        if self._pods.pop(uid, None) is None:
            return
        del self._since[uid]
        oldest = next(iter(self._since.values()), self._counted)
        while self.events and self.events[0][0] < oldest:
            self.events.popleft()

    def add_event(self, event: ClusterEvent, change: ObjectChange) -> None:
        """Something happened."""
        self.events.append((self._counted, event, change))
        self._counted += 1

    def cluster_events_for_pod(self, uid: str) -> Iterator[tuple[ClusterEvent, ObjectChange]]:
        """What happened since the pod, which is being tried, was taken."""
        since = self._since[uid]
        return ((event, change) for number, event, change in self.events if number >= since)
