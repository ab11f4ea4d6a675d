"""RemovePodsViolatingNodeAffinity evicts pods that suit another node better by their node affinity."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import StructField
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.labels import label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import (
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    STRINGS,
    Args,
    args_struct,
    scope_faults,
)
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.node_fit import Mask, matches_node_affinity
from kschedweb.engine.rebalancing.pods import PodView, build_filter

NAME = "RemovePodsViolatingNodeAffinity"
ARGS = args_struct(
    "removepodsviolatingnodeaffinity.RemovePodsViolatingNodeAffinityArgs",
    "Kinds of node affinity to check.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    StructField("nodeAffinityType", STRINGS, f"{REQUIRED}, {PREFERRED} or both."),
)


def validate_args(args: Args) -> list[str]:
    return ([] if args["nodeAffinityType"] else ["nodeAffinityType needs to be set"]) + scope_faults(args)


class RemovePodsViolatingNodeAffinity:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = build_filter(args, selector, handle.passes_filters)

    def run(self, nodes: Sequence[Node]) -> None:
        among = self._handle.room.node_mask(nodes)
        for kind in self._args["nodeAffinityType"]:
            if kind in (REQUIRED, PREFERRED):
                self._of_kind(kind, nodes, among)

    def _of_kind(self, kind: str, nodes: Sequence[Node], among: Mask) -> None:
        violates = self._violates_required if kind == REQUIRED else self._violates_preferred
        for node in nodes:
            pods = [
                pod
                for pod in self._handle.cluster.list_pods_on_node(node.name, self._passes)
                if violates(pod, node, nodes) and self._handle.room.fits_any_node(pod, among, elsewhere=False)
            ]
            if not self._handle.evict_each(pods, NAME):
                return

    @staticmethod
    def _violates_required(pod: PodView, node: Node, nodes: Sequence[Node]) -> bool:
        return pod.pod.node_affinity.required is not None and not matches_node_affinity(pod, node)

    @staticmethod
    def _violates_preferred(pod: PodView, node: Node, nodes: Sequence[Node]) -> bool:
        if not pod.pod.node_affinity.preferred:
            return False
        return max(0, *(_affinity_weight(pod, candidate) for candidate in nodes)) > _affinity_weight(pod, node)


def _affinity_weight(pod: PodView, node: Node) -> int:
    """Return the sum of the weights of the preferred terms that the node matches."""
    terms = pod.pod.node_affinity.preferred or ()
    return sum(preferred.weight for preferred in terms if preferred.term.matches(node.name, node.labels))


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsViolatingNodeAffinity, validate_args)
