"""The order in which a cycle processes what it nominated: by borrowing and age, or by shares."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.queueing.cycle.entries import CycleEntry
from kschedweb.engine.queueing.quota.amounts import Quantities
from kschedweb.engine.queueing.quota.quota_tree import CohortNode
from kschedweb.engine.queueing.quota.shares import DominantShare, compute_share
from kschedweb.engine.queueing.snapshot import ClusterQueueSnapshot
from kschedweb.engine.queueing.workloads.workload import WorkloadOrdering


def order_classically(entries: list[CycleEntry], ordering: WorkloadOrdering) -> list[CycleEntry]:
    """Return ``entries`` in the order of `makeClassicalIterator`; of equals Kueue takes any one first."""
    gates = ordering.gates

    def rank(entry: CycleEntry) -> tuple[bool, bool, int, int, float]:
        workload = entry.info.workload
        return (
            not workload.has_quota,
            "PrioritizePreemptorWorkloads" in gates and not entry.is_preemptor,
            entry.assignment.borrowing,
            -workload.effective_priority(gates) if "PrioritySortingWithinCohort" in gates else 0,
            ordering.queue_timestamp(workload),
        )

    return sorted(entries, key=rank)


class FairTournament:
    """Yields entries by the shares that their queues and cohorts would have with them (`fair_sharing_iterator.go`)."""

    def __init__(self, entries: list[CycleEntry], ordering: WorkloadOrdering) -> None:
        self._ordering = ordering
        self._entries: dict[ClusterQueueSnapshot, CycleEntry] = {entry.queue: entry for entry in entries}
        # By (cohort, workload): the share of the child of that cohort with the workload.
        self._shares: dict[tuple[str, str], DominantShare] = {}
        self._requested: dict[str, Quantities] = {}

    def __iter__(self) -> Iterator[CycleEntry]:
        while self._entries:
            # Which tree is next is left to chance.
            queue, entry = next(iter(self._entries.items()))
            if queue.parent is not None:
                root = queue.parent.root
                self._compute_shares(root)
                winner = self._run(root)
                assert winner is not None
                entry = winner
            del self._entries[entry.queue]
            yield entry

    def _compute_shares(self, root: CohortNode[ClusterQueueSnapshot]) -> None:
        self._shares, self._requested = {}, {}
        for queue in root.subtree_queues():
            entry = self._entries.get(queue)
            if entry is None:
                continue
            usage = entry.compute_usage(self._ordering.gates)
            self._requested[entry.info.key] = usage.quota
            with queue.with_usage(usage):
                share = compute_share(queue)
                for cohort in queue.ancestors():
                    self._shares[cohort.name, entry.info.key] = share
                    share = compute_share(cohort)

    def _run(self, cohort: CohortNode[ClusterQueueSnapshot]) -> CycleEntry | None:
        """Return the best entry below ``cohort`` (`runTournament`)."""
        candidates = [self._run(child) for child in cohort.child_cohorts.values()]
        candidates += [self._entries.get(queue) for queue in cohort.child_queues.values()]
        entries = [candidate for candidate in candidates if candidate is not None]
        return min(entries, key=lambda entry: self._rank(entry, cohort.name)) if entries else None

    def _rank(self, entry: CycleEntry, cohort: str) -> tuple[bool, bool, tuple[bool, float], int, float]:
        gates, workload = self._ordering.gates, entry.info.workload
        share = self._shares[cohort, entry.info.key]
        is_borrowing = "FairSharingPrioritizeNonBorrowing" in gates and share.is_borrowing_any(
            self._requested[entry.info.key]
        )
        return (
            "PrioritizePreemptorWorkloads" in gates and not entry.is_preemptor,
            is_borrowing,
            share.rank,
            -workload.effective_priority(gates) if "PrioritySortingWithinCohort" in gates else 0,
            self._ordering.queue_timestamp(workload),
        )
