"""HighNodeUtilization evicts the pods of underutilized nodes, as long as the other nodes have room."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import ListType, StructField, text
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import INT, Args, args_struct
from kschedweb.engine.rebalancing.handle import BALANCE, Handle, PluginSpec
from kschedweb.engine.rebalancing.plugins.nodeutilization import (
    NAMESPACES_GO,
    THRESHOLDS_FIELD,
    NodeEvictions,
    NodeInfo,
    Percentages,
    RequestedUsageClient,
    UsageSnapshot,
    compute_limits,
    include_faults,
    room_left,
    rounded_names,
    sort_nodes_by_usage,
    threshold_faults,
)
from kschedweb.engine.rebalancing.pods import PodView

NAME = "HighNodeUtilization"
ONLY_THRESHOLDS = "OnlyThresholdingResources"
ARGS = args_struct(
    "nodeutilization.HighNodeUtilizationArgs",
    "When a node counts as underutilized.",
    THRESHOLDS_FIELD,
    StructField("numberOfNodes", INT, "Nothing is done unless more nodes than this are underutilized."),
    StructField("evictionModes", ListType(text("nodeutilization.EvictionMode")), f"{ONLY_THRESHOLDS}, or nothing."),
    NAMESPACES_GO,
)


def validate_args(args: Args) -> list[str]:
    """Return the first fault; the original reports no more."""
    modes = [f"invalid eviction mode {mode}" for mode in args["evictionModes"] or () if mode != ONLY_THRESHOLDS]
    return (include_faults(args) or threshold_faults(args["thresholds"]) or modes)[:1]


class HighNodeUtilization:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        self._low: Percentages = args["thresholds"]
        self._names = rounded_names(self._low)

    def run(self, nodes: Sequence[Node]) -> None:
        source = RequestedUsageClient(self._names)
        under, targets = self._classify_nodes(UsageSnapshot.from_source(self._handle, nodes, source))
        if reason := self._idle_reason(len(under), len(targets), len(nodes)):
            self._handle.add_note(NAME, reason)
            return
        sort_nodes_by_usage(under, ascending=True)
        moves = NodeEvictions(
            handle=self._handle,
            plugin=NAME,
            removable=self._is_removable,
            excluded=frozenset((self._args["evictableNamespaces"] or {}).get("exclude") or ()),
            source=source,
            continue_eviction=lambda node_info, available: room_left(available),
        )
        moves.run(under, targets, self._names)

    def _classify_nodes(self, use: UsageSnapshot) -> tuple[list[NodeInfo], list[NodeInfo]]:
        under: list[NodeInfo] = []
        targets: list[NodeInfo] = []
        # Targets may be filled up to all that they have.
        full = dict.fromkeys(self._low, 100.0)
        for name in self._handle.walk_map(use.nodes):
            node, percentages = use.nodes[name], use.percentages[name]
            little = all(percentages.get(key, 0.0) <= self._low[key] for key in self._low)
            if not little and node.unschedulable:
                continue
            self._handle.add_classification(
                NAME, use.describe_node(name, "underutilized" if little else "overutilized")
            )
            node_info = NodeInfo(node, use.amounts[name], compute_limits(node, full, self._names), use.pods[name])
            (under if little else targets).append(node_info)
        return under, targets

    def _idle_reason(self, under: int, targets: int, nodes: int) -> str:
        """Return why there is nothing to do; "" if there is something."""
        if not under:
            return "No node is underutilized, nothing to do here, you might tune your thresholds further"
        if under <= self._args["numberOfNodes"]:
            return "Number of nodes underutilized is less or equal than NumberOfNodes, nothing to do here"
        if under == nodes:
            return "All nodes are underutilized, nothing to do here"
        return "" if targets else "No node is available to schedule the pods, nothing to do here"

    def _is_removable(self, pod: PodView) -> bool:
        if not self._handle.passes_filter(pod):
            return False
        return ONLY_THRESHOLDS not in (self._args["evictionModes"] or ()) or not pod.resources.names.isdisjoint(
            self._low
        )


SPEC = PluginSpec(NAME, BALANCE, ARGS, HighNodeUtilization, validate_args)
