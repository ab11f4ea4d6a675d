"""Entries of a cycle: the workloads that it looks at, and what becomes of them."""

from __future__ import annotations

from kschedweb.engine.queueing.cycle.assignment import Assignment, AssignmentMode
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.preemption.preemption import PreemptionTarget
from kschedweb.engine.queueing.quota.amounts import Quantities, add_amounts, subtract_amounts
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.topology.topology_flavors import compute_topology_usage
from kschedweb.engine.queueing.workloads.workload_info import AssignmentState, Usage, WorkloadInfo

# Statuses of an entry, in Kueue's words.
NOMINATED, SKIPPED, ENTRY_EVICTED, ASSUMED, NOT_NOMINATED = "nominated", "skipped", "evicted", "assumed", ""
# Why a workload goes back to its queue (`RequeueReason`).
GENERIC = ""
FAILED_AFTER_NOMINATION = "FailedAfterNomination"
NAMESPACE_MISMATCH = "NamespaceMismatch"
NO_FIT = "NoFit"
PENDING_PREEMPTION = "PendingPreemption"
PREEMPTION_FAILED = "PreemptionFailed"
PREEMPTION_NO_CANDIDATES = "PreemptionNoCandidates"
SECOND_PASS = "SecondPass"  # noqa: S105  no password


class CycleEntry:
    """A head of a queue in a cycle (`entry`)."""

    def __init__(self, info: WorkloadInfo, queue: ClusterQueueSnapshot | None, *, is_preemptor: bool) -> None:
        self.info = info
        self.is_preemptor = is_preemptor
        self.cluster_queue = info.cluster_queue
        self.message = ""
        self.status = NOT_NOMINATED
        self.requeue_reason = GENERIC
        # The reason of its QuotaReserved condition with UnadmittedWorkloadsObservability.
        self.condition_reason = ""
        self.targets: list[PreemptionTarget] = []
        self._queue = queue
        self._assignment: Assignment | None = None
        # Whether it went back to its queue; None if it was not asked.
        self.is_requeued: bool | None = None

    @property
    def queue(self) -> ClusterQueueSnapshot:
        assert self._queue is not None, "only entries of active queues are nominated"
        return self._queue

    @property
    def assignment(self) -> Assignment:
        assert self._assignment is not None, "only nominated entries have an assignment"
        return self._assignment

    @property
    def has_nomination(self) -> bool:
        """True if flavors were searched for it."""
        return self._assignment is not None

    @property
    def has_assignment(self) -> bool:
        """True if it got as far as the flavor assigner."""
        return self._assignment is not None and bool(self._assignment.pod_sets)

    def record_assignment(self, assignment: Assignment, targets: list[PreemptionTarget]) -> None:
        self._assignment, self.targets = assignment, targets
        self.message = assignment.message
        self.info.last_assignment = assignment.state

    @property
    def last_assignment(self) -> AssignmentState | None:
        return self.info.last_assignment

    def forget_progress(self) -> None:
        """Let the next cycle try every flavor again."""
        self.info.last_assignment = None

    def mark_skipped(self, message: str, gates: FeatureGates) -> None:
        self.status, self.message = SKIPPED, message
        if "FlavorFungibilityPreserveScanProgress" not in gates:
            self.forget_progress()

    def compute_usage(self, gates: FeatureGates) -> Usage:
        """Return what it takes beyond what it has (`netUsage`)."""
        return self._net_usage(self.assignment.quota, gates)

    def compute_reservation(self, gates: FeatureGates) -> Usage:
        """Return what is kept for it while nobody can be evicted for it (`resourcesToReserve`)."""
        return self._net_usage(self._reserve_quota(), gates)

    def _net_usage(self, quota: Quantities, gates: FeatureGates) -> Usage:
        workload = self.info.workload
        usage = Usage({} if workload.has_quota else quota, {})
        if "TopologyAwareScheduling" in gates:
            usage.topology = compute_topology_usage(self.assignment, self.info, self.queue, workload.status.admission)
        return usage

    def _reserve_quota(self) -> Quantities:
        """Return what of its request its queue could use (`quotaResourcesToReserve`)."""
        if self.assignment.mode != AssignmentMode.PREEMPT:
            return self.assignment.quota
        reserved: Quantities = {}
        for resource, amount in self.assignment.quota.items():
            quota, used = self.queue.quota(resource), self.queue.used(resource)
            if self.assignment.borrowing > 0:
                limit = quota.borrowing_limit
                room = amount if limit is None else subtract_amounts(add_amounts(quota.nominal, limit), used)
                reserved[resource] = min(amount, room)
            else:
                reserved[resource] = max(0, min(amount, subtract_amounts(quota.nominal, used)))
        return reserved
