"""Kueue's controllers and the jobs' part between cycles, run until nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.conditions import Condition
from kschedweb.engine.queueing.workloads.status_changes import (
    pick_reason,
    release_quota,
    set_check,
    set_finished,
    set_requeued,
    sync_admitted,
)
from kschedweb.engine.queueing.workloads.workload import CHECK_READY, Workload
from kschedweb.engine.queueing.workloads.workload_controller import WorkloadEvents, WorkloadReconciler
from kschedweb.engine.queueing.world import KueueWorld

# How often the controllers look again before a loop is broken off.
_MAX_ROUNDS = 20
# Reasons of evictions after which a workload queues again at once.
_REQUEUED_REASONS = frozenset({"Preempted", "NodeFailures"})


class ControlLoop:
    """Hands changed workloads to Kueue's controllers, and lets evicted ones give their quota back.

    An evicted workload keeps its quota for ``eviction_cycles``, and until ``has_stopped`` says so of it, if given.
    """

    def __init__(
        self, world: KueueWorld, eviction_cycles: int, has_stopped: Callable[[str], bool] | None = None
    ) -> None:
        self._world = world
        self._eviction_cycles = eviction_cycles
        self._has_stopped = has_stopped
        self._events = WorkloadEvents(world)
        self._reconciler = WorkloadReconciler(world)
        # Workloads as the controller's events saw them last.
        self._seen: dict[str, Workload] = {}
        # Workloads that changed since they were reconciled, and those that are reconciled each time: they have a time
        # at which they may be tried again.
        self._unreconciled: set[str] = set()
        self._delayed: set[str] = set()
        # Evicted workloads that still have their quota -> the cycle in which that was seen.
        self._evicting: dict[str, int] = {}

    @property
    def is_evicting(self) -> bool:
        """True while an evicted workload still has its quota."""
        return bool(self._evicting)

    def reconcile_again(self) -> None:
        """Have the controller look at all workloads, changed or not."""
        self._unreconciled = set(self._world.workloads)

    def settle(self, cycle: int) -> None:
        """Let the controllers work until nothing changes."""
        for _ in range(_MAX_ROUNDS):
            changed = self._hand_over()
            for key in sorted({*self._unreconciled, *self._delayed, *self._evicting}):
                self._reconcile(key, cycle)
            if not (self._hand_over() or changed):
                break
        self._world.queues.process_wakes(self._world.namespaces, self._world.now)

    def _reconcile(self, key: str, cycle: int) -> None:
        self._unreconciled.discard(key)
        self._reconciler.reconcile(key)
        current = self._world.workloads.get(key)
        if current is None or not current.is_evicted or not current.has_quota or current.is_finished:
            return
        self._evicting.setdefault(key, cycle)
        is_over = cycle - self._evicting[key] >= self._eviction_cycles
        if is_over and (self._has_stopped is None or self._has_stopped(key)):
            del self._evicting[key]
            self._release(current)

    def _hand_over(self) -> bool:
        """Hand changed workloads to the controller's events; return whether there were any."""
        changed = False
        for workload in self._world.workloads.take_written():
            key, former = workload.key, self._seen.get(workload.key)
            if former is workload:
                continue
            changed = True
            self._seen[key] = workload
            self._unreconciled.add(key)
            (self._delayed.discard if workload.status.requeue_at is None else self._delayed.add)(key)
            if former is None:
                self._events.handle_create(workload)
            else:
                self._events.handle_update(former, workload)
        return changed

    def _release(self, workload: Workload) -> None:
        """Give the quota of an evicted workload back, as its job does once it has stopped."""
        world = self._world
        evicted = workload.find_condition(kinds.EVICTED)
        assert evicted is not None
        is_requeued = evicted.reason in _REQUEUED_REASONS
        reason = pick_reason(world.gates, "PendingEvaluation", "Pending")

        def update(current: Workload) -> Workload:
            requeued = set_requeued(current, evicted.reason, evicted.message, is_requeued, world.now)
            return release_quota(requeued, reason, evicted.message, world.gates, world.now)

        world.patch_admission(workload, update, force=True)
        world.log.released.append(workload.key)

    # The jobs' part

    def make_pods_ready(self) -> None:
        """Make the pods of admitted workloads ready while a cycle waits for them."""
        world = self._world
        for workload in world.list_workloads():
            if not workload.has_quota or workload.is_finished or workload.is_condition_true(kinds.PODS_READY):
                continue
            if workload.is_evicted:
                self._release(workload)
                continue
            self.set_pods_ready(workload)
            world.log.made_ready.append(workload.key)
        self._hand_over()

    def pass_checks(self) -> None:
        """Take the admission checks of workloads with quota as passed."""
        world = self._world
        for workload in world.list_workloads():
            if not workload.status.checks or not workload.has_quota or workload.is_admitted or workload.is_evicted:
                continue
            passed = workload
            for check in workload.status.checks:
                passed = set_check(passed, check.name, CHECK_READY, "", world.now)
            world.patch_admission(workload, partial(self._admit, passed=passed))

    def _admit(self, workload: Workload, *, passed: Workload) -> Workload:
        return sync_admitted(workload.with_status(checks=passed.status.checks), self._world.gates, self._world.now)

    def set_pods_ready(self, workload: Workload) -> None:
        message = "All pods reached readiness and the workload is running"
        condition = Condition(kinds.PODS_READY, True, "Started", message, self._world.now, workload.generation)
        self._world.update_status(workload.with_condition(condition))

    def finish(self, workload: Workload) -> None:
        """End a job with success."""
        world = self._world
        message = "Job finished successfully"
        world.patch_admission(workload, lambda current: set_finished(current, "Succeeded", message, world.now))

    def delete(self, workload: Workload) -> None:
        last_version = self._remove(workload)
        if last_version is not None:
            self._events.handle_delete(last_version)

    def forget(self, workload: Workload) -> None:
        """Take out a workload that has ended, and counts no longer."""
        self._remove(workload)
        self._evicting.pop(workload.key, None)
        self._world.queues.forget_workload(workload.key)

    def _remove(self, workload: Workload) -> Workload | None:
        """Take a workload out; return it as the controller's events saw it last."""
        key = workload.key
        del self._world.workloads[key]
        for keys in (self._unreconciled, self._delayed):
            keys.discard(key)
        return self._seen.pop(key, None)
