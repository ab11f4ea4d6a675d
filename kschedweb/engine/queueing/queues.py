"""Workloads that wait: a heap and those set aside for each ClusterQueue, and what brings these back (`cache/queue`)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kschedweb.engine.objects.labels import Labels, Selector
from kschedweb.engine.queueing.cycle.entries import (
    FAILED_AFTER_NOMINATION,
    NAMESPACE_MISMATCH,
    NO_FIT,
    PENDING_PREEMPTION,
    PREEMPTION_FAILED,
    PREEMPTION_NO_CANDIDATES,
)
from kschedweb.engine.queueing.quota.objects import ClusterQueue, Cohort, LocalQueue
from kschedweb.engine.queueing.quota.quota_tree import QuotaForest, QuotaNode
from kschedweb.engine.queueing.workloads.workload import Workload, WorkloadOrdering
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo

# Reasons with which a workload of BestEffortFIFO is tried again at once.
_IMMEDIATE_REASONS = frozenset({FAILED_AFTER_NOMINATION, PENDING_PREEMPTION, PREEMPTION_FAILED})
_PENDING_EVALUATION = "PendingEvaluation"
_INITIAL_DELAY, _MAX_DELAY = 1, 30


class QueueHead(NamedTuple):
    """A workload that a cycle looks at."""

    info: WorkloadInfo
    is_preemptor: bool


class PreemptorMark(NamedTuple):
    """The workload of a queue for which preemptions are under way."""

    key: str
    generation: int
    # Whether it stays at the head of the queue.
    is_sticky: bool


class PendingQueue(QuotaNode):
    """The workloads that wait in a ClusterQueue."""

    def __init__(self, name: str, ordering: WorkloadOrdering) -> None:
        super().__init__(name)
        self._ordering = ordering
        self.is_strict = False
        self.namespace_selector: Selector | None = None
        self.active: dict[str, WorkloadInfo] = {}
        # What is or was active, by rank; an entry counts while the same object is active.
        self._heap: list[tuple[tuple[int, float, str], int, WorkloadInfo]] = []
        self._pushes = 0
        self.inadmissible: dict[str, WorkloadInfo] = {}
        self.in_flight: WorkloadInfo | None = None
        # Scheduling hash that failed -> reason; what shares it waits untried.
        self.failed_hashes: dict[str, str] = {}
        self.preemptor: PreemptorMark | None = None
        self._pop_cycle = 0
        # The pop before the last time that inadmissible workloads came back.
        self._wake_cycle = -1

    def rank(self, info: WorkloadInfo) -> tuple[bool, int, float, str]:
        """Return the place of a workload (`baseCompareFunc`)."""
        return not self.is_sticky(info), *self._rank_plainly(info)

    def _rank_plainly(self, info: WorkloadInfo) -> tuple[int, float, str]:
        workload = info.workload
        priority = workload.effective_priority(self._ordering.gates)
        return -priority, self._ordering.queue_timestamp(workload), workload.uid

    def is_sticky(self, info: WorkloadInfo) -> bool:
        """Return True if it stays at the head, as preemptions for it are under way."""
        return self.preemptor is not None and self.preemptor.is_sticky and self.preemptor.key == info.key

    def pop(self) -> WorkloadInfo | None:
        """Take out the head."""
        self._pop_cycle += 1
        self.in_flight = None
        head = self._pop_head()
        if head is not None:
            head.last_evaluated_generation = head.workload.generation
            self.in_flight = head
        return self.in_flight

    def _pop_head(self) -> WorkloadInfo | None:
        mark = self.preemptor
        if mark is not None and mark.is_sticky and mark.key in self.active:
            return self.active.pop(mark.key)
        while self._heap:
            _, _, info = heapq.heappop(self._heap)
            if self.active.get(info.key) is info:
                return self.active.pop(info.key)
        return None

    def _activate(self, info: WorkloadInfo) -> None:
        self.active[info.key] = info
        self._pushes += 1
        heapq.heappush(self._heap, (self._rank_plainly(info), self._pushes, info))

    def is_preemptor(self, info: WorkloadInfo) -> bool:
        mark = self.preemptor
        return mark is not None and (mark.key, mark.generation) == (info.key, info.workload.generation)

    def push_if_absent(self, info: WorkloadInfo) -> bool:
        if self._is_in_flight(info.key) or info.key in self.inadmissible or info.key in self.active:
            return False
        self._activate(info)
        return True

    def push_or_update(self, info: WorkloadInfo, now: float) -> None:
        """Take in a workload as it is now (`PushOrUpdate`)."""
        key = info.key
        if self._is_in_flight(key):
            # The cycle puts it back with its newest version.
            return
        former = self.inadmissible.get(key)
        if former is not None:
            if not _may_have_become_admissible(former, info):
                self.inadmissible[key] = info
                return
            del self.inadmissible[key]
        if key not in self.active:
            has_failed = not self.is_strict and info.scheduling_hash in self.failed_hashes
            if not info.workload.is_backoff_over(now) or (info.scheduling_hash and has_failed):
                self.inadmissible[key] = info
                return
        self._activate(info)

    def requeue(self, info: WorkloadInfo, reason: str, condition_reason: str, now: float) -> bool:
        """Put a workload back after a cycle (`RequeueIfNotPresent`); return whether it was not there."""
        key = info.key
        is_immediate = reason != NAMESPACE_MISMATCH if self.is_strict else reason in _IMMEDIATE_REASONS
        if reason == PENDING_PREEMPTION:
            self.preemptor = PreemptorMark(key, info.last_evaluated_generation, not self.is_strict)
        if self._is_in_flight(key):
            self.in_flight = None
        has_pending_flavors = info.last_assignment is not None and info.last_assignment.has_pending_flavors
        is_immediate = is_immediate or self._wake_cycle >= self._pop_cycle or has_pending_flavors
        if is_immediate and info.workload.is_backoff_over(now):
            waiting = self.inadmissible.pop(key, None)
            if waiting is not None:
                if key in self.active:
                    return False
                self._activate(waiting)
                return True
            return self.push_if_absent(info)
        if key in self.inadmissible or key in self.active:
            return False
        self.inadmissible[key] = info
        if info.scheduling_hash and reason in (NO_FIT, PREEMPTION_NO_CANDIDATES) and not self.is_strict:
            self._set_aside_equals(info.scheduling_hash, condition_reason or _PENDING_EVALUATION)
        return True

    def _set_aside_equals(self, scheduling_hash: str, reason: str) -> None:
        """Let all that would fail in the same way wait too (`handleInadmissibleHash`)."""
        self.failed_hashes[scheduling_hash] = reason
        for key, info in list(self.active.items()):
            if info.scheduling_hash == scheduling_hash:
                self.inadmissible[key] = self.active.pop(key)

    def wake(self, namespaces: Mapping[str, Labels], now: float) -> None:
        """Bring back what waits and may be tried (`queueInadmissibleWorkloads`)."""
        self._wake_cycle = self._pop_cycle
        self.failed_hashes = {}
        for key, info in list(self.inadmissible.items()):
            labels = namespaces.get(info.workload.namespace)
            is_selected = (
                labels is not None and self.namespace_selector is not None and self.namespace_selector.matches(labels)
            )
            if is_selected and info.workload.is_backoff_over(now) and key not in self.active:
                self._activate(self.inadmissible.pop(key))

    def delete(self, key: str) -> None:
        self.active.pop(key, None)
        self.inadmissible.pop(key, None)
        if self._is_in_flight(key):
            self.in_flight = None
        if self.preemptor is not None and self.preemptor.key == key:
            self.preemptor = None

    def _is_in_flight(self, key: str) -> bool:
        return self.in_flight is not None and self.in_flight.key == key

    def find_tracked(self, key: str) -> WorkloadInfo | None:
        info = self.active.get(key) or self.inadmissible.get(key)
        return info or (self.in_flight if self._is_in_flight(key) else None)

    def list_pending(self) -> list[WorkloadInfo]:
        """Return all that waits in order, as the visibility API does."""
        pending = [*self.active.values(), *self.inadmissible.values()]
        if self.in_flight is not None:
            pending.append(self.in_flight)
        return sorted(pending, key=self.rank)

    def find_no_fit_reason(self, key: str) -> str | None:
        """Return why an equal of a waiting workload failed."""
        info = self.inadmissible.get(key)
        return self.failed_hashes.get(info.scheduling_hash) if info is not None else None


def _may_have_become_admissible(former: WorkloadInfo, info: WorkloadInfo) -> bool:
    old, new = former.workload, info.workload
    if former.last_evaluated_generation not in (0, new.generation):
        return True
    if _spec(old) != _spec(new) or old.status.reclaimable != new.status.reclaimable:
        return True
    if former.total_requests != info.total_requests:
        return True
    return any(old.find_condition(kind) != new.find_condition(kind) for kind in ("Evicted", "Requeued"))


def _spec(workload: Workload) -> tuple[object, ...]:
    boost = workload.annotations.get("kueue.x-k8s.io/priority-boost")
    return (
        workload.queue_name,
        workload.pod_sets,
        workload.priority,
        workload.priority_class,
        workload.is_active,
        boost,
    )


class LocalQueueItems:
    """A LocalQueue with the workloads that wait in it."""

    def __init__(self, queue: LocalQueue) -> None:
        self.key = queue.key
        self.cluster_queue = queue.cluster_queue
        self.items: dict[str, WorkloadInfo] = {}


class SecondPassQueue:
    """Workloads with quota that are scheduled again, each after a delay that doubles (`second_pass_queue.go`)."""

    def __init__(self) -> None:
        # Key -> (workload, when it is due, iteration).
        self._delayed: list[tuple[float, Workload, int]] = []
        self._prequeued: set[str] = set()
        self._ready: dict[str, WorkloadInfo] = {}

    @property
    def is_waiting(self) -> bool:
        """True if something is due later, or ready."""
        return bool(self._ready or self._delayed)

    def prequeue(self, workload: Workload, iteration: int, now: float) -> bool:
        """Let ``workload`` wait for its delay; return False if it already does."""
        if workload.key in self._prequeued:
            return False
        self._prequeued.add(workload.key)
        delay = min(_INITIAL_DELAY * 2 ** (iteration - 1), _MAX_DELAY)
        self._delayed.append((now + delay, workload, iteration))
        return True

    def advance(self, now: float, create: Callable[[Workload], WorkloadInfo]) -> None:
        """Make ready what is due."""
        due = [entry for entry in self._delayed if entry[0] <= now]
        self._delayed = [entry for entry in self._delayed if entry[0] > now]
        for _, workload, iteration in due:
            if workload.key in self._prequeued and workload.needs_second_pass:
                info = create(workload)
                info.second_pass_iteration = iteration
                self._ready[workload.key] = info
            self._prequeued.discard(workload.key)

    def take_ready(self) -> list[WorkloadInfo]:
        ready = list(self._ready.values())
        self._ready = {}
        return ready

    def delete(self, key: str) -> None:
        self._ready.pop(key, None)
        self._prequeued.discard(key)


class QueueManager:
    """All queues, and which workloads are in which (`queue.Manager`)."""

    def __init__(self, ordering: WorkloadOrdering) -> None:
        self._ordering = ordering
        self._forest: QuotaForest[PendingQueue] = QuotaForest()
        self.local_queues: dict[str, LocalQueueItems] = {}
        self._local_queue_by_workload: dict[str, str] = {}
        self.second_pass = SecondPassQueue()
        # Queues without cohort and root cohorts whose inadmissible workloads come back before the next cycle.
        self._woken_queues: set[str] = set()
        self._woken_cohorts: set[str] = set()

    @property
    def queues(self) -> dict[str, PendingQueue]:
        return self._forest.queues

    # Objects

    def set_cohort(self, cohort: Cohort) -> None:
        node = self._forest.add_cohort(cohort.name)
        self._forest.move_cohort(cohort.name, cohort.parent)
        if not node.has_cycle:
            self._woken_cohorts.add(node.root.name)

    def set_cluster_queue(self, spec: ClusterQueue, former: ClusterQueue | None) -> None:
        if former is None:
            self.queues[spec.name] = PendingQueue(spec.name, self._ordering)
        queue = self.queues[spec.name]
        queue.is_strict, queue.namespace_selector = spec.is_strict, spec.namespace_selector
        self._forest.move_queue(spec.name, spec.cohort)
        if former is None:
            for local_queue in self.local_queues.values():
                if local_queue.cluster_queue == spec.name:
                    _push_items(queue, local_queue)
        if former is None or former != spec:
            self.notify([spec.name])

    def add_local_queue(self, spec: LocalQueue, infos: Iterable[WorkloadInfo], keys: Iterable[str]) -> None:
        """Take in a LocalQueue with the ``infos`` that may wait in it, and the ``keys`` of all its workloads."""
        if spec.key in self.local_queues:
            return
        local_queue = self.local_queues[spec.key] = LocalQueueItems(spec)
        self._local_queue_by_workload.update(dict.fromkeys(keys, spec.key))
        local_queue.items.update((info.key, info) for info in infos)
        queue = self.queues.get(spec.cluster_queue)
        if queue is not None:
            _push_items(queue, local_queue)

    def update_local_queue(self, spec: LocalQueue) -> None:
        local_queue = self.local_queues.get(spec.key)
        if local_queue is None or local_queue.cluster_queue == spec.cluster_queue:
            return
        self._withdraw_items(local_queue)
        local_queue.cluster_queue = spec.cluster_queue
        queue = self.queues.get(spec.cluster_queue)
        if queue is not None:
            _push_items(queue, local_queue)

    def delete_local_queue(self, key: str) -> None:
        local_queue = self.local_queues.pop(key, None)
        if local_queue is not None:
            self._withdraw_items(local_queue)

    def _withdraw_items(self, local_queue: LocalQueueItems) -> None:
        queue = self.queues.get(local_queue.cluster_queue)
        if queue is not None:
            for key in local_queue.items:
                queue.delete(key)

    # Workloads

    def find_cluster_queue(self, workload: Workload) -> tuple[str, bool]:
        """Return the name of the ClusterQueue of ``workload``, and whether it is there."""
        local_queue = self.local_queues.get(workload.queue_key)
        if local_queue is None:
            return "", False
        return local_queue.cluster_queue, local_queue.cluster_queue in self.queues

    def find_no_fit_reason(self, workload: Workload) -> str | None:
        name, is_there = self.find_cluster_queue(workload)
        return self.queues[name].find_no_fit_reason(workload.key) if is_there else None

    def set_workload(self, info: WorkloadInfo, now: float) -> None:
        """Take in a workload, or its newest version (`AddOrUpdateWorkload`)."""
        workload = info.workload
        if not workload.is_admissible(self._ordering.gates):
            return
        if self._local_queue_by_workload.get(workload.key, workload.queue_key) != workload.queue_key:
            self.forget_workload(workload.key)
        local_queue = self.local_queues.get(workload.queue_key)
        if local_queue is None:
            return
        queue = self.queues.get(local_queue.cluster_queue)
        if queue is not None and "FlavorFungibilityPreserveScanProgress" in self._ordering.gates:
            tracked = queue.find_tracked(workload.key)
            progress = tracked.last_assignment if tracked is not None else None
            if progress is not None and progress.matches_shape(info.scheduling_hash):
                info.last_assignment = progress
        self._assign(info, local_queue)
        if queue is not None:
            queue.push_or_update(info, now)

    def requeue_workload(self, info: WorkloadInfo, reason: str, condition_reason: str, now: float) -> bool:
        """Put a workload back after a cycle; return whether it was not there (`RequeueWorkload`)."""
        local_queue = self.local_queues.get(info.workload.queue_key)
        if local_queue is None:
            return False
        self._assign(info, local_queue)
        queue = self.queues.get(local_queue.cluster_queue)
        return queue is not None and queue.requeue(info, reason, condition_reason, now)

    def _assign(self, info: WorkloadInfo, local_queue: LocalQueueItems) -> None:
        self._local_queue_by_workload[info.key] = local_queue.key
        local_queue.items[info.key] = info

    def delete_workload(self, key: str) -> None:
        """Take a workload out of its queue; which queue that is stays known."""
        local_queue = self.local_queues.get(self._local_queue_by_workload.get(key, ""))
        if local_queue is None:
            return
        local_queue.items.pop(key, None)
        queue = self.queues.get(local_queue.cluster_queue)
        if queue is not None:
            queue.delete(key)
        self.second_pass.delete(key)

    def forget_workload(self, key: str) -> None:
        self.delete_workload(key)
        self._local_queue_by_workload.pop(key, None)

    def queue_second_pass(self, workload: Workload, iteration: int, now: float) -> bool:
        """Let ``workload`` wait for another pass if it needs one (`QueueSecondPassIfNeeded`)."""
        if workload.needs_second_pass:
            return self.second_pass.prequeue(workload, iteration + 1, now)
        if iteration > 0:
            self.second_pass.delete(workload.key)
        return False

    # Cycles

    def pop_heads(self, is_active: Callable[[str], bool]) -> list[QueueHead]:
        """Return a head of every active queue, and all that are ready for a second pass."""
        heads = [QueueHead(info, False) for info in self.second_pass.take_ready()]
        for name, queue in sorted(self.queues.items()):
            if not is_active(name):
                continue
            info = queue.pop()
            if info is None:
                continue
            heads.append(QueueHead(info.copy_for_cycle(name), queue.is_preemptor(info)))
            local_queue = self.local_queues.get(self._local_queue_by_workload.get(info.key, ""))
            if local_queue is not None:
                local_queue.items.pop(info.key, None)
        return heads

    # Waking

    def notify(self, names: Iterable[str]) -> None:
        """Have the inadmissible workloads of these queues' trees come back (`NotifyRetryInadmissible`)."""
        for name in names:
            queue = self.queues.get(name)
            if queue is None:
                continue
            if queue.parent is None:
                self._woken_queues.add(name)
            elif not queue.parent.has_cycle:
                self._woken_cohorts.add(queue.parent.root.name)

    def notify_associated(self, key: str) -> None:
        """Have what waits in the tree of a workload's queue come back."""
        local_queue = self.local_queues.get(self._local_queue_by_workload.get(key, ""))
        if local_queue is not None:
            self.notify([local_queue.cluster_queue])

    def process_wakes(self, namespaces: Mapping[str, Labels], now: float) -> None:
        """Bring back what was notified, as Kueue does after a second."""
        woken = [self.queues[name] for name in sorted(self._woken_queues) if name in self.queues]
        for name in sorted(self._woken_cohorts):
            cohort = self._forest.cohorts.get(name)
            if cohort is not None and not cohort.has_cycle:
                woken += cohort.subtree_queues()
        self._woken_queues, self._woken_cohorts = set(), set()
        for queue in woken:
            queue.wake(namespaces, now)


def _push_items(queue: PendingQueue, local_queue: LocalQueueItems) -> None:
    for info in local_queue.items.values():
        queue.push_if_absent(info)
