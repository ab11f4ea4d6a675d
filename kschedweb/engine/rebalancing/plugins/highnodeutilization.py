"""HighNodeUtilization evicts the pods of nodes that are used little, as long as the others have room."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import Field, ListOf, text
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import INT, Args, args_struct
from kschedweb.engine.rebalancing.handle import BALANCE, Handle, PluginSpec
from kschedweb.engine.rebalancing.plugins.nodeutilization import (
    NAMESPACES_GO,
    THRESHOLDS_FIELD,
    Moves,
    NodeUse,
    Percentages,
    Requested,
    Use,
    by_use,
    capped,
    include_faults,
    room_left,
    rounded_names,
    threshold_faults,
)
from kschedweb.engine.rebalancing.pods import PodView

NAME = "HighNodeUtilization"
ONLY_THRESHOLDS = "OnlyThresholdingResources"
ARGS = args_struct(
    "nodeutilization.HighNodeUtilizationArgs",
    "When a node is used little.",
    THRESHOLDS_FIELD,
    Field("numberOfNodes", INT, "Nothing is done unless more nodes than this are underutilized."),
    Field("evictionModes", ListOf(text("nodeutilization.EvictionMode")), f"{ONLY_THRESHOLDS}, or nothing."),
    NAMESPACES_GO,
)


def faults(args: Args) -> list[str]:
    """The first fault: this plugin says no more."""
    modes = [f"invalid eviction mode {one}" for one in args["evictionModes"] or () if one != ONLY_THRESHOLDS]
    return (include_faults(args) or threshold_faults(args["thresholds"]) or modes)[:1]


class HighNodeUtilization:
    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        self._low: Percentages = args["thresholds"]
        self._names = rounded_names(self._low)

    def run(self, nodes: Sequence[Node]) -> None:
        source = Requested(self._names)
        under, others = self._classes(Use.read(self._handle, nodes, source))
        if said := self._idle(len(under), len(others), len(nodes)):
            self._handle.note(NAME, said)
            return
        by_use(under, ascending=True)
        moves = Moves(
            handle=self._handle,
            plugin=NAME,
            removable=self._removable,
            excluded=frozenset((self._args["evictableNamespaces"] or {}).get("exclude") or ()),
            source=source,
            goes_on=lambda one, available: room_left(available),
        )
        moves.run(under, others, self._names)

    def _classes(self, use: Use) -> tuple[list[NodeUse], list[NodeUse]]:
        under: list[NodeUse] = []
        others: list[NodeUse] = []
        full = dict.fromkeys(self._low, 100.0)
        for name in self._handle.walked(use.nodes):
            node, percentages = use.nodes[name], use.percentages[name]
            little = all(percentages.get(key, 0.0) <= self._low[key] for key in self._low)
            if not little and node.unschedulable:
                continue
            self._handle.tell(NAME, use.told(name, "underutilized" if little else "overutilized"))
            found = NodeUse(node, use.amounts[name], capped(node, full, self._names), use.pods[name])
            (under if little else others).append(found)
        return under, others

    def _idle(self, under: int, others: int, nodes: int) -> str:
        """Why there is nothing to do; "" where there is."""
        if not under:
            return "No node is underutilized, nothing to do here, you might tune your thresholds further"
        if under <= self._args["numberOfNodes"]:
            return "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here"
        if under == nodes:
            return "All nodes are underutilized, nothing to do here"
        return "" if others else "No node is available to schedule the pods, nothing to do here"

    def _removable(self, pod: PodView) -> bool:
        if not self._handle.may_go(pod):
            return False
        return ONLY_THRESHOLDS not in (self._args["evictionModes"] or ()) or not pod.asked.names.isdisjoint(self._low)


SPEC = PluginSpec(NAME, BALANCE, ARGS, HighNodeUtilization, faults)
