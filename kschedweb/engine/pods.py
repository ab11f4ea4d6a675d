"""The bound pods as columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kschedweb.engine.columns import Codes, Ints, Mask
from kschedweb.engine.objects.affinity import PodAffinity
from kschedweb.engine.objects.labels import Labels, Selector
from kschedweb.engine.objects.pod import Pod

MANY = 4096  # remembered selections and moves; beyond that they are worked out anew


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


@dataclass(frozen=True, slots=True)
class Selection:
    """Which groups are meant: those that pass ``test``, which only passes labels that ``selector`` matches.

    ``key`` names the test: two selections with the same key mean the same.
    """

    key: Hashable
    selector: Selector
    test: Callable[[Group], bool]


class Move(NamedTuple):
    """A pod of a group and a term set (-1: none) that came to a node (``sign`` 1) or left it (-1)."""

    group: int
    terms: int
    node: int
    sign: int


class PodTable:
    """Pods on nodes: ``node[slot]`` is the node's position, -1 where the slot is free.

    ``group[slot]`` indexes ``groups``; ``terms[slot]`` indexes ``term_sets``, -1 for pods without pod affinity.
    ``version`` counts the moves there have been.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self.pods: list[Pod | None] = []
        self.slots: dict[str, int] = {}
        self.groups: list[Group] = []
        self.term_sets: list[Terms] = []
        self._group_codes: dict[Hashable, int] = {}
        self._term_codes: dict[Terms, int] = {}
        self._templates: dict[int, int] = {}  # template -> code of its terms
        self._groups_by_label = _Index()
        self._guards, self._wishes = _Index(), _Index()
        self._columns = np.full((3, 16), -1, dtype=np.int32)
        self._selected: dict[Hashable, Mask] = {}
        self._moves: list[Move] = []
        self._forgotten = 0

    @property
    def node(self) -> Codes:
        return self._columns[0, : len(self.pods)]

    @property
    def group(self) -> Codes:
        return self._columns[1, : len(self.pods)]

    @property
    def terms(self) -> Codes:
        return self._columns[2, : len(self.pods)]

    @property
    def version(self) -> int:
        return self._forgotten + len(self._moves)

    def moves(self, since: int) -> list[Move] | None:
        """The moves after version ``since``, or ``None`` where they are too many to be remembered."""
        return self._moves[since - self._forgotten :] if since >= self._forgotten else None

    def copy(self) -> PodTable:
        """A table that can change without this one changing; what never changes is shared."""
        other = PodTable(self._nodes)
        other.pods, other.slots = list(self.pods), dict(self.slots)
        other.groups, other.term_sets = list(self.groups), list(self.term_sets)
        other._group_codes, other._term_codes = dict(self._group_codes), dict(self._term_codes)
        other._templates = dict(self._templates)
        other._groups_by_label = self._groups_by_label.copy()
        other._guards, other._wishes = self._guards.copy(), self._wishes.copy()
        other._columns = self._columns.copy()
        other._selected = dict(self._selected)
        other._forgotten = self.version
        return other

    def add(self, pod: Pod, node: int) -> None:
        slot = len(self.pods)
        if slot == self._columns.shape[1]:
            wider = np.full((3, 2 * slot), -1, dtype=np.int32)
            wider[:, :slot] = self._columns
            self._columns = wider
        group, terms = self._group(pod), self._terms(pod)
        self.pods.append(pod)
        self.slots[pod.key] = slot
        self._columns[:, slot] = node, group, terms
        self._remember(Move(group, terms, node, 1))

    def remove(self, key: str) -> tuple[Pod, int]:
        """Take the pod out; returns it and its node's position. Raises KeyError where it is not there."""
        slot = self.slots.pop(key)
        pod = self.pods[slot]
        node, group, terms = self._columns[:, slot].tolist()
        assert pod is not None
        self._free(slot, len(self.pods) - 1 - int((self.node[::-1] == node).argmax()))
        self._remember(Move(group, terms, node, -1))
        if len(self.pods) > 2 * len(self.slots) + MANY:
            self._compact()
        return pod, node

    def _free(self, slot: int, last: int) -> None:
        """Empty ``slot``; the last pod of its node takes the place, as in kube-scheduler's list of a node's pods."""
        moved = self.pods[last]
        if slot != last and moved is not None:
            self.pods[slot] = moved
            self.slots[moved.key] = slot
            self._columns[:, slot] = self._columns[:, last]
        self.pods[last] = None
        self._columns[:, last] = -1

    def on(self, node: int) -> list[Pod]:
        """The pods on a node: in the order in which they came, but the last takes the place of one that leaves."""
        return [pod for slot in np.flatnonzero(self.node == node) if (pod := self.pods[slot]) is not None]

    def select(self, selection: Selection) -> Mask:
        """Which groups are meant. Shape [groups + 1]: the last entry, reached by code -1, is for free slots."""
        known = self._selected.get(selection.key)
        done = 0 if known is None else len(known) - 1
        if known is None or done < len(self.groups):
            fresh = np.zeros(len(self.groups) + 1, dtype=np.bool_)
            if known is not None:
                fresh[:done] = known[:-1]
            for position in self._groups_by_label.meant(selection.selector, done, len(self.groups)):
                fresh[position] = selection.test(self.groups[position])
            if len(self._selected) >= MANY:
                self._selected.clear()
            self._selected[selection.key] = known = fresh
        return known

    def nodes_of(self, selection: Selection) -> Codes:
        """The nodes of the pods that are meant, with repetitions."""
        return self.node[self.select(selection)[self.group]]

    def count(self, selection: Selection) -> Ints:
        """How many of the pods that are meant are on each node. Shape [nodes]."""
        return np.bincount(self.nodes_of(selection), minlength=self._nodes)

    def guards_about(self, labels: Labels) -> list[int]:
        """Codes of the term sets that may keep a pod with ``labels`` away (required anti-affinity); no others do."""
        return self._guards.about(labels)

    def wishes_about(self, labels: Labels) -> list[int]:
        """Codes of the term sets that may have any other term about a pod with ``labels``; no others have."""
        return self._wishes.about(labels)

    def _group(self, pod: Pod) -> int:
        key = pod.seen_by_selectors
        code = self._group_codes.get(key)
        if code is None:
            code = self._group_codes[key] = len(self.groups)
            self.groups.append(Group(pod.namespace, pod.labels, pod.terminating))
            self._groups_by_label.add(code, pod.labels.items())
        return code

    def _terms(self, pod: Pod) -> int:
        affinity = pod.pod_affinity
        if not affinity.present:
            return -1
        code = self._templates.get(pod.template)
        if code is None:
            code = self._templates[pod.template] = self._term_set(Terms(pod.namespace, affinity))
        return code

    def _term_set(self, terms: Terms) -> int:
        code = self._term_codes.get(terms)
        if code is None:
            code = self._term_codes[terms] = len(self.term_sets)
            self.term_sets.append(terms)
            for term in terms.affinity.anti_required:
                self._guards.add(code, term.selector.anchors)
            for term in (*terms.affinity.required, *(term for term, _ in terms.affinity.wishes)):
                self._wishes.add(code, term.selector.anchors)
        return code

    def _remember(self, move: Move) -> None:
        self._moves.append(move)
        if len(self._moves) > MANY:
            self._forgotten += len(self._moves)
            self._moves = []

    def _compact(self) -> None:
        """Drop the free slots; the order of the pods stays."""
        kept = [slot for slot, pod in enumerate(self.pods) if pod is not None]
        self.pods = [self.pods[slot] for slot in kept]
        self._columns = self._columns[:, kept]
        self.slots = {pod.key: slot for slot, pod in enumerate(self.pods) if pod is not None}


class _Index:
    """Codes by the labels they have to do with; those without any are under ``None``."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str] | None, list[int]] = {}

    def copy(self) -> _Index:
        other = _Index()
        other._codes = {label: list(codes) for label, codes in self._codes.items()}
        return other

    def add(self, code: int, labels: Collection[tuple[str, str]] | None) -> None:
        for label in labels or (None,):
            codes = self._codes.setdefault(label, [])
            if not codes or codes[-1] != code:
                codes.append(code)

    def about(self, labels: Labels) -> list[int]:
        found = list(self._codes.get(None, ()))
        for label in labels.items():
            found += self._codes.get(label, ())
        return list(dict.fromkeys(found))

    def meant(self, selector: Selector, first: int, end: int) -> list[int] | range:
        """The codes from ``first`` to ``end`` that have a label ``selector`` asks for."""
        if selector.anchors is None or end - first < 8:
            return range(first, end)
        return [code for label in selector.anchors for code in self._codes.get(label, ()) if code >= first]
