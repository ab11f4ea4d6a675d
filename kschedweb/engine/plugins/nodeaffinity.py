"""NodeAffinity rejects nodes outside the pod's nodeSelector and required affinity, and prefers what it prefers.

``addedAffinity`` in its arguments is affinity that every pod of the profile gets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.columns import Ints, Mask, Rows
from kschedweb.engine.framework.interface import Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import default_normalize
from kschedweb.engine.framework.status import SKIP, SUCCESS, Status, error, unresolvable
from kschedweb.engine.nodematching import matches_any, matches_required, matches_term
from kschedweb.engine.objects import affinity
from kschedweb.engine.objects.nodeselector import PreferredTerm

POD, ENFORCED = (
    unresolvable("node(s) didn't match Pod's node affinity/selector"),
    unresolvable("node(s) didn't match scheduler-enforced node affinity"),
)
CONFLICT = unresolvable("pod affinity terms conflict")


class NodeAffinity:
    name = "NodeAffinity"

    def __init__(self, args: dict[str, Any]) -> None:
        self.added = affinity.NodeAffinity.read(args.get("addedAffinity") or {}, "addedAffinity.")

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
        codes = np.where(matches_required(cycle.snapshot, cycle.pod), 0, 1).astype(np.int32)
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
