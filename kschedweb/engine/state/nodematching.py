"""Node selectors, matched against all nodes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from kschedweb.engine.objects.labels import Requirement
from kschedweb.engine.objects.nodeselector import FIELD_NAME, NodeSelectorTerm
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import has_no_untolerated
from kschedweb.engine.state.columns import Mask
from kschedweb.engine.state.snapshot import Snapshot


def matches_term(snapshot: Snapshot, term: NodeSelectorTerm) -> Mask:
    """Return the mask of the nodes that match ``term``; an empty or invalid term matches none."""

    def compute_mask() -> Mask:
        if term.is_empty or not term.valid:
            return np.zeros(len(snapshot), dtype=np.bool_)
        mask = np.ones(len(snapshot), dtype=np.bool_)
        for condition in term.labels:
            column = snapshot.label_column(condition.key)
            is_in = condition.operator == "In"
            mask &= column.match_values(condition.values) if is_in else column.build_mask(_label_test(condition))
        for field in term.fields:
            mask &= _matches_field(snapshot, field)
        return mask

    return snapshot.cached_by_nodes(("term", term), compute_mask)


def matches_any(snapshot: Snapshot, terms: Iterable[NodeSelectorTerm]) -> Mask:
    """Return the mask of the nodes that match at least one of ``terms``."""
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    for term in terms:
        mask |= matches_term(snapshot, term)
    return mask


def matches_required(snapshot: Snapshot, pod: Pod) -> Mask:
    """Return the mask of the nodes that meet the pod's nodeSelector and required node affinity."""
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for key, value in (pod.node_selector or {}).items():
        mask &= snapshot.label_column(key).match_values([value])
    if pod.node_affinity.required is not None:
        mask &= matches_any(snapshot, pod.node_affinity.required)
    return mask


def match_tolerations(snapshot: Snapshot, pod: Pod, comparison_operators: bool = False) -> Mask:
    """Return the mask of the nodes whose NoSchedule and NoExecute taints the pod tolerates.

    ``comparison_operators`` is as in ``Toleration.tolerates``.
    """
    # Nodes share few distinct lists of taints, so each list is judged once.
    codes, sets = snapshot.taint_sets()
    if not any(sets):
        return np.ones(len(snapshot), dtype=np.bool_)
    mask: Mask = np.array(
        [has_no_untolerated(taints, pod.tolerations, comparison_operators) for taints in sets], dtype=np.bool_
    )[codes]
    return mask


def _label_test(condition: Requirement) -> Callable[[str | None], bool]:
    def test_value(value: str | None) -> bool:
        return condition.matches({} if value is None else {condition.key: value})

    return test_value


def _matches_field(snapshot: Snapshot, field: Requirement) -> Mask:
    # metadata.name is the only field that kube-scheduler sets; others read as "".
    if field.key == FIELD_NAME:
        mask = np.zeros(len(snapshot), dtype=np.bool_)
        if (row := snapshot.index.get(field.values[0])) is not None:
            mask[row] = True
    else:
        mask = np.full(len(snapshot), field.values[0] == "", dtype=np.bool_)
    return mask if field.operator == "In" else ~mask
