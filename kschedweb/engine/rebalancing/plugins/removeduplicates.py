"""RemoveDuplicates evicts pods of one owner that share a node, if more nodes would take them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kschedweb.engine.config.types import StructField
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.rebalancing.arguments import NAMESPACES_FIELD, STRINGS, Args, args_struct, include_exclude_faults
from kschedweb.engine.rebalancing.handle import BALANCE, Handle, PluginSpec
from kschedweb.engine.rebalancing.node_fit import Mask
from kschedweb.engine.rebalancing.pods import PodView, build_filter

NAME = "RemoveDuplicates"
ARGS = args_struct(
    "removeduplicates.RemoveDuplicatesArgs",
    "Labels of the pods to check.",
    NAMESPACES_FIELD,
    StructField("excludeOwnerKinds", STRINGS, "Pods of these kinds of owners stay."),
)


class OwnerKey(NamedTuple):
    """An owner of pods with certain images."""

    namespace: str
    kind: str
    name: str
    # The sorted images, joined.
    images: str


# Owner -> node -> its pods but the first one.
Duplicates = dict[OwnerKey, dict[str, list[PodView]]]


class RemoveDuplicates:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._handle = handle
        self._excluded = frozenset(args["excludeOwnerKinds"] or ())
        self._passes = build_filter(args, None, handle.passes_filters)

    def run(self, nodes: Sequence[Node]) -> None:
        duplicates, occurrences = self._find_duplicates(nodes)
        for key in self._handle.walk_map(duplicates):
            on_nodes = duplicates[key]
            targets = self._count_target_nodes(
                [pod for pods in on_nodes.values() for pod in pods], self._handle.room.node_mask(nodes)
            )
            if targets < 2:
                self._handle.add_note(NAME, "Less than two feasible nodes for duplicates to land, skipping eviction")
                continue
            # The average, rounded up.
            upper_avg = -(-occurrences[key] // targets)
            for node in self._handle.walk_map(on_nodes):
                # The list lacks the first pod of the node, hence one less.
                if not self._handle.evict_each(on_nodes[node][upper_avg - 1 :], NAME):
                    return

    def _find_duplicates(self, nodes: Sequence[Node]) -> tuple[Duplicates, Counter[OwnerKey]]:
        """Return the duplicates by owner and node, and the number of all pods of each owner."""
        duplicates: Duplicates = defaultdict(lambda: defaultdict(list))
        occurrences: Counter[OwnerKey] = Counter()
        for node in nodes:
            pod_keys: set[tuple[str, ...]] = set()
            for pod in self._handle.cluster.list_pods_on_node(node.name, self._passes):
                if not pod.owners or any(owner.kind in self._excluded for owner in pod.owners):
                    continue
                keys = _owner_keys(pod)
                occurrences.update(keys)
                alike = tuple(sorted("/".join((*key[:3], image)) for key in keys for image in pod.resources.images))
                if alike in pod_keys:
                    for key in keys:
                        duplicates[key][node.name].append(pod)
                pod_keys.add(alike)
        return duplicates, occurrences

    def _count_target_nodes(self, pods: Iterable[PodView], among: Mask) -> int:
        """Return how many nodes would take one of the pods.

        A pod that only one node would take does not count.
        """
        target_mask, room = np.zeros_like(among), self._handle.room
        for pod in {_placement_key(pod): pod for pod in pods}.values():
            matching = among & room.toleration_mask(pod) & room.affinity_mask(pod)
            if np.count_nonzero(matching) > 1:
                target_mask |= matching
        return int(np.count_nonzero(target_mask))


def _owner_keys(pod: PodView) -> list[OwnerKey]:
    images = "#".join(sorted(pod.resources.images))
    return [OwnerKey(pod.namespace, owner.kind, owner.name, images) for owner in pod.owners]


def _placement_key(pod: PodView) -> Hashable:
    """Return a value that is equal for pods that may go to the same nodes, as far as the original compares them."""
    tolerations = frozenset(
        (toleration.key, toleration.operator, toleration.value, toleration.effect) for toleration in pod.pod.tolerations
    )
    required, selector = pod.pod.node_affinity.required, pod.pod.node_selector
    terms = None if required is None else tuple(map(_term_key, required))
    return tolerations, terms, None if selector is None else frozenset(selector.items())


def _term_key(term: NodeSelectorTerm) -> Hashable:
    return tuple(
        frozenset((requirement.key, requirement.operator, frozenset(requirement.values)) for requirement in part)
        for part in (term.labels, term.fields)
    )


SPEC = PluginSpec(NAME, BALANCE, ARGS, RemoveDuplicates, lambda args: include_exclude_faults(args["namespaces"]))
