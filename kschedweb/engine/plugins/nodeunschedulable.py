"""NodeUnschedulable rejects cordoned nodes, unless the pod tolerates the cordon."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.columns import Rows
from kschedweb.engine.framework.interface import Cycle, Verdicts
from kschedweb.engine.framework.status import unresolvable
from kschedweb.engine.objects.taints import NO_SCHEDULE, Taint, tolerated

CORDONED = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)
REJECTED = unresolvable("node(s) were unschedulable")


class NodeUnschedulable:
    name = "NodeUnschedulable"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        if tolerated(CORDONED, cycle.pod.tolerations):
            return Verdicts.uniform(cycle.size(rows))
        return Verdicts.where(cycle.snapshot.unschedulable[rows], REJECTED)
