"""NodeUnschedulable rejects cordoned nodes, unless the pod tolerates the cordon."""

from __future__ import annotations

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE, POD, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import PASSED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_SCHEDULE, Taint, is_tolerated
from kschedweb.engine.state.columns import Rows

# The taint that stands for a cordon; a toleration of it lets the pod pass.
CORDONED = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)
CORDON = "cordoned"
REJECTED = unresolvable("node(s) were unschedulable", fact=CORDON)


class NodeUnschedulable:
    name = "NodeUnschedulable"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_TAINT), _after_node),
            EventHint(ClusterEvent(POD, Action.POD_TOLERATION), _after_toleration),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PASSED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        if not cycle.snapshot.unschedulable.any() or is_tolerated(CORDONED, cycle.pod.tolerations):
            return Verdicts.uniform(cycle.num_rows(rows))
        return Verdicts.from_mask(cycle.snapshot.unschedulable[rows], REJECTED)


def _after_node(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the node is new and not cordoned, or no longer cordoned."""
    return not change.new.unschedulable and (change.old is None or change.old.unschedulable)


def _after_toleration(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod tolerates the cordon now."""
    return change.new.uid == pod.uid and is_tolerated(CORDONED, change.new.tolerations)


SPEC = PluginSpec(
    "NodeUnschedulable",
    frozenset({"preFilter", "filter"}),
    "Refuses cordoned nodes unless the pod tolerates that.",
    factory=NodeUnschedulable,
    variant=lambda release: {} if release.behaviour.node_plugins_prefilter else {"points": frozenset({"filter"})},
)
