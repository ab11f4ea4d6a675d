"""Groups of pods with equal namespace and labels, as columns: a selector is matched against all groups at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

import numpy as np

from kschedweb.engine.objects.labels import Requirement, Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.values import dataclass

# Masks of selections kept at most; above it all are dropped.
MANY = 4096


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """Namespace, labels and deletion of a pod, which are all that selectors read. Many pods share a group."""

    namespace: str
    labels: dict[str, str]
    terminating: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """The pods that meet all conditions."""

    # (namespaces, selector); None for all namespaces.
    conditions: tuple[tuple[frozenset[str] | None, Selector], ...]
    # True if pods that are being deleted match too.
    terminating: bool = True


class LabelGroups:
    """The label groups by code; the code of a group never changes."""

    def __init__(self) -> None:
        self._groups: list[LabelGroup] = []
        self._codes: dict[Hashable, int] = {}
        self._labels: dict[str, _Column] = {}
        self._namespaces = _Column(lambda group: group.namespace)
        self._terminating = _Column(lambda group: "" if group.terminating else None)
        self._masks: dict[Selection, Mask] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def copy(self) -> LabelGroups:
        """Return a copy with the same codes, which can grow independently."""
        other = LabelGroups()
        other._groups, other._codes = list(self._groups), dict(self._codes)
        return other

    def code_of(self, pod: Pod) -> int:
        """Return the code of the pod's group, a new one if needed."""
        code = self._codes.get(pod.seen_by_selectors)
        if code is None:
            code = self._codes[pod.seen_by_selectors] = len(self._groups)
            self._groups.append(LabelGroup(pod.namespace, pod.labels, pod.terminating))
        return code

    def match_selection(self, selection: Selection) -> Mask:
        """Return the groups that match. Shape [groups + 1]; the last entry, for code -1, is False."""
        cached = self._masks.get(selection)
        if cached is None or len(cached) <= len(self._groups):
            mask = np.zeros(len(self._groups) + 1, dtype=np.bool_)
            # Only groups that were added since are matched.
            first = 0 if cached is None else len(cached) - 1
            if cached is not None:
                mask[:first] = cached[:-1]
            mask[first:-1] = self._match_new_groups(selection, first)
            if len(self._masks) >= MANY:
                self._masks.clear()
            self._masks[selection] = cached = mask
        return cached

    def _match_new_groups(self, selection: Selection, first: int) -> Mask:
        """Return the mask of the groups from code ``first`` on that match."""
        mask = np.ones(len(self._groups) - first, dtype=np.bool_)
        if not selection.terminating:
            mask &= self._terminating.codes_from(self._groups, first) < 0
        for namespaces, selector in selection.conditions:
            if selector.nothing:
                mask[:] = False
            if namespaces is not None:
                mask &= self._namespaces.match_values(namespaces, self._groups, first)
            for requirement in selector.requirements:
                mask &= self._match_requirement(requirement, first)
        return mask

    def _match_requirement(self, requirement: Requirement, first: int) -> Mask:
        column = self._labels.get(requirement.key)
        if column is None:
            key = requirement.key
            column = self._labels[key] = _Column(lambda group: group.labels.get(key))
        if requirement.operator in ("In", "NotIn"):
            having = column.match_values(requirement.values, self._groups, first)
            return having if requirement.operator == "In" else ~having
        present: Mask = column.codes_from(self._groups, first) >= 0
        return present if requirement.operator == "Exists" else ~present


class _Column:
    """One property of the groups as codes, -1 where a group lacks it; grows with the list of groups."""

    def __init__(self, value: Callable[[LabelGroup], str | None]) -> None:
        self._value = value
        self._code_by_value: dict[str | None, int] = {None: -1}
        self._codes: Codes = np.zeros(16, dtype=np.int32)
        self._size = 0

    def codes_from(self, groups: list[LabelGroup], first: int) -> Codes:
        """Return the codes of ``groups`` from ``first`` on."""
        if len(groups) > len(self._codes):
            self._codes = np.append(self._codes, np.zeros(len(groups), dtype=np.int32))
        for position in range(self._size, len(groups)):
            self._codes[position] = self._code_by_value.setdefault(
                self._value(groups[position]), len(self._code_by_value) - 1
            )
        self._size = max(self._size, len(groups))
        return self._codes[first : len(groups)]

    def match_values(self, values: Collection[str], groups: list[LabelGroup], first: int) -> Mask:
        """Return the mask of the ``groups`` from ``first`` on that have one of ``values``."""
        codes = self.codes_from(groups, first)
        value_codes = [self._code_by_value[value] for value in values if value in self._code_by_value]
        return codes == value_codes[0] if len(value_codes) == 1 else np.isin(codes, value_codes)
