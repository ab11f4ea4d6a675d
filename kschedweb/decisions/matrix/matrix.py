"""An explanation as funnel and matrix, as far as the snapshot is not needed for it."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.matrix import order, verdict_groups
from kschedweb.decisions.matrix.columns import DecisionColumns
from kschedweb.decisions.page_parts import Cell, FilterVerdict, NodeRow, ScoreDifference, Stage, WinnerComparison
from kschedweb.engine.framework.explanation import EXCLUDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.decisions.page_parts import VerdictGroup

# The longest matrix on one page, and the length of its pages if it is longer.
ONE_PAGE, PAGE_SIZE = 200, 100
BEST, PRE_FILTER = "feasible", "prefilter"


class Matrix(DecisionColumns):
    """The columns as rows of nodes."""

    def build_stages(self) -> list[Stage]:
        """Return the funnel from all nodes to the chosen one, without the filters in ``quiet_filters``."""
        explanation, total = self.explanation, len(self.explanation.nodes)
        stages, remaining = [Stage("", gettext("All nodes"), total, 0, total, kind="all")], total
        excluded = int(np.count_nonzero(explanation.rejected_by == EXCLUDED))
        if excluded:
            remaining -= excluded
            reason = (
                explanation.pre_filter.message
                if explanation.pre_filter
                else gettext("not among the nodes that PreFilter named")
            )
            stages.append(Stage(PRE_FILTER, "PreFilter", remaining, excluded, total, reason))
        for position, column in enumerate(explanation.filters):
            is_rejected = explanation.rejected_by == position
            lost = int(np.count_nonzero(is_rejected))
            if lost or self._tells_all(position):
                remaining -= lost
                counted = column.codes != 0 if self.all_reasons else is_rejected
                stages.append(
                    Stage(column.plugin, column.plugin, remaining, lost, total, self._format_reasons(position, counted))
                )
        stages.append(Stage(BEST, gettext("Feasible"), remaining, 0, total, kind="feasible"))
        if remaining:
            best = len(explanation.best)
            top = int(explanation.total.max())
            note = (
                gettext("total %(top)s") % {"top": f"{top:,}"}
                if best == 1
                else gettext("%(best)s nodes share total %(top)s") % {"best": f"{best:,}", "top": f"{top:,}"}
            )
            stages.append(Stage("best", gettext("Best score"), best, remaining - best, total, note, kind="chosen"))
        return stages

    def quiet_filters(self) -> dict[str, list[str]]:
        """Return the filters that rejected no node: those that ran, and those that were skipped."""
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
        """Return whether a filter's reasons count although earlier filters rejected all of its nodes."""
        return self.all_reasons and bool(self.explanation.filters[position].codes.any())

    def _format_reasons(self, position: int, mask: np.ndarray) -> str:
        column, counts = self.explanation.filters[position], Counter[str]()
        for code, number in zip(*np.unique(column.codes[mask], return_counts=True), strict=True):
            for reason in column.verdicts[int(code)].reasons:
                counts[reason] += int(number)
        return ", ".join(f"{number} {reason}" for reason, number in counts.most_common(4))

    @cached_property
    def groups(self) -> list[VerdictGroup]:
        """Return the rejected nodes by verdict."""
        return verdict_groups.group_by_verdict(self)

    def list_nodes(self, stage: str, group: VerdictGroup | None, sort: str) -> list[int]:
        """Return the nodes of a stage, or of a group, in the order that ``sort`` names (``order.sorted_rows``).

        Without a stage they are the feasible ones, since ``groups`` has the others.
        """
        if group is not None:
            return order.sorted_rows(self, list(group.nodes), sort)
        positions = self.list_positions(stage or BEST)
        if not sort and stage in ("", BEST):
            return order.winners_first(self, positions)
        return order.sorted_rows(self, positions, sort)

    def list_positions(self, stage: str) -> list[int]:
        """Return the nodes of a stage ("" for all): feasible ones best first, then rejected ones by verdict."""
        explanation = self.explanation
        feasible: list[int] = explanation.feasible[self.order].tolist()
        if stage == BEST:
            return feasible
        if stage == "best":
            return list(explanation.best)
        away = [node for group in self.groups for node in group.nodes]
        if not stage:
            return feasible + away
        if stage == PRE_FILTER:
            return [node for node in away if explanation.rejected_by[node] == EXCLUDED]
        names = [column.plugin for column in explanation.filters]
        stage_index = names.index(stage) if stage in names else -9
        return [node for node in away if explanation.rejected_by[node] == stage_index]

    def rows(self, positions: Sequence[int], columns: Sequence[int] | None = None) -> list[NodeRow]:
        """Return the matrix rows of these nodes, in this order, with the scores of ``columns``, by default of all."""
        explanation, at = self.explanation, self.places
        top = int(explanation.total.max()) if explanation.total.size else 0
        scored = [at[node] for node in positions if node in at]
        cells = dict(zip(scored, self._build_cells(scored, columns), strict=True))
        chosen, other_winner = self.winners
        rows = []
        for node in positions:
            name, index = explanation.nodes[node], at.get(node)
            other = None if self.other is None else self.other.place_by_name(name)
            if index is None:
                status = explanation.verdict_at(node)
                row = NodeRow(
                    name,
                    status=status,
                    reading=self.decisive_reading(node),
                    other=other,
                    other_chosen=node == other_winner,
                )
            else:
                margin = int(explanation.total[index]) - top
                place = self.ranking.place_by_index(index)
                row = NodeRow(
                    name, place, margin, node == chosen, cells[index], None, None, other, node == other_winner
                )
            rows.append(row)
        return rows

    def _build_cells(self, scored: list[int], columns: Sequence[int] | None) -> list[tuple[Cell, ...]]:
        """Return the cells of the feasible nodes at ``scored`` among the scores, built column by column."""
        column_indices = range(len(self.explanation.scores)) if columns is None else columns
        cell_columns = []
        for at in column_indices:
            column, weight = self.explanation.scores[at], self.explanation.scores[at].weight
            numbers = (column.raw[scored].tolist(), column.normalized[scored].tolist())
            steps = self.spread.color_steps(at)[scored].tolist()
            cell_columns.append(
                [
                    Cell(column.plugin, raw, final, weight, final * weight, step)
                    for raw, final, step in zip(*numbers, steps, strict=True)
                ]
            )
        return list(zip(*cell_columns, strict=True)) if cell_columns else [()] * len(scored)

    def compare_with_winner(self, node: int) -> WinnerComparison | None:
        """Compare a feasible node with the winner, or the winner with the next. Return None if no other is feasible."""
        index, chosen = self.places.get(node), self.explanation.chosen
        if index is None or chosen is None or len(self.places) < 2:
            return None
        first, second = self.order[:2].tolist()
        rival = self.places[chosen] if node != chosen else second if index == first else first
        explanation = self.explanation
        costs = [
            ScoreDifference(column.plugin, int(column.weighted[index]), int(column.weighted[rival]))
            for column in explanation.scores
        ]
        costs = sorted((cost for cost in costs if cost.difference), key=lambda cost: -cost.distance)
        return WinnerComparison(
            explanation.nodes[int(explanation.feasible[rival])],
            int(explanation.total[index] - explanation.total[rival]),
            tuple(cost for cost in costs if cost.difference < 0),
            tuple(cost for cost in costs if cost.difference > 0),
        )

    def missing(self) -> list[str]:
        """Return the filters and extenders that were not evaluated."""
        return [gettext("extender %(url)s") % {"url": url} for url in self.explanation.unasked]

    def verdicts(self, node: int) -> list[FilterVerdict]:
        """Return every filter's verdict on a node, in the scheduler's order."""
        explanation = self.explanation
        verdicts = []
        if explanation.rejected_by[node] == EXCLUDED:
            verdicts.append(
                FilterVerdict("PreFilter", "fail", explanation.verdict_at(node), True, self.decisive_reading(node))
            )
        for position, column in enumerate(explanation.filters):
            code = int(column.codes[node])
            if column.skipped or code == 0:
                verdicts.append(FilterVerdict(column.plugin, "skip" if column.skipped else "pass"))
                continue
            status = column.verdicts[code]
            reading = self.explain_verdict(node, status)
            verdicts.append(
                FilterVerdict(column.plugin, "fail", status, explanation.rejected_by[node] == position, reading)
            )
        return verdicts

    def decided_by(self, first: int, second: int) -> str:
        """Return the plugin that gave the best node most of its lead."""
        column = max(self.explanation.scores, key=lambda item: int(item.weighted[first] - item.weighted[second]))
        return column.plugin


def page_size(rows: int) -> int:
    """Return the number of rows on one page of a matrix with ``rows`` rows."""
    return ONE_PAGE if rows <= ONE_PAGE else PAGE_SIZE
