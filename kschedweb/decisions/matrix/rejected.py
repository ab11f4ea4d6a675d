"""Rejected nodes by verdict: those with the same one are a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions.parts import VerdictGroup
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE

if TYPE_CHECKING:
    from kschedweb.decisions.matrix.columns import Columns

NAMED = 5  # nodes of a group whose names are shown
PRE_FILTER = "PreFilter"
NOT_NAMED = gettext_noop("not among the nodes that PreFilter named")


def groups(judged: Columns) -> list[VerdictGroup]:
    """The groups of all rejected nodes: those that passed more filters first, then the largest."""
    rejected = np.flatnonzero(judged.explanation.rejected_by != FEASIBLE)
    if not rejected.size:
        return []
    keys = _keys(judged)[:, rejected]
    found, inverse = np.unique(keys, axis=1, return_inverse=True)
    ends = np.cumsum(np.bincount(inverse.ravel()))
    nodes = np.split(rejected[np.argsort(inverse.ravel(), kind="stable")], ends[:-1])
    listed = [_group(judged, tuple(key), each.tolist()) for key, each in zip(found.T.tolist(), nodes, strict=True)]
    return sorted(listed, key=lambda group: (-_filter(group), -group.count, group.message))


def _keys(judged: Columns) -> np.ndarray:
    """Of each node, the filter that rejects it, the code of its verdict, and the kind within that: int64[3, nodes]."""
    found = judged.explanation
    keys = np.zeros((3, len(found.nodes)), dtype=np.int64)
    keys[0] = found.rejected_by
    for position, column in enumerate(found.filters):
        here = found.rejected_by == position
        if not here.any():
            continue
        keys[1, here] = column.codes[here]
        if (kinds := judged.kinds(column.plugin)) is not None:
            keys[2, here] = np.unique(kinds[here], return_inverse=True)[1]
    return keys


def _group(judged: Columns, key: tuple[int, ...], nodes: list[int]) -> VerdictGroup:
    found, first = judged.explanation, nodes[0]
    status = found.verdict_at(first)
    excluded = key[0] == EXCLUDED
    reasons = status.reasons if status else (gettext(NOT_NAMED),)
    name = ".".join(map(str, key))
    return VerdictGroup(
        key=name,
        plugin=PRE_FILTER if excluded or status is None else status.plugin,
        code=str(status.code) if status else "",
        reasons=reasons,
        words="" if excluded else judged.in_group(name, first, len(nodes)),
        nodes=tuple(nodes),
        names=tuple(found.nodes[node] for node in nodes[:NAMED]),
        reading=judged.reading(first) if len(nodes) == 1 else None,
    )


def _filter(group: VerdictGroup) -> int:
    return int(group.key.partition(".")[0])
