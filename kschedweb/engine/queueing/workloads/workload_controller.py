"""Kueue's workload controller: it keeps cache and queues up to date, and writes conditions."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.queueing.cycle.cycle import explain_inadmissible
from kschedweb.engine.queueing.quota.objects import HOLD_AND_DRAIN, STOP_NONE, ClusterQueue, LocalQueue
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.status_changes import (
    DEACTIVATED,
    create_condition,
    find_retry_time,
    list_required_checks,
    pick_reason,
    release_quota,
    set_deactivation_target,
    set_requeued,
    sync_admitted,
)
from kschedweb.engine.queueing.workloads.workload import (
    CHECK_PENDING,
    CHECK_REJECTED,
    CHECK_RETRY,
    GATED_BY_ANNOTATION,
    IS_ADMITTED,
    IS_FINISHED,
    PENDING,
    POD_PRIORITY_CLASS,
    RESERVED,
    WORKLOAD_PRIORITY_CLASS,
    CheckState,
    Workload,
)
from kschedweb.engine.queueing.world import KueueWorld

ADMISSION_GATED = "AdmissionGated"
INADMISSIBLE = "Inadmissible"
_PENDING_EVALUATION = "PendingEvaluation"
_BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
# Reasons that the scheduler wrote, which stay until its next cycle (`schedulerSetReasons`).
_SCHEDULER_REASONS = frozenset({
    "WaitingForQuota",
    "NoMatchingFlavor",
    "ExceedsMaxQuota",
    "TopologyPlacementFailed",
    "WaitingForPreemptedWorkloads",
    "WaitingForPodsReady",
    _PENDING_EVALUATION,
})  # fmt: skip
# Reasons under which an equal that failed is looked for (`shouldCheckEquivalenceHash`).
_UNDECIDED_REASONS = frozenset({"", DEACTIVATED, _PENDING_EVALUATION, "Suspended", "Pending"})


class WorkloadEvents:
    """Takes changed workloads into caches and queues."""

    def __init__(self, world: KueueWorld) -> None:
        self._world = world

    def handle_create(self, workload: Workload) -> None:
        world = self._world
        if workload.state == IS_FINISHED:
            return
        info = world.create_info(workload)
        if workload.is_admissible(world.gates):
            self._queue(workload)
            return
        world.cache.set_workload(info)
        world.queues.queue_second_pass(info.workload, 0, world.now)

    def handle_delete(self, workload: Workload) -> None:
        world = self._world
        world.expected_evictions.discard(workload.key)
        world.cache.delete_workload(workload.key)
        world.queues.notify_associated(workload.key)
        world.queues.forget_workload(workload.key)

    def handle_update(self, old: Workload, new: Workload) -> None:
        world = self._world
        former, state = old.state, new.state
        info = world.create_info(new)
        if state == IS_FINISHED or not new.is_active:
            world.queues.delete_workload(new.key)
            world.cache.delete_workload(new.key)
            world.queues.notify_associated(new.key)
        elif former == PENDING and state == PENDING:
            if new.is_on_hold:
                world.queues.delete_workload(new.key)
            else:
                self._queue(new)
        elif former == PENDING and state in (RESERVED, IS_ADMITTED):
            world.queues.delete_workload(new.key)
            world.cache.set_workload(info)
        elif former in (RESERVED, IS_ADMITTED) and state == PENDING:
            world.cache.delete_workload(new.key)
            # Kueue compares the end of a back-off with the real time, which is past here.
            if not new.is_on_hold:
                self._queue(new)
                world.queues.second_pass.delete(new.key)
            if not new.needs_second_pass:
                world.queues.second_pass.delete(new.key)
            world.queues.notify_associated(new.key)
        elif self._frees_quota(old, new):
            world.cache.set_workload(info)
            world.queues.notify_associated(new.key)
        else:
            world.cache.set_workload(info)
        world.queues.queue_second_pass(info.workload, 0, world.now)

    def _queue(self, workload: Workload) -> None:
        world = self._world
        world.queues.set_workload(world.create_info(workload), world.now)
        if world.queues.find_cluster_queue(workload)[1] and workload.is_admissible(world.gates):
            world.expected_evictions.discard(workload.key)

    def _frees_quota(self, old: Workload, new: Workload) -> bool:
        """Return True if an admitted workload needs less, or its priority changed."""
        are_admitted = old.state == IS_ADMITTED and new.state == IS_ADMITTED
        if are_admitted and old.status.reclaimable != new.status.reclaimable:
            return True
        if old.priority_class is not None and old.priority_class[:2] == POD_PRIORITY_CLASS:
            return False
        if new.priority_class is None or new.priority_class[:2] != WORKLOAD_PRIORITY_CLASS:
            return False
        gates = self._world.gates
        if new.priority_class_name and old.priority_class_name != new.priority_class_name:
            return True
        return old.effective_priority(gates) != new.effective_priority(gates)


class WorkloadReconciler:
    """Brings the conditions of a workload in line with the rest (`WorkloadReconciler.Reconcile`)."""

    def __init__(self, world: KueueWorld) -> None:
        self._world = world
        self._gates = world.gates

    def reconcile(self, key: str) -> None:
        world = self._world
        workload = world.workloads.get(key)
        if workload is None or workload.is_finished or self._delay_retry(workload):
            return
        if workload.is_active:
            if self._reconcile_active(workload):
                return
        elif self._reconcile_inactive(workload):
            return
        self._reconcile_queued(workload)

    def _delay_retry(self, workload: Workload) -> bool:
        """Write until when the checks want to wait; return True if that changed (`NeedsRequeueAtUpdate`)."""
        retry_time, requeue_at = find_retry_time(workload), workload.status.requeue_at
        if retry_time <= self._world.now or (requeue_at is not None and requeue_at >= retry_time):
            return False
        self._world.patch_admission(
            workload, lambda current: current.with_status(has_requeue_state=True, requeue_at=retry_time)
        )
        return True

    def _reconcile_active(self, workload: Workload) -> bool:
        """End back-offs, and follow a deactivation; return True if that is all for now."""
        world = self._world
        if workload.is_condition_true(kinds.DEACTIVATION_TARGET):
            world.workloads[workload.key] = replace(workload, is_active=False)
            return True
        requeue_at = workload.status.requeue_at
        if requeue_at is not None:
            if requeue_at > world.now:
                return True
            if workload.state == PENDING:
                workload = world.patch_admission(workload, lambda current: current.with_status(requeue_at=None))
                if workload.is_admissible(self._gates):
                    # Without its resources adjusted, as Kueue does here.
                    world.queues.set_workload(world.factory.create(workload), world.now)
                return True
        return self._finish_backoff(workload)

    def _finish_backoff(self, workload: Workload) -> bool:
        world = self._world
        condition = workload.find_condition(kinds.REQUEUED)
        if condition is None or condition.is_true:
            return False
        if condition.reason == DEACTIVATED:
            reason, message = "Reactivated", "The workload was reactivated"
        elif condition.reason in ("PodsReadyTimeout", "AdmissionCheck"):
            reason, message = "BackoffFinished", "The workload backoff was finished"
        else:
            return False

        def update(current: Workload) -> Workload:
            if condition.reason != DEACTIVATED:
                current = current.with_status(requeue_at=None)
            return set_requeued(current, reason, message, True, world.now)

        world.patch_admission(workload, update)
        return True

    def _reconcile_inactive(self, workload: Workload) -> bool:
        """Evict a deactivated workload; return True if something was written."""
        target = workload.find_condition(kinds.DEACTIVATION_TARGET)
        if workload.is_evicted and not workload.status.has_requeue_state:
            return False

        def prepare(current: Workload) -> Workload:
            conditions = kinds.remove_condition(current.status.conditions, kinds.DEACTIVATION_TARGET)
            return current.with_status(
                conditions=conditions, has_requeue_state=False, requeue_at=None, requeue_count=None
            )

        if workload.is_evicted:
            self._world.update_status(prepare(workload))
            return True
        message, cause = "The workload is deactivated", ""
        if target is not None:
            message, cause = f"{message} due to {target.message}", target.reason
        self._world.evict(workload, DEACTIVATED, message, cause, prepare)
        return True

    def _reconcile_queued(self, workload: Workload) -> None:
        world = self._world
        local_queue = world.local_queues.get(workload.queue_key)
        if local_queue is not None and local_queue.is_running and self._restart(workload, "LocalQueue"):
            return
        if self._sync_admission_gate(workload):
            return
        name, is_there = world.queues.find_cluster_queue(workload)
        cluster_queue = world.cluster_queues.get(name) if is_there else None
        if cluster_queue is not None:
            if cluster_queue.stop_policy == STOP_NONE and self._restart(workload, "ClusterQueue"):
                return
            if self._sync_checks(workload, cluster_queue):
                return
        if not workload.is_admitted:
            workload = self._sync_conditions(workload, local_queue, cluster_queue)
        if workload.has_quota:
            self._reconcile_reserved(workload, local_queue, name)

    def _restart(self, workload: Workload, kind: str) -> bool:
        """Let a workload queue again whose queue runs again; return True if it did not."""
        condition = workload.find_condition(kinds.REQUEUED)
        if condition is None or condition.is_true or condition.reason != f"{kind}Stopped":
            return False
        message = f"The {kind} was restarted after being stopped"
        self._world.patch_admission(
            workload, lambda current: set_requeued(current, f"{kind}Restarted", message, True, self._world.now)
        )
        return True

    def _sync_admission_gate(self, workload: Workload) -> bool:
        """Write that admission is gated, or no longer; return True if it was written."""
        if "AdmissionGatedBy" not in self._gates:
            return False
        condition = workload.find_condition(kinds.QUOTA_RESERVED)
        is_marked = condition is not None and condition.reason == ADMISSION_GATED
        is_gated = workload.is_gated(self._gates)
        if is_gated == is_marked:
            return False
        if is_gated:
            holder = workload.annotations[GATED_BY_ANNOTATION]
            self._release(workload, ADMISSION_GATED, f"Admission is gated by: {holder}")
            self._world.record_event(workload, ADMISSION_GATED, f"Workload admission is gated by: {holder}")
        else:
            reason = pick_reason(self._gates, _PENDING_EVALUATION, PENDING.capitalize())
            self._release(workload, reason, "AdmissionGatedBy cleared, waiting for quota reservation")
            self._world.record_event(
                workload, "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"
            )
        return True

    def _release(self, workload: Workload, reason: str, message: str) -> None:
        now = self._world.now
        self._world.patch_admission(workload, lambda current: release_quota(current, reason, message, self._gates, now))

    def _sync_checks(self, workload: Workload, cluster_queue: ClusterQueue) -> bool:
        """Bring the checks in line with the queue's; return True if they changed (`syncAdmissionCheckConditions`)."""
        admission = workload.status.admission
        if admission is not None:
            names = list_required_checks(cluster_queue.checks, admission)
        else:
            names = {name for name, flavors in cluster_queue.checks.items() if flavors >= cluster_queue.flavors}
        present = {check.name for check in workload.status.checks}
        if names == present:
            return False
        checks = [check for check in workload.status.checks if check.name in names]
        checks += [CheckState(name, CHECK_PENDING, since=self._world.now) for name in names - present]
        ordered = tuple(sorted(checks, key=lambda check: check.name))
        self._world.update_status(workload.with_status(checks=ordered))
        return True

    def _sync_conditions(
        self, workload: Workload, local_queue: LocalQueue | None, cluster_queue: ClusterQueue | None
    ) -> Workload:
        """Write why a workload is not queued, or that it is admitted."""
        world = self._world

        def update(current: Workload) -> Workload:
            if not current.has_quota:
                reason, message = self._explain_waiting(current, local_queue, cluster_queue)
                if reason:
                    current = current.with_condition(
                        create_condition(current, kinds.QUOTA_RESERVED, False, reason, message, world.now)
                    )
            return sync_admitted(current, self._gates, world.now)

        stored = world.patch_admission(workload, update)
        if stored.is_admitted and stored.status.admission is not None:
            reserved = stored.find_condition(kinds.QUOTA_RESERVED)
            waited = world.now - (reserved.since if reserved is not None else world.now)
            name = stored.status.admission.cluster_queue
            message = f"Admitted by ClusterQueue {name}, wait time since reservation was {waited:.0f}s"
            world.record_event(stored, "Admitted", message)
        return stored

    def _explain_waiting(
        self, workload: Workload, local_queue: LocalQueue | None, cluster_queue: ClusterQueue | None
    ) -> tuple[str, str]:
        """Return (reason, message) of the QuotaReserved condition that the controller writes, ("", "") for none."""
        reason, message = self._find_blocker(workload, local_queue, cluster_queue)
        if "UnadmittedWorkloadsObservability" not in self._gates:
            return (INADMISSIBLE, message) if message else ("", "")
        condition = workload.find_condition(kinds.QUOTA_RESERVED)
        if not workload.is_active:
            return DEACTIVATED, "The workload is deactivated"
        if workload.is_on_hold and condition is not None:
            return condition.reason, condition.message
        if not reason and cluster_queue is not None:
            message = explain_inadmissible(self._world, workload, cluster_queue.namespace_selector)
            reason = "Misconfigured" if message else ""
        if reason:
            return reason, message
        if workload.is_gated(self._gates):
            return ADMISSION_GATED, f"Admission is gated by: {workload.annotations[GATED_BY_ANNOTATION]}"
        return self._explain_evaluation(workload)

    def _explain_evaluation(self, workload: Workload) -> tuple[str, str]:
        """Return what is said of a workload that waits for the scheduler."""
        condition = workload.find_condition(kinds.QUOTA_RESERVED)
        is_explicit = "UnadmittedWorkloadsExplicitStatus" in self._gates
        is_undecided = is_explicit if condition is None else condition.reason in _UNDECIDED_REASONS
        if "SchedulingEquivalenceHashing" in self._gates and is_undecided:
            reason = self._world.queues.find_no_fit_reason(workload)
            if reason is not None:
                return reason, _BYPASSED
        if condition is not None and condition.reason in _SCHEDULER_REASONS:
            return condition.reason, condition.message
        if condition is None and not is_explicit:
            return "", ""
        return _PENDING_EVALUATION, "Workload is pending evaluation in the scheduling queue"

    def _find_blocker(
        self, workload: Workload, local_queue: LocalQueue | None, cluster_queue: ClusterQueue | None
    ) -> tuple[str, str]:
        """Return (reason, message) of what keeps a workload from being queued (`getQueueBlocker`)."""
        if local_queue is None:
            return "Misconfigured", f"LocalQueue {workload.queue_name} doesn't exist"
        if not local_queue.is_running:
            return "Suspended", f"LocalQueue {workload.queue_name} is inactive"
        if cluster_queue is None:
            name, _ = self._world.queues.find_cluster_queue(workload)
            return "Misconfigured", f"ClusterQueue {name} doesn't exist"
        if not self._world.cache.is_queue_active(cluster_queue.name):
            return "Suspended", f"ClusterQueue {cluster_queue.name} is inactive"
        return "", ""

    # With quota

    def _reconcile_reserved(self, workload: Workload, local_queue: LocalQueue | None, queue_name: str) -> None:
        """Evict a workload, or take its reservation, because of its checks or queues."""
        if self._evict_by_checks(workload):
            return
        stop_policy = local_queue.stop_policy if local_queue is not None else STOP_NONE
        if self._apply_stop(workload, "LocalQueue", workload.queue_name, local_queue is not None, stop_policy):
            return
        cluster_queue = self._world.cluster_queues.get(queue_name)
        stop_policy = cluster_queue.stop_policy if cluster_queue is not None else STOP_NONE
        self._apply_stop(workload, "ClusterQueue", queue_name, cluster_queue is not None, stop_policy)

    def _evict_by_checks(self, workload: Workload) -> bool:
        """Follow checks that failed; return True if one did (`reconcileCheckBasedEviction`)."""
        world = self._world
        if workload.is_evicted:
            return False
        if workload.has_check_in(CHECK_REJECTED):
            message = _describe_checks(workload, CHECK_REJECTED)
            world.patch_admission(
                workload, lambda current: set_deactivation_target(current, "AdmissionCheck", message, world.now)
            )
            event = kinds.truncate_event(f"Deactivated due to {message}")
            world.record_event(workload, "AdmissionCheckRejected", event)
            return True
        if workload.has_check_in(CHECK_RETRY):
            world.evict(workload, "AdmissionCheck", f"Evicted due to {_describe_checks(workload, CHECK_RETRY)}")
            return True
        return False

    def _apply_stop(self, workload: Workload, kind: str, name: str, is_there: bool, stop_policy: str) -> bool:
        """Follow a queue that is stopped or missing; return True if it is."""
        if workload.is_admitted:
            if stop_policy != HOLD_AND_DRAIN or workload.is_evicted:
                return False
            self._world.evict(workload, f"{kind}Stopped", f"The {kind} is stopped")
            return True
        if not is_there:
            reason, message = "Misconfigured", f"{kind} {name} is terminating or missing"
        elif stop_policy != STOP_NONE:
            reason, message = "Suspended", f"{kind} {name} is stopped"
        else:
            return False
        self._release(workload, pick_reason(self._gates, reason, INADMISSIBLE), message)
        return True


def _describe_checks(workload: Workload, state: str) -> str:
    """Return the checks in ``state`` as `buildAdmissionChecksMessage` does."""
    checks = sorted((check for check in workload.status.checks if check.state == state), key=lambda check: check.name)
    parts = [f'"{check.name}" ({check.message})' if check.message else f'"{check.name}"' for check in checks]
    noun = "AdmissionChecks" if len(checks) > 1 else "AdmissionCheck"
    return f"{noun} in {state} state: {'; '.join(parts)}"
