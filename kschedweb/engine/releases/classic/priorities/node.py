"""Priorities that depend on the node object alone: labels, taints, images, annotations."""

from __future__ import annotations

import json

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope
from kschedweb.engine.framework.scoring import divide_toward_zero
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE, is_tolerated
from kschedweb.engine.plugins.imagelocality import MIN_THRESHOLD, MOST_AN_IMAGE, normalized_image_name
from kschedweb.engine.releases.classic.objects import owner_uid
from kschedweb.engine.releases.classic.parsing import find_expressions_fault
from kschedweb.engine.state.columns import Ints, Rows
from kschedweb.engine.state.nodematching import matches_term
from kschedweb.engine.state.snapshot import Snapshot

MAX_PRIORITY = 10
AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
# The only kinds of controller that the annotation applies to.
AVOIDING = frozenset({"ReplicationController", "ReplicaSet"})


class NodePriority:
    """A priority with the scores that ``scores`` returns."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        scores = self.scores(cycle.snapshot, cycle.pod)
        if isinstance(scores, int):
            return np.full(cycle.num_rows(rows), scores, dtype=np.int64)
        return scores[rows]

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints | int:
        """Return the score of every node, or one number for all."""
        raise NotImplementedError


class EqualPriority(NodePriority):
    """A priority with the score 1 for every node."""

    def scores(self, snapshot: Snapshot, pod: Pod) -> int:
        return 1


class NodeLabel(NodePriority):
    """A priority with ``labelPreference``: 10 for nodes with the ``label`` (or without it if ``presence`` is false),
    else 0.
    """

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self.label, self.presence = str(argument.get("label") or ""), bool(argument.get("presence"))

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints:
        return np.where(snapshot.label_column(self.label).present == self.presence, MAX_PRIORITY, 0).astype(np.int64)


class NodePreferAvoidPods(NodePriority):
    """A priority with 0 for nodes whose annotation asks to keep pods of the pod's controller away, else 10."""

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints | int:
        if pod.controller is None or pod.controller[1] not in AVOIDING:
            return MAX_PRIORITY
        avoiding = snapshot.cached_by_nodes("classic avoiding", lambda: _nodes_to_avoid(snapshot))
        scores = np.full(len(snapshot), MAX_PRIORITY, dtype=np.int64)
        scores[avoiding.get((pod.controller[1], owner_uid(pod)), [])] = 0
        return scores


class NodeAffinityPriority(NodePriority):
    """A priority by the weights of the pod's preferred node affinity terms that match; the highest sum becomes 10."""

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the mapped scores.

        Raises CycleError for a term that cannot be parsed; 1.13 repeats it for each node.
        """
        if fault := _preferred_fault(cycle.pod):
            number = cycle.num_rows(rows)
            raise CycleError(fault if number == 1 else f"[{', '.join([fault] * number)}]")
        return super().score(cycle, rows)

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints | int:
        if not pod.node_affinity.preferred:
            return 0
        total = np.zeros(len(snapshot), dtype=np.int64)
        for preferred in pod.node_affinity.preferred or ():
            if not preferred.weight:
                continue
            if preferred.term.labels:  # 1.13 ignores fields here
                total += preferred.weight * matches_term(snapshot, NodeSelectorTerm(preferred.term.labels, ()))
        # 1.13 sums up in int32, which wraps.
        return total.astype(np.int32).astype(np.int64)

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return scale_scores(scores, reverse=False)


class TaintTolerationPriority(NodePriority):
    """A priority by PreferNoSchedule taints that the pod does not tolerate: 10 for none, 0 for the most."""

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints | int:
        codes, sets = snapshot.taint_sets()
        if not any(sets):
            return 0
        tolerations = tuple(
            toleration for toleration in pod.tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)
        )
        counts = [
            sum(taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, tolerations) for taint in taints)
            for taints in sets
        ]
        return np.array(counts, dtype=np.int64)[codes]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return scale_scores(scores, reverse=True)


class ImageLocalityPriority(NodePriority):
    """A priority by the size of the pod's images on the node, from 23 MiB (0) to 1000 MiB (10).

    Each image is scaled by the share of nodes that had it when this node was added to the cache.
    """

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints | int:
        containers = get_objects(get_mapping(pod.raw, "spec"), "containers", "spec.")
        image_states = [snapshot.images.get(normalized_image_name(str(raw.get("image") or ""))) for raw in containers]
        if not any(image_states):
            return 0
        sums = np.zeros(len(snapshot), dtype=np.int64)
        for size, holders in filter(None, image_states):
            for number, node in enumerate(holders, start=1):
                sums[node] += int(float(size) * (float(number) / float(len(snapshot))))
        clipped = np.clip(sums, MIN_THRESHOLD, MOST_AN_IMAGE)
        return MAX_PRIORITY * (clipped - MIN_THRESHOLD) // (MOST_AN_IMAGE - MIN_THRESHOLD)


class PlainImageLocalityPriority(NodePriority):
    """The priority of 1.9, by the size of images with exactly the names in the pod: 0 below 23 MiB, then 1 to 10."""

    def scores(self, snapshot: Snapshot, pod: Pod) -> Ints:
        sums = np.zeros(len(snapshot), dtype=np.int64)
        image_names = [raw.get("image") for raw in get_objects(get_mapping(pod.raw, "spec"), "containers", "spec.")]
        for position, node in enumerate(snapshot.nodes):
            sizes = {name: size for names, size in node.images for name in names}
            sums[position] = sum(sizes.get(str(name), 0) for name in image_names)
        between = MAX_PRIORITY * (sums - MIN_THRESHOLD) // (MOST_AN_IMAGE - MIN_THRESHOLD) + 1
        return np.where(sums >= MOST_AN_IMAGE, MAX_PRIORITY, np.where(sums < MIN_THRESHOLD, 0, between))


def scale_scores(scores: Ints, *, reverse: bool) -> Ints:
    """Return scores scaled so that the highest becomes 10; with ``reverse`` the highest becomes 0."""
    highest = max(0, int(scores.max(initial=0)))
    if highest == 0:
        return np.full_like(scores, MAX_PRIORITY) if reverse else scores
    parts = divide_toward_zero(MAX_PRIORITY * scores, highest)
    return MAX_PRIORITY - parts if reverse else parts


def _preferred_fault(pod: Pod) -> str:
    """Return 1.13's error about the first preferred term that it cannot parse. It ignores fields here."""
    if all(item.term.valid for item in pod.node_affinity.preferred or ()):
        return ""
    preferred = get_mapping(get_mapping(get_mapping(pod.raw, "spec"), "affinity"), "nodeAffinity").get(PREFERRED) or ()
    terms = [get_mapping(item, "preference") for item in preferred if item.get("weight")]
    return next(filter(None, (find_expressions_fault(get_objects(term, "matchExpressions")) for term in terms)), "")


def _nodes_to_avoid(snapshot: Snapshot) -> dict[tuple[str, str], list[int]]:
    """Return, by kind and uid of a controller, the nodes that prefer not to have its pods."""
    nodes_by_controller: dict[tuple[str, str], list[int]] = {}
    for position, node in enumerate(snapshot.nodes):
        for signature in read_avoided_controllers(node):
            nodes = nodes_by_controller.setdefault(signature, [])
            if position not in nodes[-1:]:
                nodes.append(position)
    return nodes_by_controller


def read_avoided_controllers(node: Node) -> list[tuple[str, str]]:
    """Return (kind, uid) of the controllers in the node's annotation; empty if that cannot be read."""
    text = (node.raw.get("metadata") or {}).get("annotations", {})  # checked when the node was read
    if not text or AVOID not in text:
        return []
    try:
        listed = json.loads(text[AVOID] or "{}").get("preferAvoidPods") or []
        controllers = [entry["podSignature"]["podController"] for entry in listed]
        return [(str(controller.get("kind") or ""), str(controller.get("uid") or "")) for controller in controllers]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []
