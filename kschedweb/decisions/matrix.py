"""An explanation as funnel and matrix: all that can be shown of it without the snapshot."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.parts import Cell, FilterVerdict, NodeRow, Stage
from kschedweb.decisions.words import Reading
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE

if TYPE_CHECKING:
    from kschedweb.engine import Explanation, Status

# The longest matrix on one page, and the length of its pages if it is longer.
ONE_PAGE, PAGE_SIZE = 200, 100
BEST, PRE_FILTER = "feasible", "prefilter"


class Matrix:
    """One pod on every node. ``other`` is the explanation of the same pod under another policy."""

    all_reasons = False  # whether every filter runs on every node, and all reasons count
    shows_differences_only = False  # whether the chart leaves out scores that are equal on all nodes

    def __init__(self, explanation: Explanation, other: Explanation | None = None) -> None:
        self.explanation = explanation
        self.other = other
        self.ranks = _ranks(explanation)
        # Totals can be compared.
        self.comparable = other is None or explanation.scale == other.scale
        totals = explanation.total
        # Best first; nodes with equal totals keep the scheduler's order.
        self.order = np.argsort(-totals, kind="stable") if totals.size else np.zeros(0, dtype=np.intp)

    @cached_property
    def places(self) -> dict[int, int]:
        """The index of each feasible node among the scores."""
        return {node: index for index, node in enumerate(self.explanation.feasible.tolist())}

    @property
    def ceiling(self) -> int:
        """The highest total that the weights allow."""
        return sum(self.scale * column.weight for column in self.explanation.scores)

    @property
    def scale(self) -> int:
        """The highest score of a plugin before its weight."""
        return self.explanation.scale

    def stages(self) -> list[Stage]:
        """The funnel from all nodes to the chosen one, without the filters in ``quiet``."""
        found, total = self.explanation, len(self.explanation.nodes)
        stages, left = [Stage("", "All nodes", total, 0, total, kind="all")], total
        excluded = int(np.count_nonzero(found.rejected_by == EXCLUDED))
        if excluded:
            left -= excluded
            reason = found.pre_filter.message if found.pre_filter else "not among the nodes that PreFilter named"
            stages.append(Stage(PRE_FILTER, "PreFilter", left, excluded, total, reason))
        for position, column in enumerate(found.filters):
            here = found.rejected_by == position
            lost = int(np.count_nonzero(here))
            if lost or self._tells_all(position):
                left -= lost
                told = column.codes != 0 if self.all_reasons else here
                stages.append(Stage(column.plugin, column.plugin, left, lost, total, self._reasons(position, told)))
        stages.append(Stage(BEST, "Feasible", left, 0, total, kind="feasible"))
        if left:
            best = len(found.best)
            top = int(found.total.max())
            note = f"total {top}" if best == 1 else f"{best} nodes share total {top}"
            stages.append(Stage("best", "Best score", best, left - best, total, note, kind="chosen"))
        return stages

    def quiet(self) -> dict[str, list[str]]:
        """The filters that rejected no node: those that ran, and those that were skipped."""
        lossy = set(np.unique(self.explanation.rejected_by).tolist())
        quiet = [
            column
            for position, column in enumerate(self.explanation.filters)
            if position not in lossy and not self._tells_all(position)
        ]
        return {
            "passed": [column.plugin for column in quiet if not column.skipped],
            "skipped": [column.plugin for column in quiet if column.skipped],
            "missing": self.missing(),
        }

    def _tells_all(self, position: int) -> bool:
        """Whether a filter's reasons count although earlier filters rejected all of its nodes."""
        return self.all_reasons and bool(self.explanation.filters[position].codes.any())

    def _reasons(self, position: int, here: np.ndarray) -> str:
        column, counts = self.explanation.filters[position], Counter[str]()
        for code, number in zip(*np.unique(column.codes[here], return_counts=True), strict=True):
            for reason in column.verdicts[int(code)].reasons:
                counts[reason] += int(number)
        return ", ".join(f"{number} {reason}" for reason, number in counts.most_common(4))

    def positions(self, stage: str) -> list[int]:
        """The nodes of a stage ("" for all): feasible ones best first, then rejected ones by filter and reason."""
        found = self.explanation
        feasible: list[int] = found.feasible[self.order].tolist()
        if stage == BEST:
            return feasible
        if stage == "best":
            return list(found.best)
        rejected = self._rejected()
        if not stage:
            return feasible + rejected
        if stage == PRE_FILTER:
            return [node for node in rejected if found.rejected_by[node] == EXCLUDED]
        names = [column.plugin for column in found.filters]
        wanted = names.index(stage) if stage in names else -9
        return [node for node in rejected if found.rejected_by[node] == wanted]

    def _rejected(self) -> list[int]:
        """The rejected nodes by filter and reason, then in the scheduler's order."""
        found = self.explanation
        codes = np.zeros(len(found.rejected_by), dtype=np.int64)
        for position, column in enumerate(found.filters):
            here = found.rejected_by == position
            codes[here] = column.codes[here]
        verdicts = list(zip(found.rejected_by.tolist(), codes.tolist(), strict=True))
        nodes: list[int] = np.flatnonzero(found.rejected_by != FEASIBLE).tolist()
        one_of = {verdicts[node]: node for node in nodes}
        keys = {verdict: self._group(node) for verdict, node in one_of.items()}
        nodes.sort(key=lambda node: keys[verdicts[node]])
        return nodes

    def _group(self, node: int) -> tuple[int, tuple[str, ...]]:
        verdict = self.explanation.verdict_at(node)
        # Nodes that passed more filters come first.
        return -int(self.explanation.rejected_by[node]), verdict.reasons if verdict else ()

    def rows(self, positions: list[int]) -> list[NodeRow]:
        """The matrix rows of these nodes, in this order."""
        found = self.explanation
        at = self.places
        top = int(found.total.max()) if found.total.size else 0
        others = self._others()
        rows = []
        for node in positions:
            name = found.nodes[node]
            if node not in at:
                rows.append(
                    NodeRow(name, status=found.verdict_at(node), reading=self.reading(node), other=others.get(name))
                )
                continue
            index = at[node]
            total, other = int(found.total[index]), others.get(name)
            held = total if self.comparable else -self.ranks[index]
            cells = tuple(
                _cell(column.plugin, int(column.raw[index]), int(column.normalized[index]), column.weight, self.scale)
                for column in found.scores
            )
            difference = None if other is None else (other if self.comparable else -other) - held
            rows.append(
                NodeRow(
                    name,
                    self.ranks[index],
                    total,
                    total - top,
                    node == found.chosen,
                    cells,
                    None,
                    None,
                    other,
                    difference,
                )
            )
        return rows

    def _others(self) -> dict[str, int]:
        """The other policy's totals of its feasible nodes, or their ranks if totals cannot be compared."""
        if self.other is None:
            return {}
        held = self.other.total.tolist() if self.comparable else _ranks(self.other)
        return {self.other.nodes[node]: int(one) for node, one in zip(self.other.feasible.tolist(), held, strict=True)}

    def read(self, node: int, status: Status) -> Reading | None:
        """The plain reading of a filter's verdict; ``None`` if there is only its own message."""
        return None

    def missing(self) -> list[str]:
        """Filters and extenders that were not evaluated."""
        return [f"extender {url}" for url in self.explanation.unasked]

    def reading(self, node: int) -> Reading | None:
        """The plain reading of the decisive verdict on a node; ``None`` if it is feasible."""
        status = self.explanation.verdict_at(node)
        if self.explanation.rejected_by[node] == EXCLUDED:
            why = status.message if status else "PreFilter named other nodes"
            return Reading(f"{self.explanation.nodes[node]} was not looked at: {why}")
        return None if status is None else self.read(node, status)

    def verdicts(self, node: int) -> list[FilterVerdict]:
        """Every filter's verdict on a node, in the scheduler's order."""
        found = self.explanation
        verdicts = []
        if found.rejected_by[node] == EXCLUDED:
            verdicts.append(FilterVerdict("PreFilter", "fail", found.verdict_at(node), True, self.reading(node)))
        for position, column in enumerate(found.filters):
            code = int(column.codes[node])
            if column.skipped or code == 0:
                verdicts.append(FilterVerdict(column.plugin, "skip" if column.skipped else "pass"))
                continue
            status = column.verdicts[code]
            reading = self.read(node, status)
            verdicts.append(FilterVerdict(column.plugin, "fail", status, found.rejected_by[node] == position, reading))
        return verdicts

    def decided_by(self, first: int, second: int) -> str:
        """The plugin that gave the best node most of its lead."""
        column = max(self.explanation.scores, key=lambda item: int(item.weighted[first] - item.weighted[second]))
        return column.plugin


def page_size(rows: int) -> int:
    """The number of rows on one page of a matrix with ``rows`` rows."""
    return ONE_PAGE if rows <= ONE_PAGE else PAGE_SIZE


def _cell(plugin: str, raw: int, normalized: int, weight: int, scale: int) -> Cell:
    return Cell(plugin, raw, normalized, weight, normalized * weight, min(6, normalized * 7 // (scale + 1)))


def _ranks(explanation: Explanation) -> list[int]:
    """1 for the best; equal totals share a rank."""
    totals = np.sort(-explanation.total)
    ranks: list[int] = (np.searchsorted(totals, -explanation.total, side="left") + 1).tolist()
    return ranks
