"""The full account of one pod's cycle, as columns over nodes."""

from __future__ import annotations

from dataclasses import field, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.status import SUCCESS, Status, outside_simulation
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.columns import Codes, Ints
from kschedweb.engine.values import dataclass

# Values of Explanation.rejected_by that are no index of a filter.
FEASIBLE, EXCLUDED = -1, -2
# The score of every node if no plugin and no extender scores.
UNSCORED = 1


@lru_cache(maxsize=16)
def _zero_codes(size: int) -> Codes:
    zeros: Codes = np.zeros(size, dtype=np.int32)
    # The array is shared by all columns of that size, so writing to it must fail.
    zeros.flags.writeable = False
    return zeros


@dataclass(frozen=True, slots=True)
class FilterColumn:
    """One filter's verdict on every node."""

    plugin: str
    # True if PreFilter returned Skip, so that the filter was not called.
    skipped: bool
    # int32[nodes]: indexes ``verdicts``; 0 passes.
    codes: Codes
    # Distinct statuses; the first is success.
    verdicts: list[Status]

    @classmethod
    def for_skipped_filter(cls, plugin: str, size: int) -> FilterColumn:
        """Return the column of a filter that its PreFilter skipped. Its codes are shared and read-only."""
        return cls(plugin, True, _zero_codes(size), [SUCCESS])


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One plugin's scores of the feasible nodes, aligned with ``Explanation.feasible``."""

    plugin: str
    weight: int
    # int64[feasible]: as the plugin's Score returns them.
    raw: Ints
    # int64[feasible]: from 0 to 100, before the weight.
    normalized: Ints

    @property
    def weighted(self) -> Ints:
        return self.normalized if self.weight == 1 else self.normalized * self.weight


def _no_nodes() -> NDArray[np.intp]:
    return np.zeros(0, dtype=np.intp)


def _no_scores() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class Explanation:
    """The reasons why a pod goes to its node, or to none."""

    # The highest score that a plugin gives before its weight.
    scale: ClassVar[int] = 100

    # ``namespace/name``.
    pod: str
    profile: str
    # Names of all nodes; other columns refer to them by position.
    nodes: list[str]
    pre_enqueue: Status = SUCCESS
    # ``None`` where PreFilter passed.
    pre_filter: Status | None = None
    # The only nodes that PreFilter let through; ``None`` for all.
    pre_filter_nodes: list[str] | None = None
    filters: list[FilterColumn] = field(default_factory=list)
    # int32[nodes]: index in ``filters`` of the first filter that rejects the node, or FEASIBLE (-1), or EXCLUDED (-2)
    # where PreFilter excluded it.
    rejected_by: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    # Positions of the feasible nodes, in node order. Scores are aligned with it.
    feasible: NDArray[np.intp] = field(default_factory=_no_nodes)
    scores: list[ScoreColumn] = field(default_factory=list)
    # Plugins whose PreScore returned Skip.
    skipped: list[str] = field(default_factory=list)
    # int64[feasible]: weighted sum of the scores.
    total: Ints = field(default_factory=_no_scores)
    # Positions of the nodes with the highest total.
    best: list[int] = field(default_factory=list)
    # Position of the node that the pod goes to; ``None`` if there is none.
    chosen: int | None = None
    # The FitError without PostFilter's part; "" where the pod fits.
    message: str = ""
    # PostFilter's part of the FitError.
    post_filter: str = ""
    # Status of the nodes that PreFilter excluded while it let the pod pass.
    absent: Status | None = None
    # Addresses of the extenders that would have been asked.
    unasked: list[str] = field(default_factory=list)
    # Questions that Permit plugins would ask of people, by plugin.
    approval_requests: dict[str, Json] = field(default_factory=dict)
    # The result of PostFilter, if it was asked for and could help: an object with a ``to_dict``.
    preemption: Any = None

    @property
    def node(self) -> str:
        """The name of the node that the pod goes to; "" if there is none."""
        return "" if self.chosen is None else self.nodes[self.chosen]

    @property
    def condition(self) -> str:
        """The whole message, as in the condition PodScheduled."""
        return f"{self.message} {self.post_filter}" if self.post_filter else self.message

    def verdict_at(self, node: int) -> Status | None:
        """Return the decisive verdict on the node at a position; ``None`` where it is feasible."""
        by = int(self.rejected_by[node])
        if by == FEASIBLE:
            return None
        if by == EXCLUDED:
            return self.pre_filter
        column = self.filters[by]
        return column.verdicts[int(column.codes[node])].decisive

    def verdict(self, node: str) -> Status | None:
        """Return the decisive verdict on ``node``. Raises ValueError if there is no such node."""
        return self.verdict_at(self.nodes.index(node))

    def find_unsimulated(self) -> Status | None:
        """Return the first decisive verdict that lies outside the simulation; ``None`` if there is none."""
        for position, column in enumerate(self.filters):
            for code, status in enumerate(column.verdicts):
                if not status.simulated and np.any((column.codes == code) & (self.rejected_by == position)):
                    return status
        return None

    def leave_open(self, unknown: Status) -> None:
        """Choose no node, because a node whose verdict is ``unknown`` might be better.

        The nodes that pass are marked as undecided, too.
        """
        self.message = unknown.message
        position = next(at for at, column in enumerate(self.filters) if unknown in column.verdicts)
        column = self.filters[position]
        codes = column.codes.copy()
        codes[self.feasible] = len(column.verdicts)
        fits = outside_simulation(f"fits, and so may others: {unknown.facts[0]}").with_plugin(unknown.plugin)
        self.filters[position] = replace(column, codes=codes, verdicts=[*column.verdicts, fits])
        self.rejected_by[self.feasible] = position
        self.feasible = _no_nodes()

    @property
    def is_unscored(self) -> bool:
        """True if no plugin and no extender scores nodes; each node has a score of 1 then."""
        return bool(self.total.size) and not self.scores and bool((self.total == UNSCORED).all())

    def to_dict(self) -> Json:
        """Return the explanation in the form of the conformance files, where the real scheduler's answers are kept.

        There, ``total`` is the sum of score plugins. Without score plugins, ``scoreWithoutPlugins`` holds the score of
        each node.
        """
        result = Explanation.to_full_dict(self)
        if self.is_unscored:
            result["total"] = dict.fromkeys(result["total"], 0)
            result["scoreWithoutPlugins"] = UNSCORED
        return result

    def to_full_dict(self) -> Json:
        """Return the whole explanation as plain data, with the totals by which the node was chosen."""
        result: Json = {"pod": self.pod}
        if self.pre_filter is not None:
            result["preFilter"] = self.pre_filter.to_dict()
        if self.pre_filter_nodes is not None:
            result["preFilterNodes"] = self.pre_filter_nodes
        result["rejected"] = self._rejected_to_dict()
        result["filters"] = self._filters_to_dict()
        names = [self.nodes[node] for node in self.feasible]
        result["feasible"] = names or None
        if names:
            result.update(self._scores_to_dict(names))
        if self.unasked:
            result["extendersNotAsked"] = self.unasked
        if self.message:
            result["message"] = self.message
        if self.approval_requests:
            result["asks"] = self.approval_requests
        if self.preemption is not None:
            result["preemption"] = self.preemption.to_dict()
        return result

    def _rejected_to_dict(self) -> dict[str, Json]:
        rejected = {}
        for node in np.flatnonzero(self.rejected_by >= 0):
            verdict = self.verdict_at(int(node))
            assert verdict is not None
            rejected[self.nodes[node]] = verdict.to_dict()
        return rejected

    def _filters_to_dict(self) -> dict[str, dict[str, Json]]:
        filters = {}
        for column in self.filters:
            verdicts = [verdict.to_dict(plugin=False) for verdict in column.verdicts]
            nodes = np.flatnonzero((column.codes != 0) & (self.rejected_by != EXCLUDED))
            if nodes.size:
                filters[column.plugin] = {self.nodes[node]: verdicts[column.codes[node]] for node in nodes}
        return filters

    def _scores_to_dict(self, names: list[str]) -> Json:
        result: Json = {}
        if self.scores:
            result["scores"] = {
                column.plugin: {
                    "weight": column.weight,
                    "raw": dict(zip(names, column.raw.tolist(), strict=True)),
                    "normalized": dict(zip(names, column.normalized.tolist(), strict=True)),
                }
                for column in self.scores
            }
        if self.skipped:
            result["skippedScorePlugins"] = self.skipped
        result["total"] = dict(zip(names, self.total.tolist(), strict=True))
        result["best"] = [self.nodes[node] for node in self.best]
        if self.chosen is not None:
            result["chosen"] = self.nodes[self.chosen]
        return result
