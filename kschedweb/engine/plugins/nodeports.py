"""NodePorts rejects nodes where a host port that the pod asks for is in use."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE_ADD, POD, Action, ClusterEvent, EventHint, ObjectChange, has_place
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import error, unschedulable
from kschedweb.engine.objects.pod import Pod, Port, is_same_address, ports_conflict
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot

HOST_PORTS_FACT = "ports"
REJECTED = unschedulable("node(s) didn't have free ports for the requested pod ports", fact=HOST_PORTS_FACT)
MISSING = error('reading "PreFilterNodePorts" from cycleState: not found')


class NodePorts:
    name = "NodePorts"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [EventHint(ClusterEvent(POD, Action.DELETE), _after_deletion), EventHint(NODE_ADD)]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.PODS if pod.host_ports else PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = cycle.pod.host_ports
        return PASSED if cycle.pod.host_ports else SKIPPED

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return bool(pod.host_ports)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        # The profile enables Filter without PreFilter; the original fails there, too.
        if self.name not in cycle.state:
            return Verdicts.uniform(cycle.num_rows(rows), MISSING)
        return Verdicts.from_mask(nodes_with_port_conflict(cycle.snapshot, cycle.state[self.name])[rows], REJECTED)


def nodes_with_port_conflict(snapshot: Snapshot, ports: Iterable[Port]) -> Mask:
    """Return a mask of the nodes where one of ``ports`` is in use. Shape [nodes]."""
    mask: Mask = np.zeros(len(snapshot), dtype=np.bool_)
    for ip, protocol, port in ports:
        for used, counts in snapshot.ports.get((protocol, port), {}).items():
            if is_same_address(ip, used):
                mask |= counts > 0
    return mask


def _after_deletion(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the deleted pod had a port that this pod asks for."""
    return has_place(change.old) and any(
        ports_conflict(mine, theirs) for mine in pod.host_ports for theirs in change.old.host_ports
    )


SPEC = PluginSpec(
    "NodePorts",
    frozenset({"preFilter", "filter"}),
    "Refuses nodes where a host port that the pod wants is taken.",
    factory=NodePorts,
)
