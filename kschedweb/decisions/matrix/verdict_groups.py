"""Groups of rejected nodes that have the same verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions.page_parts import VerdictGroup
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE

if TYPE_CHECKING:
    from kschedweb.decisions.matrix.columns import DecisionColumns

# Nodes of a group whose names are shown.
MAX_NAMED_NODES = 5
PRE_FILTER = "PreFilter"
NOT_NAMED = gettext_noop("not among the nodes that PreFilter named")


def group_by_verdict(decision: DecisionColumns) -> list[VerdictGroup]:
    """Return the groups of all rejected nodes: those that passed more filters first, then the largest."""
    rejected = np.flatnonzero(decision.explanation.rejected_by != FEASIBLE)
    if not rejected.size:
        return []
    # All nodes are grouped at once by sorting columns of numbers; a loop over 5,000 nodes would be slow.
    keys = _verdict_keys(decision)[:, rejected]
    distinct_keys, inverse = np.unique(keys, axis=1, return_inverse=True)
    ends = np.cumsum(np.bincount(inverse.ravel()))
    nodes = np.split(rejected[np.argsort(inverse.ravel(), kind="stable")], ends[:-1])
    listed = [
        _build_group(decision, tuple(key), group_nodes.tolist())
        for key, group_nodes in zip(distinct_keys.T.tolist(), nodes, strict=True)
    ]
    return sorted(listed, key=lambda group: (-_filter_index(group), -group.count, group.message))


def _verdict_keys(decision: DecisionColumns) -> np.ndarray:
    """Return for each node the filter that rejects it, its verdict's code, and its kind: int64[3, nodes]."""
    explanation = decision.explanation
    keys = np.zeros((3, len(explanation.nodes)), dtype=np.int64)
    keys[0] = explanation.rejected_by
    for position, column in enumerate(explanation.filters):
        mask = explanation.rejected_by == position
        if not mask.any():
            continue
        keys[1, mask] = column.codes[mask]
        if (kinds := decision.kinds(column.plugin)) is not None:
            keys[2, mask] = np.unique(kinds[mask], return_inverse=True)[1]
    return keys


def _build_group(decision: DecisionColumns, key: tuple[int, ...], nodes: list[int]) -> VerdictGroup:
    explanation, first = decision.explanation, nodes[0]
    status = explanation.verdict_at(first)
    excluded = key[0] == EXCLUDED
    reasons = status.reasons if status else (gettext(NOT_NAMED),)
    name = ".".join(map(str, key))
    return VerdictGroup(
        key=name,
        plugin=PRE_FILTER if excluded or status is None else status.plugin,
        code=str(status.code) if status else "",
        reasons=reasons,
        words="" if excluded else decision.in_group(name, first, len(nodes)),
        nodes=tuple(nodes),
        names=tuple(explanation.nodes[node] for node in nodes[:MAX_NAMED_NODES]),
        reading=decision.decisive_reading(first) if len(nodes) == 1 else None,
    )


def _filter_index(group: VerdictGroup) -> int:
    return int(group.key.partition(".")[0])
