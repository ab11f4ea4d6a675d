"""DeferredPodScheduling keeps a running pod, whose resize waits for room, on its own node."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import SUCCESS, Status, unresolvable
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Rows

NAME = "DeferredPodScheduling"
ELSEWHERE = unresolvable("pod assigned to different node")
DISABLED = unresolvable("node had resize preemption disabled")
FITS = unresolvable("pod resize fits, waiting for Kubelet actuation")


class DeferredPodScheduling:
    name = NAME

    def __init__(self, args: PluginArgs) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_PREEMPTION_POLICY), _after_node)]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PASSED if cycle.pod.resize_deferred else SKIPPED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        pod, snapshot = cycle.pod, cycle.snapshot
        if not pod.resize_deferred:
            return Verdicts.uniform(cycle.num_rows(rows))
        # A node other than the pod's own is rejected for that reason first, so its code overwrites this one.
        codes = np.array([2 if node.refuses_resizes else 0 for node in snapshot.nodes], dtype=np.int32)
        if pod.node_name:
            assigned = np.arange(len(snapshot)) == snapshot.index.get(pod.node_name, -1)
            codes = np.where(assigned, codes, 1).astype(np.int32)
        return Verdicts(codes[rows], (SUCCESS, ELSEWHERE, DISABLED))

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        """Reject a deferred pod that fits now: the kubelet resizes it, and nothing has to be bound."""
        return (FITS if cycle.pod.resize_deferred else SUCCESS), 0.0


def _after_node(pod: Pod, change: ObjectChange) -> bool:
    """Queue if pods may now be evicted from the pod's own node for a resize."""
    old: Node | None = change.old
    new: Node = change.new
    if not pod.resize_deferred or pod.node_name != new.name or new.refuses_resizes:
        return False
    return old is None or old.refuses_resizes


SPEC = PluginSpec(
    NAME,
    frozenset({"preFilter", "filter", "permit"}),
    "Keeps a running pod whose resize waits for room to its own node.",
    gate="InPlacePodVerticalScalingSchedulerPreemption",
    variant=lambda release: {"factory": DeferredPodScheduling if release.has_resize_preemption else None},
)
