"""Changes of a Workload's status: reservation, admission, eviction, requeueing, in Kueue's words."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import order_resources
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.conditions import Condition, truncate_condition
from kschedweb.engine.queueing.workloads.workload import (
    CHECK_PENDING,
    CHECK_RETRY,
    CheckState,
    QuotaAdmission,
    Workload,
)
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo

DEACTIVATED = "Deactivated"


def create_condition(workload: Workload, kind: str, is_true: bool, reason: str, message: str, now: float) -> Condition:
    return Condition(kind, is_true, reason, truncate_condition(message), now, workload.generation)


def pick_reason(gates: FeatureGates, fine_reason: str, plain_reason: str) -> str:
    """Return the reason of KEP-10852 if its gate is on (`UnadmittedWorkloadReasonWithFallback`)."""
    return fine_reason if "UnadmittedWorkloadsObservability" in gates else plain_reason


def reserve_quota(workload: Workload, admission: QuotaAdmission, now: float) -> Workload:
    """Return ``workload`` with quota (`SetQuotaReservation`)."""
    workload = workload.with_status(admission=admission)
    reason = "QuotaReserved"
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    workload = workload.with_condition(create_condition(workload, kinds.QUOTA_RESERVED, True, reason, message, now))
    for kind in (kinds.EVICTED, kinds.PREEMPTED):
        former = workload.find_condition(kind)
        if former is not None and former.is_true:
            message = f"Previously: {former.message}"
            workload = workload.with_condition(create_condition(workload, kind, False, reason, message, now))
    return workload


def release_quota(workload: Workload, reason: str, message: str, gates: FeatureGates, now: float) -> Workload:
    """Return ``workload`` without quota (`UnsetQuotaReservationWithCondition`); itself if nothing changes."""
    workload = workload.with_condition(create_condition(workload, kinds.QUOTA_RESERVED, False, reason, message, now))
    if workload.status.admission is not None:
        workload = workload.with_status(admission=None)
    return sync_admitted(workload, gates, now)


def sync_admitted(workload: Workload, gates: FeatureGates, now: float) -> Workload:
    """Return ``workload`` with the Admitted condition that follows from the rest (`SyncAdmittedCondition`)."""
    has_quota, are_ready = workload.has_quota, workload.are_checks_ready
    has_topology = not workload.has_delayed_topology
    is_observed = "UnadmittedWorkloadsObservability" in gates
    if is_observed:
        is_untouched = workload.find_condition(kinds.QUOTA_RESERVED) is None is workload.find_condition(kinds.ADMITTED)
        if is_untouched and "UnadmittedWorkloadsExplicitStatus" not in gates:
            return workload
    elif workload.is_admitted == (has_quota and are_ready and has_topology):
        return workload
    if not has_quota:
        reason, message = "NoReservation", "The workload has no reservation"
        if not are_ready and not is_observed:
            reason, message = "NoReservationUnsatisfiedChecks", f"{message} and not all checks ready"
    elif not are_ready:
        reason = pick_reason(gates, "UnsatisfiedAdmissionChecks", "UnsatisfiedChecks")
        message = "The workload has not all checks ready"
    elif not has_topology:
        reason, message = "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
    else:
        reason, message = "Admitted", "The workload is admitted"
    return workload.with_condition(
        create_condition(workload, kinds.ADMITTED, reason == "Admitted", reason, message, now)
    )


def set_requeued(workload: Workload, reason: str, message: str, is_requeued: bool, now: float) -> Workload:
    return workload.with_condition(create_condition(workload, kinds.REQUEUED, is_requeued, reason, message, now))


def set_preempted(workload: Workload, reason: str, message: str, now: float) -> Workload:
    return workload.with_condition(Condition(kinds.PREEMPTED, True, reason, truncate_condition(message), now))


def set_deactivation_target(workload: Workload, reason: str, message: str, now: float) -> Workload:
    return workload.with_condition(
        Condition(kinds.DEACTIVATION_TARGET, True, reason, message, now, workload.generation)
    )


def set_finished(workload: Workload, reason: str, message: str, now: float) -> Workload:
    return workload.with_condition(create_condition(workload, kinds.FINISHED, True, reason, message, now))


def mark_evicted(workload: Workload, reason: str, message: str, now: float) -> Workload:
    """Return ``workload`` as its eviction leaves it (`prepareForEviction`)."""
    workload = workload.with_condition(create_condition(workload, kinds.EVICTED, True, reason, message, now))
    checks = tuple(_reset_check(check, now) for check in workload.status.checks)
    return workload.with_status(checks=checks, unhealthy_nodes=())


def _reset_check(check: CheckState, now: float) -> CheckState:
    if check.state == CHECK_PENDING:
        return check
    message = f"Reset to Pending after eviction. Previously: {check.state}"
    return CheckState(check.name, CHECK_PENDING, message, now, check.retry_after)


def set_check(workload: Workload, name: str, state: str, message: str, now: float) -> Workload:
    """Return ``workload`` with the state of a check (`SetAdmissionCheckState`)."""
    checks = list(workload.status.checks)
    for position, check in enumerate(checks):
        if check.name == name:
            since = check.since if check.state == state else now
            checks[position] = CheckState(name, state, message, since)
            break
    else:
        checks.append(CheckState(name, state, message, now))
    return workload.with_status(checks=tuple(checks))


def list_required_checks(checks: dict[str, frozenset[str]], admission: QuotaAdmission) -> set[str]:
    """Return the checks that are for the flavors of ``admission``."""
    return {name for name, flavors in checks.items() if flavors & admission.flavors}


def propagate_requests(workload: Workload, info: WorkloadInfo) -> Workload:
    """Return ``workload`` with what it requests in its status (`PropagateResourceRequests`)."""
    requests = tuple((total.name, order_resources(total.requests)) for total in info.total_requests)
    if workload.status.resource_requests == requests:
        return workload
    return workload.with_status(resource_requests=requests)


def find_retry_time(workload: Workload) -> float:
    """Return until when the checks want to wait (`GetMaxRetryTime`); 0 if they do not."""
    return max(
        (
            check.since + check.retry_after
            for check in workload.status.checks
            if check.state == CHECK_RETRY and check.retry_after is not None and check.since
        ),
        default=0.0,
    )


def keep_managed(workload: Workload) -> Workload:
    """Return ``workload`` as Kueue's admission manager writes it: conditions of others go (`admissionStatusPatch`)."""
    status = workload.status
    has_requeue_state = status.requeue_at is not None or status.requeue_count is not None
    return replace(
        workload,
        status=replace(
            status,
            conditions=tuple(item for item in status.conditions if item.type in kinds.MANAGED_TYPES),
            has_requeue_state=has_requeue_state,
            resource_requests=() if status.admission is not None else status.resource_requests,
        ),
    )
