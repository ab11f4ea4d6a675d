"""Victims of a workload's assignment, and the outcome of preempting for one resource."""

from __future__ import annotations

from kschedweb.engine.queueing.cycle.assignment import Assignment, PreemptionMode
from kschedweb.engine.queueing.preemption.classical_preemption import find_classical_targets
from kschedweb.engine.queueing.preemption.fair_preemption import find_fair_targets
from kschedweb.engine.queueing.preemption.preemption import PreemptionContext, PreemptionTarget
from kschedweb.engine.queueing.preemption.preemption_journal import PreemptionJournal
from kschedweb.engine.queueing.quota.amounts import FlavorResource, Quantities, add_amounts
from kschedweb.engine.queueing.quota.quota_tree import find_lowest_fit
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot, QueueingSnapshot
from kschedweb.engine.queueing.topology.topology_flavors import list_placement_requests
from kschedweb.engine.queueing.workloads.workload import WorkloadOrdering
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo


class Preemptor:
    """Finds victims in a snapshot."""

    def __init__(
        self, snapshot: QueueingSnapshot, ordering: WorkloadOrdering, now: float, strategies: tuple[str, ...] | None
    ) -> None:
        self._snapshot = snapshot
        self._ordering = ordering
        self._now = now
        # The strategies of fair sharing; None without it.
        self._strategies = strategies

    def find_targets(
        self, info: WorkloadInfo, assignment: Assignment, journal: PreemptionJournal | None = None
    ) -> list[PreemptionTarget]:
        """Return who has to go for ``assignment`` (`GetTargets`)."""
        return self._find(self.create_context(info, assignment, assignment.flavors_in_need, journal))

    def create_context(
        self,
        info: WorkloadInfo,
        assignment: Assignment,
        needed: frozenset[FlavorResource],
        journal: PreemptionJournal | None = None,
    ) -> PreemptionContext:
        """Return what a search for ``needed`` knows."""
        queue = self._snapshot.queues[info.cluster_queue]
        placements = {}
        if "TopologyAwareScheduling" in self._snapshot.gates:
            placements = list_placement_requests(assignment, info, queue)
        return PreemptionContext(
            info,
            queue,
            self._snapshot,
            self._ordering,
            self._now,
            needed,
            sum_assigned_requests(assignment, info),
            placements,
            info.usage.topology,
            journal,
        )

    def simulate_preemption(
        self, queue: ClusterQueueSnapshot, info: WorkloadInfo, resource: FlavorResource, amount: int
    ) -> tuple[PreemptionMode, int]:
        """Return whom preempting for ``resource`` hits, and the borrow level then (`SimulatePreemption`)."""
        context = PreemptionContext(
            info, queue, self._snapshot, self._ordering, self._now, frozenset({resource}), {resource: amount}
        )
        targets = self._find(context)
        if not targets:
            return PreemptionMode.NO_CANDIDATES, find_lowest_fit(queue, resource, amount)[0]
        with self._snapshot.without_usage_of(target.info for target in targets):
            borrow, _ = find_lowest_fit(queue, resource, amount)
        hits_own = any(target.info.cluster_queue == queue.name for target in targets)
        return PreemptionMode.PREEMPT if hits_own else PreemptionMode.RECLAIM, borrow

    def _find(self, context: PreemptionContext) -> list[PreemptionTarget]:
        if self._strategies is None:
            return find_classical_targets(context)
        return find_fair_targets(context, self._strategies)


def sum_assigned_requests(assignment: Assignment, info: WorkloadInfo) -> Quantities:
    """Return what the assigned pods request in all (`TotalRequestsFor`)."""
    quantities: Quantities = {}
    for total, assigned in zip(info.total_requests, assignment.pod_sets, strict=False):
        for resource, amount in total.scale_to(assigned.count).requests.items():
            choice = assigned.choices.get(resource)
            # A request of nothing may have no flavor, and one that the queue does not declare is not counted.
            if amount and choice is not None:
                key = FlavorResource(choice.flavor, resource)
                quantities[key] = add_amounts(quantities.get(key, 0), amount)
    return quantities
