"""NodeAffinity rejects nodes outside the pod's nodeSelector and required affinity, and prefers what it prefers.

``addedAffinity`` in its arguments is affinity that every pod of the profile gets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.framework.events import NODE, Action, Change, ClusterEvent, EventHint
from kschedweb.engine.framework.interface import Cycle, PreFilterResult, Scope, Verdicts
from kschedweb.engine.framework.scoring import default_normalize
from kschedweb.engine.framework.status import SKIP, SUCCESS, Status, error, unresolvable
from kschedweb.engine.objects import affinity
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, PreferredTerm
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Ints, Mask, Rows
from kschedweb.engine.state.nodematching import matches_any, matches_required, matches_term

POD, ENFORCED = (
    unresolvable("node(s) didn't match Pod's node affinity/selector"),
    unresolvable("node(s) didn't match scheduler-enforced node affinity"),
)
CONFLICT = unresolvable("pod affinity terms conflict")


class NodeAffinity:
    name = "NodeAffinity"

    def __init__(self, args: dict[str, Any]) -> None:
        self.added = affinity.NodeAffinity.read(args.get("addedAffinity") or {}, "addedAffinity.")

    def events(self) -> list[EventHint]:
        return [EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL), self._after_node)]

    def _after_node(self, pod: Pod, change: Change) -> bool:
        """The node matches now, and did not before."""
        if self.added.required is not None and not _any_matches(self.added.required, change.new):
            return False
        return _wanted(pod, change.new) and (change.old is None or not _wanted(pod, change.old))

    def scope(self, pod: Pod) -> Scope:
        return Scope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        required = cycle.pod.node_affinity.required
        if required is None and self.added.required is None and cycle.pod.node_selector is None:
            return PreFilterResult(SKIP)
        if not required:
            return PreFilterResult()
        names: frozenset[str] = frozenset()
        for term in required:
            named = term.names()
            if named is None:
                return PreFilterResult()
            names |= named
        return PreFilterResult(nodes=names) if names else PreFilterResult(CONFLICT)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        codes = (~matches_required(cycle.snapshot, cycle.pod)).astype(np.int32)
        if self.added.required is not None:
            codes[~matches_any(cycle.snapshot, self.added.required)] = 2
        return Verdicts(codes[rows], (SUCCESS, POD, ENFORCED))

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        preferred = cycle.pod.node_affinity.preferred
        if preferred is None and self.added.preferred is None:
            return SKIP
        if any(not item.term.valid and _counts(item) for item in preferred or ()):
            return error("a preferred node affinity term cannot be parsed")
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """The sum of the weights of the preferred terms that match."""
        scores = np.zeros(len(cycle.snapshot), dtype=np.int64)
        for item in (*(self.added.preferred or ()), *(cycle.pod.node_affinity.preferred or ())):
            if _counts(item):
                matched: Mask = matches_term(cycle.snapshot, item.term)
                scores[matched] += item.weight
        return scores[rows]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return default_normalize(scores)


def _counts(item: PreferredTerm) -> bool:
    return item.weight != 0 and not item.term.empty


def _wanted(pod: Pod, node: Node) -> bool:
    """Whether the pod's own selector and required affinity match; raises ValueError where a term cannot be read."""
    if any(node.labels.get(key) != value for key, value in (pod.node_selector or {}).items()):
        return False
    required = pod.node_affinity.required
    if required is None or _any_matches(required, node):
        return True
    if not all(term.valid for term in required):
        raise ValueError("a required node affinity term cannot be parsed")
    return False


def _any_matches(terms: tuple[NodeSelectorTerm, ...], node: Node) -> bool:
    return any(term.matches(node.name, node.labels) for term in terms)
