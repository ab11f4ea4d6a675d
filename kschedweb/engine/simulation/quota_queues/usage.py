"""The quota that ClusterQueues have and use, measured when it changes."""

from __future__ import annotations

from kschedweb.engine.queueing.quota.amounts import UNLIMITED
from kschedweb.engine.queueing.world import KueueWorld
from kschedweb.engine.simulation.quota_queues.reports import QuotaLine, QuotaReport


class QuotaMeter:
    """Measures the use of quota."""

    def __init__(self, world: KueueWorld) -> None:
        self._world = world
        self._former: QuotaReport | None = None

    def measure(self) -> QuotaReport | None:
        """Return quotas and their use; None if they are as they were the last time."""
        report = self._build()
        if report == self._former:
            return None
        self._former = report
        return report

    def _build(self) -> QuotaReport:
        lines, used = [], []
        for name, queue in sorted(self._world.cache.queues.items()):
            cohort = "" if queue.parent is None else queue.parent.name
            for key in sorted({*queue.quotas, *(key for key, amount in queue.usage.items() if amount)}):
                nominal = queue.quota(key).nominal
                lendable = 0 if queue.parent is None else max(0, min(nominal, UNLIMITED) - queue.local_quota(key))
                lines.append(QuotaLine(name, cohort, key, nominal, lendable))
                used.append(queue.used(key))
        return QuotaReport(tuple(lines), tuple(used))
