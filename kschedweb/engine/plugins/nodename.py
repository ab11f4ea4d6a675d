"""NodeName rejects every node but the one in the pod's spec.nodeName."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE_ADD, EventHint
from kschedweb.engine.framework.interface import Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Rows

ANOTHER = "another node"
REJECTED = unresolvable("node(s) didn't match the requested node name", fact=ANOTHER)


class NodeName:
    name = "NodeName"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [EventHint(NODE_ADD)]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        node_name = cycle.pod.node_name
        return PreFilterResult(nodes=frozenset({node_name})) if node_name else PreFilterResult()

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        if not cycle.pod.node_name:
            return Verdicts.uniform(cycle.num_rows(rows))
        # All nodes are rejected if the named one does not exist.
        other = np.ones(len(cycle.snapshot), dtype=np.bool_)
        if (row := cycle.snapshot.index.get(cycle.pod.node_name)) is not None:
            other[row] = False
        return Verdicts.from_mask(other[rows], REJECTED)


SPEC = PluginSpec(
    "NodeName",
    frozenset({"preFilter", "filter"}),
    "Refuses every node but the one that the pod names.",
    factory=NodeName,
    variant=lambda release: {} if release.behaviour.node_plugins_prefilter else {"points": frozenset({"filter"})},
)
