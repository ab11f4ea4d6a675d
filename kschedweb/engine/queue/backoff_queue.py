"""Pods that wait before they are tried again: longer each time, up to a limit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue.heap import Heap
from kschedweb.engine.queue.queued_pods import NEVER, Less, Queued, QueuedPod

# Seconds, as kube-scheduler's ``backoffQOrderingWindowDuration``: pods whose backoff ends in the same window come back
# together, in the active queue's order.
WINDOW = 1.0
# Keeps the shifted integer small; the longest backoff is reached long before.
MAX_DOUBLINGS = 62


def align_to_window(time: float) -> float:
    """Return the start of the window that ``time`` lies in."""
    return math.floor(time / WINDOW) * WINDOW


class BackoffQueue:
    """Pods that back off.

    ``initial`` and ``longest`` are seconds; a ``longest`` of 0 turns backoff off. Pods that came back because of an
    error wait apart: they are not taken early when nothing else is active.
    """

    def __init__(self, initial: float, longest: float, less: Less) -> None:
        self.initial, self.longest = initial, longest
        self._active_less = less
        self._rejected: Heap[Queued] = Heap(self._less_backoff_completed)
        self._failed: Heap[Queued] = Heap(
            lambda entity, other: self.get_backoff_time(entity) < self.get_backoff_time(other)
        )

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __contains__(self, key: str) -> bool:
        return key in self._rejected or key in self._failed

    def __iter__(self) -> Iterator[Queued]:
        yield from self._rejected
        yield from self._failed

    def _less_backoff_completed(self, entity: Queued, other: Queued) -> bool:
        mine, theirs = self.get_backoff_time(entity), self.get_backoff_time(other)
        return mine < theirs if mine != theirs else self._active_less(entity, other)

    def calculate_backoff_duration(self, count: int, size: int = 1) -> float:
        """Return how many seconds ``size`` pods that are tried together wait after ``count`` failed attempts."""
        if not count:
            return 0.0
        # A group may wait longer than a pod, by the square root of its size.
        longest = self.longest * math.sqrt(size) if size > 1 else self.longest
        return min(self.initial * (1 << min(count - 1, MAX_DOUBLINGS)), longest)

    def get_backoff_time(self, queued: Queued) -> float:
        """Return the window in which the pod's backoff ends; ``NEVER`` if it need not wait."""
        count = queued.errors or queued.unschedulable
        if not self.longest or not count:
            return NEVER
        # Worked out once: the order in a heap must not change while the pod is in it.
        if queued.expires is None:
            queued.expires = align_to_window(
                queued.queued + self.calculate_backoff_duration(count, len(queued.members))
            )
        return queued.expires

    def is_backing_off(self, queued: Queued, now: float) -> bool:
        """Return true while the pod must wait: through the whole window in which its backoff ends."""
        return self.get_backoff_time(queued) >= align_to_window(now)

    def add(self, queued: Queued) -> None:
        self.remove(queued.key)
        (self._rejected if queued.rejectors else self._failed).add_or_update(queued.key, queued)

    def update(self, old_key: str, pod: Pod) -> QueuedPod | None:
        """Replace the pod's object; returns ``None`` if it is not here."""
        for heap in (self._rejected, self._failed):
            if isinstance(queued := heap.get(old_key), QueuedPod):
                queued.pod = pod
                heap.add_or_update(old_key, queued)
                return queued
        return None

    def get(self, key: str) -> Queued | None:
        return self._rejected.get(key) or self._failed.get(key)

    def remove(self, key: str) -> Queued | None:
        return self._rejected.remove(key) or self._failed.remove(key)

    @property
    def may_pop_early(self) -> bool:
        return len(self._rejected) > 0

    def pop_early(self) -> Queued | None:
        """Take the rejected pod whose backoff ends first, although it has not ended."""
        return self._rejected.pop()

    def pop_completed(self, now: float) -> list[Queued]:
        """Take out all pods that have waited long enough."""
        completed = []
        for heap in (self._rejected, self._failed):
            while (queued := heap.peek()) is not None and not self.is_backing_off(queued, now):
                heap.pop()
                completed.append(queued)
        return completed

    def next_completion(self) -> float | None:
        """Return when the next pod will have waited long enough; ``None`` if there is none."""
        first = [queued for heap in (self._rejected, self._failed) if (queued := heap.peek()) is not None]
        return min(self.get_backoff_time(queued) + WINDOW for queued in first) if first else None
