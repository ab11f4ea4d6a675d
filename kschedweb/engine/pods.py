"""The bound pods as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from kschedweb.engine.columns import Codes, Ints, Mask
from kschedweb.engine.objects.affinity import PodAffinity
from kschedweb.engine.objects.pod import Pod


@dataclass(frozen=True, slots=True)
class Group:
    """What selectors can see of a pod: many pods share one."""

    namespace: str
    labels: dict[str, str]
    terminating: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """Pods with the same affinity terms; ``namespace`` is theirs."""

    namespace: str
    affinity: PodAffinity


class PodTable:
    """Pods on nodes: ``node[slot]`` is the node's position, -1 where the slot is free.

    ``group[slot]`` indexes ``groups``; ``terms[slot]`` indexes ``term_sets``, -1 for pods without pod affinity.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self.pods: list[Pod | None] = []
        self.slots: dict[str, int] = {}
        self.groups: list[Group] = []
        self.term_sets: list[Terms] = []
        self._group_codes: dict[Hashable, int] = {}
        self._term_codes: dict[Hashable, int] = {}
        self._columns = np.full((3, 16), -1, dtype=np.int32)
        self._matches: dict[Hashable, Mask] = {}

    @property
    def node(self) -> Codes:
        return self._columns[0, : len(self.pods)]

    @property
    def group(self) -> Codes:
        return self._columns[1, : len(self.pods)]

    @property
    def terms(self) -> Codes:
        return self._columns[2, : len(self.pods)]

    def copy(self) -> PodTable:
        """A table that can change without this one changing; what never changes is shared."""
        other = PodTable(self._nodes)
        other.pods, other.slots = list(self.pods), dict(self.slots)
        other.groups, other.term_sets = list(self.groups), list(self.term_sets)
        other._group_codes, other._term_codes = dict(self._group_codes), dict(self._term_codes)
        other._columns = self._columns.copy()
        other._matches = dict(self._matches)
        return other

    def add(self, pod: Pod, node: int) -> None:
        slot = len(self.pods)
        if slot == self._columns.shape[1]:
            wider = np.full((3, 2 * slot), -1, dtype=np.int32)
            wider[:, :slot] = self._columns
            self._columns = wider
        self.pods.append(pod)
        self.slots[pod.key] = slot
        self._columns[:, slot] = node, self._group(pod), self._terms(pod)

    def remove(self, key: str) -> tuple[Pod, int]:
        """Take the pod out; returns it and its node's position. Raises KeyError where it is not there."""
        slot = self.slots.pop(key)
        pod, node = self.pods[slot], int(self._columns[0, slot])
        assert pod is not None
        self.pods[slot] = None
        self._columns[:, slot] = -1
        return pod, node

    def on(self, node: int) -> list[Pod]:
        return [pod for slot in np.flatnonzero(self.node == node) if (pod := self.pods[slot]) is not None]

    def matching(self, key: Hashable, test: Callable[[Group], bool]) -> Mask:
        """Which slots hold a pod whose group passes ``test``; ``key`` names the test, which must not change."""
        known = self._matches.get(key)
        done = 0 if known is None else len(known) - 1
        if known is None or done < len(self.groups):
            fresh = np.zeros(len(self.groups) + 1, dtype=np.bool_)  # the last entry is for free slots
            if known is not None:
                fresh[:done] = known[:-1]
            for position in range(done, len(self.groups)):
                fresh[position] = test(self.groups[position])
            self._matches[key] = known = fresh
        return known[self.group]

    def count(self, mask: Mask) -> Ints:
        """Pods under ``mask`` on each node."""
        nodes = self.node[mask]
        return np.bincount(nodes[nodes >= 0], minlength=self._nodes).astype(np.int64)

    def _group(self, pod: Pod) -> int:
        key = (pod.namespace, frozenset(pod.labels.items()), pod.terminating)
        if key not in self._group_codes:
            self._group_codes[key] = len(self.groups)
            self.groups.append(Group(pod.namespace, pod.labels, pod.terminating))
        return self._group_codes[key]

    def _terms(self, pod: Pod) -> int:
        if not pod.pod_affinity.present:
            return -1
        key = (pod.namespace, pod.pod_affinity)
        if key not in self._term_codes:
            self._term_codes[key] = len(self.term_sets)
            self.term_sets.append(Terms(pod.namespace, pod.pod_affinity))
        return self._term_codes[key]
