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

# Moves that are always kept for followers; twice as many are kept at most.
MANY = 4096


@dataclass(frozen=True, slots=True)
class Terms:
    """The affinity terms that pods of one namespace share."""

    namespace: str
    affinity: PodAffinity


class PodDelta(NamedTuple):
    """A move: a pod came to a node or left it."""

    # Code of the pod's label group.
    group: int
    # Code of its term set; -1 for none.
    terms: int
    # Position of the node.
    node: int
    # 1 if it came, -1 if it left.
    sign: int


class PodTable:
    """Bound pods by slot, with columns for their nodes, label groups and affinity terms."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self.pods: list[Pod | None] = []
        # Key of a pod -> its slot.
        self.slots: dict[str, int] = {}
        self.groups = LabelGroups()
        self.term_sets: list[Terms] = []
        # Codes of term sets with a selector that cannot be parsed.
        self.unreadable: list[int] = []
        self._term_codes: dict[Terms, int] = {}
        # Template of pods -> code of their terms, to hash each set of terms once.
        self._templates: dict[int, int] = {}
        # Of terms of required anti-affinity, and of all other terms.
        self._anti_affinity_index, self._other_term_index = _SelectorIndex(), _SelectorIndex()
        # One array for all three columns: it grows by doubling and is copied at once.
        self._columns = np.full((3, 16), -1, dtype=np.int32)
        self._moves: list[PodDelta] = []
        # Moves that are no longer kept.
        self._forgotten = 0
        # Counts the pods whose objects were replaced.
        self.refreshed = 0

    @property
    def node(self) -> Codes:
        """Positions of the nodes by slot; -1 for a free slot."""
        return self._columns[0, : len(self.pods)]

    @property
    def group(self) -> Codes:
        """Indexes into ``groups`` by slot."""
        return self._columns[1, : len(self.pods)]

    @property
    def terms(self) -> Codes:
        """Indexes into ``term_sets`` by slot; -1 for a pod without pod affinity."""
        return self._columns[2, : len(self.pods)]

    @property
    def is_overgrown(self) -> bool:
        """True if most groups and term sets belong to pods that are gone, so that a new table pays."""
        return len(self.groups) + len(self.term_sets) > 4 * len(self.slots) + MANY

    @property
    def version(self) -> int:
        """The number of moves so far."""
        return self._forgotten + len(self._moves)

    def moves_since(self, since: int) -> list[PodDelta] | None:
        """Return the moves after version ``since``, or ``None`` if they are no longer kept."""
        return self._moves[since - self._forgotten :] if since >= self._forgotten else None

    def copy(self) -> PodTable:
        """Return an independent copy that shares what never changes."""
        other = PodTable(self._nodes)
        other.pods, other.slots = list(self.pods), dict(self.slots)
        other.groups, other.term_sets = self.groups, list(self.term_sets)
        other.unreadable = list(self.unreadable)
        other._term_codes = dict(self._term_codes)
        other._templates = dict(self._templates)
        other._anti_affinity_index, other._other_term_index = (
            self._anti_affinity_index.copy(),
            self._other_term_index.copy(),
        )
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
        """Remove a pod; return it and its node's position. Raise KeyError if it is not in the table."""
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
        """Free ``slot`` and move the node's last pod there, as kube-scheduler's `NodeInfo` keeps its pods."""
        moved = self.pods[last]
        if slot != last and moved is not None:
            self.pods[slot] = moved
            self.slots[moved.key] = slot
            self._columns[:, slot] = self._columns[:, last]
        self.pods[last] = None
        self._columns[:, last] = -1

    def pods_on(self, node: int) -> list[Pod]:
        """Return the pods on a node, in order of arrival but for the last one, which takes a freed place."""
        return [pod for slot in np.flatnonzero(self.node == node) if (pod := self.pods[slot]) is not None]

    def nodes_of(self, selection: Selection) -> Codes:
        """Return the nodes of the pods that match, one entry per pod."""
        return self.node[self.groups.match_selection(selection)[self.group]]

    def find_anti_affinity_candidates(self, labels: Labels) -> list[int]:
        """Return codes of all term sets whose required anti-affinity may match a pod with ``labels``."""
        return self._anti_affinity_index.find_candidates(labels)

    @property
    def has_required_anti_affinity(self) -> bool:
        """True if a term set has required anti-affinity."""
        return not self._anti_affinity_index.is_empty

    def find_other_term_candidates(self, labels: Labels) -> list[int]:
        """Return codes of all term sets with another term that may match a pod with ``labels``."""
        return self._other_term_index.find_candidates(labels)

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
                self._anti_affinity_index.add_selector(code, term.selector)
            for term in (*terms.affinity.required, *(term for term, _ in terms.affinity.weighted_terms)):
                self._other_term_index.add_selector(code, term.selector)
        return code

    def _record_move(self, move: PodDelta) -> None:
        self._moves.append(move)
        if len(self._moves) >= 2 * MANY:
            # Followers that catch up often enough have read the older half.
            self._forgotten += MANY
            del self._moves[:MANY]

    def _compact_slots(self) -> None:
        """Remove the free slots and keep the order of the pods."""
        used_slots = [slot for slot, pod in enumerate(self.pods) if pod is not None]
        self.pods = [self.pods[slot] for slot in used_slots]
        self._columns = self._columns[:, used_slots]
        self.slots = {pod.key: slot for slot, pod in enumerate(self.pods) if pod is not None}


class Follower:
    """A value computed from the bound pods, updated from their moves."""

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
    """Codes of term sets, by the labels for which their selectors require one value."""

    def __init__(self) -> None:
        # Keys -> values -> codes: one lookup for each set of keys, however many selectors there are.
        self._codes: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}

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
        """Return the codes of the selectors that may match ``labels``, each once."""
        codes: list[int] = []
        for keys, table in self._codes.items():
            codes += table.get(tuple([labels.get(key, "") for key in keys]), ())
        return list(dict.fromkeys(codes))
