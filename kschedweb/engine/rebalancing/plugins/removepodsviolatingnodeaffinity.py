"""RemovePodsViolatingNodeAffinity evicts pods that would be better off on another node by their node affinity."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.types import Field
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
from kschedweb.engine.rebalancing.fitting import Mask, wants
from kschedweb.engine.rebalancing.handle import DESCHEDULE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import PodView, scope

NAME = "RemovePodsViolatingNodeAffinity"
ARGS = args_struct(
    "removepodsviolatingnodeaffinity.RemovePodsViolatingNodeAffinityArgs",
    "Which node affinity counts.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    Field("nodeAffinityType", STRINGS, f"{REQUIRED}, {PREFERRED} or both."),
)


def faults(args: Args) -> list[str]:
    return ([] if args["nodeAffinityType"] else ["nodeAffinityType needs to be set"]) + scope_faults(args)


class RemovePodsViolatingNodeAffinity:
    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = scope(args, selector, handle.both)

    def run(self, nodes: Sequence[Node]) -> None:
        among = self._handle.room.mask(nodes)
        for kind in self._args["nodeAffinityType"]:
            if kind in (REQUIRED, PREFERRED):
                self._of_kind(kind, nodes, among)

    def _of_kind(self, kind: str, nodes: Sequence[Node], among: Mask) -> None:
        violates = self._required if kind == REQUIRED else self._preferred
        for node in nodes:
            pods = [
                pod
                for pod in self._handle.cluster.on(node.name, self._passes)
                if violates(pod, node, nodes) and self._handle.room.fits(pod, among, elsewhere=False)
            ]
            if not self._handle.evict_each(pods, NAME):
                return

    @staticmethod
    def _required(pod: PodView, node: Node, nodes: Sequence[Node]) -> bool:
        return pod.pod.node_affinity.required is not None and not wants(pod, node)

    @staticmethod
    def _preferred(pod: PodView, node: Node, nodes: Sequence[Node]) -> bool:
        if not pod.pod.node_affinity.preferred:
            return False
        return max(0, *(_weight(pod, one) for one in nodes)) > _weight(pod, node)


def _weight(pod: PodView, node: Node) -> int:
    """The weights of the preferred terms that the node matches, together."""
    terms = pod.pod.node_affinity.preferred or ()
    return sum(one.weight for one in terms if one.term.matches(node.name, node.labels))


SPEC = PluginSpec(NAME, DESCHEDULE, ARGS, RemovePodsViolatingNodeAffinity, faults)
