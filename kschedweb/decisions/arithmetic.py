"""The arithmetic of one cell of the matrix: inputs, the formula with numbers, normalisation, weight.

The numbers are those that the plugins read. ``computed`` is the result of the shown steps and equals the engine's raw
score; tests check that for every presenter with arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters import get_presenter
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.decisions.matrix.matrix import Matrix
    from kschedweb.engine.framework.explanation import ScoreColumn


def explain_score(matrix: Matrix, case: Case, node: int, plugin: str) -> Arithmetic:
    """The arithmetic of ``plugin`` on the node at position ``node``; ``error`` says why there is none."""
    name = matrix.explanation.nodes[node]
    score_cell = find_score(matrix, node, plugin)
    if isinstance(score_cell, str):
        return Arithmetic(name, plugin, "", error=score_cell)
    column, index = score_cell
    raw, final = int(column.raw[index]), int(column.normalized[index])
    plugin_presenter = get_presenter(plugin)
    result = Arithmetic(name, plugin, str(plugin_presenter.description))
    plugin_presenter.work(case, node, result)
    result.steps.append(ArithmeticStep(gettext("Raw score"), gettext("from the plugin"), str(raw)))
    formula = plugin_presenter.normalization(column.raw.tolist(), raw)
    result.steps.append(ArithmeticStep(gettext("Normalised over the feasible nodes"), formula, str(final)))
    result.steps.append(ArithmeticStep(gettext("Weight"), f"{final} × {column.weight}", str(final * column.weight)))
    result.steps.append(explain_total(matrix, node))
    return result


def find_score(matrix: Matrix, node: int, plugin: str) -> tuple[ScoreColumn, int] | str:
    """The plugin's column and the node's place in it, or the reason why there is none."""
    column = next((item for item in matrix.explanation.scores if item.plugin == plugin), None)
    if column is None:
        # A plugin without the point Score has no column; one that skipped Score has none either.
        return gettext("%(plugin)s scored no node for this pod.") % {"plugin": plugin}
    index = matrix.places.get(node)
    if index is None:
        return gettext("%(nodes)s was rejected, so it has no score.") % {"nodes": matrix.explanation.nodes[node]}
    return column, index


def explain_total(matrix: Matrix, node: int) -> ArithmeticStep:
    """The node's total over all plugins, its rank, and its lead over the runner-up or distance from the best."""
    row = matrix.rows([node])[0]
    parts = " + ".join(f"{cell.plugin} {cell.weighted}" for cell in row.cells)
    totals = np.sort(matrix.explanation.total)[::-1]
    if row.margin:
        place = gettext("%(behind)s behind the best") % {"behind": f"{row.behind:,}"}
    elif len(totals) == 1:
        place = gettext("the only feasible node")
    elif totals[1] == totals[0]:
        place = gettext("shared with %(other_nodes)s") % {
            "other_nodes": format_count(int((totals == totals[0]).sum()) - 1, "other nodes")
        }
    else:
        place = gettext("%(int)s ahead of the next") % {"int": f"{int(totals[0] - totals[1]):,}"}
    assert row.place is not None
    return ArithmeticStep(
        gettext("Total, rank %(rank)s of %(totals)s") % {"rank": f"{row.place.rank:,}", "totals": f"{len(totals):,}"},
        f"{parts}; {place}",
        f"{row.place.total:,}",
    )
