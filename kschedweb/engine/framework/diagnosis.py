"""Reasons why nodes do not take a pod."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.explanation import EXCLUDED, FilterColumn
from kschedweb.engine.framework.status import Code, Status, fit_error, unresolvable
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.values import dataclass

NO_REASON = unresolvable()
# The name that rejections by extenders have in place of a plugin's.
EXTENDER = "Extender"


@dataclass(slots=True)
class Diagnosis:
    """The findings of a cycle about the nodes that do not take the pod."""

    names: list[str]
    index: dict[str, int]
    filters: list[FilterColumn]
    # int32[nodes]: as in Explanation, an index into ``filters``, or -1 or -2 for nodes that no filter rejected.
    rejected_by: Codes
    # The status of every node that no filter rejected.
    absent: Status = NO_REASON
    # Message of a PreFilter that rejected the pod outright.
    pre_filter: str = ""
    # Statuses from extenders by node name. They take precedence over ``rejected_by``.
    extra: dict[str, Status] = field(default_factory=dict)
    # Number of nodes in the cluster; ``None`` if ``names`` are all of them.
    number: int | None = None

    @property
    def unschedulable_plugins(self) -> frozenset[str]:
        """The plugins that rejected the pod, without extenders."""
        plugins = {self.absent.plugin} | {status.plugin for status in self.extra.values()}
        for position, column in enumerate(self.filters):
            if len(column.verdicts) > 1:
                present = np.bincount(column.codes[self.rejected_by == position], minlength=len(column.verdicts))
                plugins |= {column.verdicts[code].plugin for code in np.flatnonzero(present).tolist()}
        return frozenset(plugins - {""})

    def status_at(self, name: str) -> Status:
        """Return the status of the node ``name``, which need not exist."""
        if name in self.extra:
            return self.extra[name]
        by = int(self.rejected_by[self.index[name]]) if name in self.index else EXCLUDED
        if by < 0:
            return self.absent
        column = self.filters[by]
        return column.verdicts[int(column.codes[self.index[name]])].decisive

    def nodes_for_status_code(self, code: Code) -> NDArray[np.intp]:
        """Return the positions of the nodes whose status has ``code``, in node order."""
        mask: Mask = (self.rejected_by < 0) & (self.absent.code is code)
        for position, column in enumerate(self.filters):
            having = np.array([status.code is code for status in column.verdicts], dtype=np.bool_)
            if having.any():
                mask |= (self.rejected_by == position) & having[column.codes]
        for name, status in self.extra.items():
            if name in self.index:
                mask[self.index[name]] = status.code is code
        return np.flatnonzero(mask)

    @classmethod
    def of_pre_filter(
        cls, names: list[str], index: dict[str, int], status: Status, number: int | None = None
    ) -> Diagnosis:
        """Return the diagnosis of a pod that PreFilter rejected with ``status``."""
        rejected_by = np.full(len(names), EXCLUDED, dtype=np.int32)
        return cls(names, index, [], rejected_by, status, status.message, number=number)

    @property
    def explicit_count(self) -> int:
        """The number of nodes that have a status of their own."""
        extra_names = {name for name in self.extra if name not in self.index or self.rejected_by[self.index[name]] < 0}
        return int(np.count_nonzero(self.rejected_by >= 0)) + len(extra_names)

    @property
    def _num_all_nodes(self) -> int:
        return len(self.names) if self.number is None else self.number

    def message(self, post_filter: str = "") -> str:
        """Return the text of kube-scheduler's FitError."""
        return fit_error(self._num_all_nodes, self._count_reasons().items(), self.pre_filter, post_filter)

    def _count_reasons(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        rejected_by = self.rejected_by
        if self.extra:
            rejected_by = rejected_by.copy()
            # An extender's status replaces the filter's, so these nodes must not be counted twice.
            rejected_by[[self.index[name] for name in self.extra if name in self.index]] = EXCLUDED
        for position, column in enumerate(self.filters):
            numbers = np.bincount(column.codes[rejected_by == position], minlength=len(column.verdicts))
            for status, number in zip(column.verdicts, numbers.tolist(), strict=True):
                for reason in status.decisive.reasons:
                    counts[reason] += number
        for status in self.extra.values():
            counts.update(status.reasons)
        unknown = self._num_all_nodes - self.explicit_count
        for reason in self.absent.reasons if unknown > 0 else ():
            counts[reason] += unknown
        return counts
