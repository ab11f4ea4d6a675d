"""RemoveDuplicates evicts pods of one owner that share a node, where more nodes would take them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kschedweb.engine.config.types import Field
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.rebalancing.arguments import NAMESPACES_FIELD, STRINGS, Args, args_struct, both
from kschedweb.engine.rebalancing.fitting import Mask
from kschedweb.engine.rebalancing.handle import BALANCE, Handle, PluginSpec
from kschedweb.engine.rebalancing.pods import PodView, scope

NAME = "RemoveDuplicates"
ARGS = args_struct(
    "removeduplicates.RemoveDuplicatesArgs",
    "Which pods are looked at.",
    NAMESPACES_FIELD,
    Field("excludeOwnerKinds", STRINGS, "Pods of these kinds of owners stay."),
)


class OwnerKey(NamedTuple):
    namespace: str
    kind: str
    name: str
    images: str


Duplicates = dict[OwnerKey, dict[str, list[PodView]]]
"""By owner and node, the pods beside the first one."""


class RemoveDuplicates:
    def __init__(self, args: Args, handle: Handle) -> None:
        self._handle = handle
        self._excluded = frozenset(args["excludeOwnerKinds"] or ())
        self._passes = scope(args, None, handle.both)

    def run(self, nodes: Sequence[Node]) -> None:
        duplicates, occurrences = self._found(nodes)
        for key in self._handle.walked(duplicates):
            on_nodes = duplicates[key]
            targets = self._targets([pod for pods in on_nodes.values() for pod in pods], self._handle.room.mask(nodes))
            if targets < 2:
                self._handle.note(NAME, "Less than two feasible nodes for duplicates to land, skipping eviction")
                continue
            most = -(-occurrences[key] // targets)
            for node in self._handle.walked(on_nodes):
                # The first pod of the node is not in the list.
                if not self._handle.evict_each(on_nodes[node][most - 1 :], NAME):
                    return

    def _found(self, nodes: Sequence[Node]) -> tuple[Duplicates, Counter[OwnerKey]]:
        duplicates: Duplicates = defaultdict(lambda: defaultdict(list))
        occurrences: Counter[OwnerKey] = Counter()
        for node in nodes:
            seen: set[tuple[str, ...]] = set()
            for pod in self._handle.cluster.on(node.name, self._passes):
                if not pod.owners or any(owner.kind in self._excluded for owner in pod.owners):
                    continue
                keys = _owner_keys(pod)
                occurrences.update(keys)
                alike = tuple(sorted("/".join((*key[:3], image)) for key in keys for image in pod.asked.images))
                if alike in seen:
                    for key in keys:
                        duplicates[key][node.name].append(pod)
                seen.add(alike)
        return duplicates, occurrences

    def _targets(self, pods: Iterable[PodView], among: Mask) -> int:
        """How many nodes would take one of the pods, of those that more than one node would take."""
        found, room = np.zeros_like(among), self._handle.room
        for pod in {_wishes(pod): pod for pod in pods}.values():
            matching = among & room.tolerated(pod) & room.wanted(pod)
            if np.count_nonzero(matching) > 1:
                found |= matching
        return int(np.count_nonzero(found))


def _owner_keys(pod: PodView) -> list[OwnerKey]:
    images = "#".join(sorted(pod.asked.images))
    return [OwnerKey(pod.namespace, owner.kind, owner.name, images) for owner in pod.owners]


def _wishes(pod: PodView) -> Hashable:
    """Equal for pods that go to the same nodes, as far as the original sees it."""
    tolerations = frozenset((one.key, one.operator, one.value, one.effect) for one in pod.pod.tolerations)
    required, selector = pod.pod.node_affinity.required, pod.pod.node_selector
    terms = None if required is None else tuple(map(_term, required))
    return tolerations, terms, None if selector is None else frozenset(selector.items())


def _term(term: NodeSelectorTerm) -> Hashable:
    return tuple(
        frozenset((one.key, one.operator, frozenset(one.values)) for one in part) for part in (term.labels, term.fields)
    )


SPEC = PluginSpec(NAME, BALANCE, ARGS, RemoveDuplicates, lambda args: both(args["namespaces"]))
