"""An explanation as funnel and matrix: all that can be shown of it without the snapshot."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.matrix import order, rejected
from kschedweb.decisions.matrix.columns import Columns
from kschedweb.decisions.parts import Against, Cell, Cost, FilterVerdict, NodeRow, Stage
from kschedweb.engine.framework.explanation import EXCLUDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.decisions.parts import VerdictGroup

# The longest matrix on one page, and the length of its pages if it is longer.
ONE_PAGE, PAGE_SIZE = 200, 100
BEST, PRE_FILTER = "feasible", "prefilter"


class Matrix(Columns):
    """The columns as rows of nodes."""

    def stages(self) -> list[Stage]:
        """The funnel from all nodes to the chosen one, without the filters in ``quiet``."""
        found, total = self.explanation, len(self.explanation.nodes)
        stages, left = [Stage("", gettext("All nodes"), total, 0, total, kind="all")], total
        excluded = int(np.count_nonzero(found.rejected_by == EXCLUDED))
        if excluded:
            left -= excluded
            reason = (
                found.pre_filter.message if found.pre_filter else gettext("not among the nodes that PreFilter named")
            )
            stages.append(Stage(PRE_FILTER, "PreFilter", left, excluded, total, reason))
        for position, column in enumerate(found.filters):
            here = found.rejected_by == position
            lost = int(np.count_nonzero(here))
            if lost or self._tells_all(position):
                left -= lost
                told = column.codes != 0 if self.all_reasons else here
                stages.append(Stage(column.plugin, column.plugin, left, lost, total, self._reasons(position, told)))
        stages.append(Stage(BEST, gettext("Feasible"), left, 0, total, kind="feasible"))
        if left:
            best = len(found.best)
            top = int(found.total.max())
            note = (
                gettext("total %(top)s") % {"top": f"{top:,}"}
                if best == 1
                else gettext("%(best)s nodes share total %(top)s") % {"best": f"{best:,}", "top": f"{top:,}"}
            )
            stages.append(Stage("best", gettext("Best score"), best, left - best, total, note, kind="chosen"))
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

    @cached_property
    def groups(self) -> list[VerdictGroup]:
        """The rejected nodes by verdict."""
        return rejected.groups(self)

    def listing(self, stage: str, group: VerdictGroup | None, sort: str) -> list[int]:
        """The nodes of a stage, or of a group, in the order that ``sort`` names (``order.sorted_rows``).

        Those of no stage are the feasible ones, as ``groups`` has the others.
        """
        if group is not None:
            return order.sorted_rows(self, list(group.nodes), sort)
        found = self.positions(stage or BEST)
        if not sort and stage in ("", BEST):
            return order.winners_first(self, found)
        return order.sorted_rows(self, found, sort)

    def positions(self, stage: str) -> list[int]:
        """The nodes of a stage ("" for all): feasible ones best first, then rejected ones by filter and reason."""
        found = self.explanation
        feasible: list[int] = found.feasible[self.order].tolist()
        if stage == BEST:
            return feasible
        if stage == "best":
            return list(found.best)
        away = [node for group in self.groups for node in group.nodes]
        if not stage:
            return feasible + away
        if stage == PRE_FILTER:
            return [node for node in away if found.rejected_by[node] == EXCLUDED]
        names = [column.plugin for column in found.filters]
        wanted = names.index(stage) if stage in names else -9
        return [node for node in away if found.rejected_by[node] == wanted]

    def rows(self, positions: Sequence[int], columns: Sequence[int] | None = None) -> list[NodeRow]:
        """The matrix rows of these nodes, in this order, with the scores of ``columns``, by default of all."""
        found, at = self.explanation, self.places
        top = int(found.total.max()) if found.total.size else 0
        scored = [at[node] for node in positions if node in at]
        cells = dict(zip(scored, self._cells(scored, columns), strict=True))
        chosen, there = self.winners
        rows = []
        for node in positions:
            name, index = found.nodes[node], at.get(node)
            other = None if self.other is None else self.other.at(name)
            if index is None:
                status = found.verdict_at(node)
                row = NodeRow(name, status=status, reading=self.reading(node), other=other, other_chosen=node == there)
            else:
                margin = int(found.total[index]) - top
                place = self.ranking.of(index)
                row = NodeRow(name, place, margin, node == chosen, cells[index], None, None, other, node == there)
            rows.append(row)
        return rows

    def _cells(self, scored: list[int], columns: Sequence[int] | None) -> list[tuple[Cell, ...]]:
        """The cells of the feasible nodes at ``scored`` among the scores, column by column."""
        wanted = range(len(self.explanation.scores)) if columns is None else columns
        made = []
        for at in wanted:
            column, weight = self.explanation.scores[at], self.explanation.scores[at].weight
            numbers = (column.raw[scored].tolist(), column.normalized[scored].tolist())
            steps = self.spread.steps(at)[scored].tolist()
            made.append(
                [
                    Cell(column.plugin, raw, final, weight, final * weight, step)
                    for raw, final, step in zip(*numbers, steps, strict=True)
                ]
            )
        return list(zip(*made, strict=True)) if made else [()] * len(scored)

    def against(self, node: int) -> Against | None:
        """A feasible node against the winner, or the winner against the next; ``None`` if no other is feasible."""
        index, chosen = self.places.get(node), self.explanation.chosen
        if index is None or chosen is None or len(self.places) < 2:
            return None
        first, second = self.order[:2].tolist()
        beside = self.places[chosen] if node != chosen else second if index == first else first
        found = self.explanation
        costs = [
            Cost(column.plugin, int(column.weighted[index]), int(column.weighted[beside])) for column in found.scores
        ]
        costs = sorted((one for one in costs if one.difference), key=lambda one: -one.distance)
        return Against(
            found.nodes[int(found.feasible[beside])],
            int(found.total[index] - found.total[beside]),
            tuple(one for one in costs if one.difference < 0),
            tuple(one for one in costs if one.difference > 0),
        )

    def missing(self) -> list[str]:
        """Filters and extenders that were not evaluated."""
        return [gettext("extender %(url)s") % {"url": url} for url in self.explanation.unasked]

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
