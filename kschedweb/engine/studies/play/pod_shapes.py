"""Group the pods of a run into shapes: pods of one shape have equal requests and may run on the same nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Codes
from kschedweb.engine.state.nodematching import match_tolerations, matches_required
from kschedweb.engine.state.snapshot import Snapshot

# Shapes that are distinguished, the most frequent ones: each has a row over all nodes.
MAX_SHAPES = 256
# Code for no shape.
NONE = -1


class PodShapes:
    """The shapes of pods, which are added in the order of arrival."""

    def __init__(self) -> None:
        # The code of each pod, the code of each set of needs, and that of each template, which saves computing the
        # needs.
        self._codes: list[int] = []
        self._codes_by_needs: dict[Hashable, int] = {}
        self._by_template: dict[int, int] = {}
        # One pod of each shape.
        self._pods: list[Pod] = []

    def add_pod(self, pod: Pod) -> None:
        """Add a pod; one that has a node already gets no shape."""
        if pod.node_name:
            self._codes.append(NONE)
            return
        code = self._by_template.get(pod.template)
        if code is None:
            code = self._by_template[pod.template] = self._codes_by_needs.setdefault(
                _placement_needs(pod), len(self._codes_by_needs)
            )
            if code == len(self._pods):
                self._pods.append(pod)
        self._codes.append(code)

    def build_columns(self, nodes: Sequence[Node]) -> tuple[Codes, NDArray[np.uint8]]:
        """Return the shape of each pod, i4[pods], and which of ``nodes`` each shape may run on, u1[shapes, nodes]."""
        frequent = [code for code, _ in Counter(code for code in self._codes if code != NONE).most_common(MAX_SHAPES)]
        # The last entry is for pods without a shape: code -1 indexes it.
        place = np.full(len(self._pods) + 1, NONE, dtype=np.int32)
        place[frequent] = np.arange(len(frequent))
        snapshot = Snapshot(nodes)
        order = np.array([snapshot.index[node.name] for node in nodes], dtype=np.intp)
        eligible = np.zeros((len(frequent), len(nodes)), dtype=np.uint8)
        for row, code in enumerate(frequent):
            pod = self._pods[code]
            allowed = matches_required(snapshot, pod) & match_tolerations(snapshot, pod) & ~snapshot.unschedulable
            eligible[row] = allowed[order]
        return place[np.array(self._codes, dtype=np.intp)], eligible


def _placement_needs(pod: Pod) -> Hashable:
    selector = frozenset((pod.node_selector or {}).items())
    return frozenset(pod.occupied.items()), selector, pod.node_affinity.required, pod.tolerations
