"""NodePorts rejects nodes where a host port that the pod asks for is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.columns import Mask, Rows
from kschedweb.engine.framework.interface import Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import SKIP, error, unschedulable

REJECTED = unschedulable("node(s) didn't have free ports for the requested pod ports")
MISSING = error('reading "PreFilterNodePorts" from cycleState: not found')
ANY = "0.0.0.0"  # noqa: S104


class NodePorts:
    name = "NodePorts"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = cycle.pod.host_ports
        return PreFilterResult() if cycle.pod.host_ports else PreFilterResult(SKIP)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        if self.name not in cycle.state:
            return Verdicts.uniform(cycle.size(rows), MISSING)
        taken: Mask = np.zeros(len(cycle.snapshot), dtype=np.bool_)
        for ip, protocol, port in cycle.state[self.name]:
            for used, counts in cycle.snapshot.ports.get((protocol, port), {}).items():
                if ANY in (ip, used) or ip == used:
                    taken |= counts > 0
        return Verdicts.where(taken[rows], REJECTED)
