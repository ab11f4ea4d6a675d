"""The bound pods as columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kschedweb.engine.objects.affinity import PodAffinity
from kschedweb.engine.objects.labels import Labels, Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Codes
from kschedweb.engine.state.label_groups import LabelGroups, Selection
from kschedweb.engine.values import dataclass

MANY = 4096  # moves kept at most


@dataclass(frozen=True, slots=True)
class Terms:
    """Affinity terms that pods of one ``namespace`` share."""

    namespace: str
    affinity: PodAffinity


class PodDelta(NamedTuple):
    """A pod of a group and a term set (-1: none) that came to a node (``sign`` 1) or left it (-1)."""

    group: int
    terms: int
    node: int
    sign: int


class PodTable:
    """Pods on nodes: ``node[slot]`` is the node's position, or -1 if the slot is free.

    ``group[slot]`` is an index into ``groups``; ``terms[slot]`` one into ``term_sets``, -1 for pods without pod
    affinity. ``version`` is the number of moves so far.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self.pods: list[Pod | None] = []
        self.slots: dict[str, int] = {}
        self.groups = LabelGroups()
        self.term_sets: list[Terms] = []
        self.unreadable: list[int] = []  # codes of term sets with a selector that cannot be parsed
        self._term_codes: dict[Terms, int] = {}
        self._templates: dict[int, int] = {}  # template -> code of its terms
        self._guards, self._wishes = _SelectorIndex(), _SelectorIndex()
        self._columns = np.full((3, 16), -1, dtype=np.int32)
        self._moves: list[PodDelta] = []
        self._forgotten = 0
        self.refreshed = 0  # pods whose objects were replaced

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
    def is_overgrown(self) -> bool:
        """Whether most groups and term sets are of pods that are gone, so that a new table should be made."""
        return len(self.groups) + len(self.term_sets) > 4 * len(self.slots) + MANY

    @property
    def version(self) -> int:
        return self._forgotten + len(self._moves)

    def moves_since(self, since: int) -> list[PodDelta] | None:
        """The moves after version ``since``, or ``None`` if they are no longer kept."""
        return self._moves[since - self._forgotten :] if since >= self._forgotten else None

    def copy(self) -> PodTable:
        """An independent copy; what never changes is shared."""
        other = PodTable(self._nodes)
        other.pods, other.slots = list(self.pods), dict(self.slots)
        other.groups, other.term_sets = self.groups, list(self.term_sets)
        other.unreadable = list(self.unreadable)
        other._term_codes = dict(self._term_codes)
        other._templates = dict(self._templates)
        other._guards, other._wishes = self._guards.copy(), self._wishes.copy()
        other._columns = self._columns.copy()
        other._forgotten = self.version
        return other

    def add_pod(self, pod: Pod, node: int) -> None:
        slot = len(self.pods)
        if slot == self._columns.shape[1]:
            wider = np.full((3, 2 * slot), -1, dtype=np.int32)
            wider[:, :slot] = self._columns
            self._columns = wider
        group, terms = self.groups.code_of(pod), self._term_code(pod)
        self.pods.append(pod)
        self.slots[pod.key] = slot
        columns = self._columns
        columns[0, slot], columns[1, slot], columns[2, slot] = node, group, terms
        self._record_move(PodDelta(group, terms, node, 1))

    def refresh_pod(self, pod: Pod) -> None:
        """Replace the object of a bound pod by a newer one of the same signature."""
        self.pods[self.slots[pod.key]] = pod
        self.refreshed += 1

    def remove_pod(self, key: str) -> tuple[Pod, int]:
        """Remove the pod; returns it and its node's position. Raises KeyError if it is not in the table."""
        slot = self.slots.pop(key)
        pod = self.pods[slot]
        node, group, terms = self._columns[:, slot].tolist()
        assert pod is not None
        self._free_slot(slot, int(np.flatnonzero(self.node == node)[-1]))
        self._record_move(PodDelta(group, terms, node, -1))
        if len(self.pods) > 2 * len(self.slots) + MANY:
            self._compact_slots()
        return pod, node

    def _free_slot(self, slot: int, last: int) -> None:
        """Empty ``slot``. The last pod of the node takes its place in the order, as in kube-scheduler's NodeInfo."""
        moved = self.pods[last]
        if slot != last and moved is not None:
            self.pods[slot] = moved
            self.slots[moved.key] = slot
            self._columns[:, slot] = self._columns[:, last]
        self.pods[last] = None
        self._columns[:, last] = -1

    def pods_on(self, node: int) -> list[Pod]:
        """The pods on a node in the order in which they came, but the last takes the place of one that leaves."""
        return [pod for slot in np.flatnonzero(self.node == node) if (pod := self.pods[slot]) is not None]

    def nodes_of(self, selection: Selection) -> Codes:
        """The nodes of the pods that match, once for each pod."""
        return self.node[self.groups.match_selection(selection)[self.group]]

    def guards_about(self, labels: Labels) -> list[int]:
        """Codes of the term sets whose required anti-affinity may match a pod with ``labels``; no other set does."""
        return self._guards.find_candidates(labels)

    @property
    def has_required_anti_affinity(self) -> bool:
        """Whether some term set has required anti-affinity."""
        return not self._guards.is_empty

    def wishes_about(self, labels: Labels) -> list[int]:
        """Codes of the term sets of which another kind of term may match a pod with ``labels``; no other set does."""
        return self._wishes.find_candidates(labels)

    def _term_code(self, pod: Pod) -> int:
        affinity = pod.pod_affinity
        if not affinity.present:
            return -1
        code = self._templates.get(pod.template)
        if code is None:
            code = self._templates[pod.template] = self._term_set_code(Terms(pod.namespace, affinity))
        return code

    def _term_set_code(self, terms: Terms) -> int:
        code = self._term_codes.get(terms)
        if code is None:
            code = self._term_codes[terms] = len(self.term_sets)
            self.term_sets.append(terms)
            if terms.affinity.is_unreadable:
                self.unreadable.append(code)
            for term in terms.affinity.anti_required:
                self._guards.add_selector(code, term.selector)
            for term in (*terms.affinity.required, *(term for term, _ in terms.affinity.weighted_terms)):
                self._wishes.add_selector(code, term.selector)
        return code

    def _record_move(self, move: PodDelta) -> None:
        self._moves.append(move)
        if len(self._moves) >= 2 * MANY:
            # Followers that look often enough have seen the older half.
            self._forgotten += MANY
            del self._moves[:MANY]

    def _compact_slots(self) -> None:
        """Remove the free slots; the order of the pods stays."""
        used_slots = [slot for slot, pod in enumerate(self.pods) if pod is not None]
        self.pods = [self.pods[slot] for slot in used_slots]
        self._columns = self._columns[:, used_slots]
        self.slots = {pod.key: slot for slot, pod in enumerate(self.pods) if pod is not None}


class Follower:
    """A count over the placed pods that is updated with their moves."""

    def __init__(self, pods: PodTable) -> None:
        self._pods, self._version = pods, -1

    def _catch_up(self) -> None:
        moves = self._pods.moves_since(self._version) if self._version >= 0 else None
        if moves is None:
            self._recount_all()
        elif moves:
            self._apply_moves(moves)
        self._version = self._pods.version

    def _recount_all(self) -> None:
        raise NotImplementedError

    def _apply_moves(self, moves: list[PodDelta]) -> None:
        raise NotImplementedError


class _SelectorIndex:
    """Codes of term sets by the labels that their selectors require to have one value."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}  # keys -> values -> codes

    def copy(self) -> _SelectorIndex:
        other = _SelectorIndex()
        other._codes = {
            keys: {values: list(codes) for values, codes in table.items()} for keys, table in self._codes.items()
        }
        return other

    @property
    def is_empty(self) -> bool:
        return not self._codes

    def add_selector(self, code: int, selector: Selector) -> None:
        if not selector.nothing:
            keys, values = zip(*selector.equalities, strict=True) if selector.equalities else ((), ())
            self._codes.setdefault(keys, {}).setdefault(values, []).append(code)

    def find_candidates(self, labels: Labels) -> list[int]:
        """The codes of selectors that may match ``labels``, each once."""
        codes: list[int] = []
        for keys, table in self._codes.items():
            codes += table.get(tuple([labels.get(key, "") for key in keys]), ())
        return list(dict.fromkeys(codes))
