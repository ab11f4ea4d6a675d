"""Shapes of pods in a run: pods of one shape have equal requests and may run on the same nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Codes
from kschedweb.engine.state.nodematching import matches_required, tolerates
from kschedweb.engine.state.snapshot import Snapshot

MOST = 256  # shapes that are distinguished, the most frequent ones
NONE = -1


class Shapes:
    """The shapes of pods, which are added in the order of arrival."""

    def __init__(self) -> None:
        self._codes: list[int] = []
        self._known: dict[Hashable, int] = {}
        self._by_template: dict[int, int] = {}
        self._pods: list[Pod] = []  # one pod of each shape

    def add(self, pod: Pod) -> None:
        """Add a pod; one that has a node already gets no shape."""
        if pod.node_name:
            self._codes.append(NONE)
            return
        code = self._by_template.get(pod.template)
        if code is None:
            code = self._by_template[pod.template] = self._known.setdefault(_needs(pod), len(self._known))
            if code == len(self._pods):
                self._pods.append(pod)
        self._codes.append(code)

    def columns(self, nodes: Sequence[Node]) -> tuple[Codes, NDArray[np.uint8]]:
        """(the shape of each pod, which of ``nodes`` each shape may run on): i4[pods], u1[shapes, nodes]."""
        kept = [code for code, _ in Counter(code for code in self._codes if code != NONE).most_common(MOST)]
        place = np.full(len(self._pods) + 1, NONE, dtype=np.int32)  # the last entry is for code -1
        place[kept] = np.arange(len(kept))
        snapshot = Snapshot(nodes)
        order = np.array([snapshot.index[node.name] for node in nodes], dtype=np.intp)
        eligible = np.zeros((len(kept), len(nodes)), dtype=np.uint8)
        for row, code in enumerate(kept):
            pod = self._pods[code]
            allowed = matches_required(snapshot, pod) & tolerates(snapshot, pod) & ~snapshot.unschedulable
            eligible[row] = allowed[order]
        return place[np.array(self._codes, dtype=np.intp)], eligible


def _needs(pod: Pod) -> Hashable:
    selector = frozenset((pod.node_selector or {}).items())
    return frozenset(pod.occupied.items()), selector, pod.node_affinity.required, pod.tolerations
