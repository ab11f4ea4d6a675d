"""The order of the matrix's rows, and the heads of its columns, which sort it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.decisions.matrix.columns import DecisionColumns
    from kschedweb.engine.state.columns import Floats

NODE, RANK, TOTAL, MARGIN, SHARE = "node", "rank", "total", "margin", "share"
OTHER_RANK, OTHER_SHARE = "other-rank", "other-share"
# Columns that a first click sorts ascending; all others begin with the highest.
LOW_FIRST = frozenset({NODE, RANK, OTHER_RANK})


@dataclass(frozen=True)
class ColumnHead:
    """The head of a column."""

    key: str
    label: str
    # The value of ?sort= in its link, and how the rows are sorted by it now (of aria-sort).
    sort: str
    way: str
    weight: int | None = None


def sorted_rows(decision: DecisionColumns, positions: list[int], sort: str) -> list[int]:
    """Return ``positions`` by the column that ``sort`` names, descending after a "-"; unchanged if there is none.

    Nodes without a value come last.
    """
    values = _sort_values(decision, sort.removeprefix("-"))
    if values is None:
        return positions
    at = np.array(positions, dtype=np.intp)
    sort_keys = -values[at] if sort.startswith("-") else values[at]
    # argsort puts NaN last, for both directions, because only the values are negated.
    ordered: list[int] = at[np.argsort(sort_keys, kind="stable")].tolist()
    return ordered


def winners_first(decision: DecisionColumns, positions: list[int]) -> list[int]:
    """Return ``positions`` after the winners of both policies, if two are compared."""
    if decision.other is None:
        return positions
    return list(dict.fromkeys([*(node for node in decision.winners if node is not None), *positions]))


def build_heads(
    decision: DecisionColumns, columns: Sequence[int], sort: str, compared: str, *, scored: bool
) -> list[ColumnHead]:
    """Return the heads of the matrix with these columns; ``compared`` names the other policy, "" for none.

    ``scored`` says whether any row has scores.
    """
    head_parts: list[tuple[str, str, int | None]] = [(NODE, gettext("Node"), None)]
    if scored:
        head_parts += [
            (RANK, gettext("Rank"), None),
            (TOTAL, gettext("Total"), None),
            (MARGIN, gettext("Margin"), None),
        ]
    if scored and compared:
        head_parts.append((SHARE, gettext("Share"), None))
    if compared:
        head_parts += [
            (OTHER_RANK, gettext("Rank under %(compared)s") % {"compared": compared}, None),
            (OTHER_SHARE, gettext("Share under %(compared)s") % {"compared": compared}, None),
        ]
    scores = [decision.explanation.scores[at] for at in columns] if scored else []
    head_parts += [(column.plugin, column.plugin, column.weight) for column in scores]
    return [_build_head(key, label, weight, sort) for key, label, weight in head_parts]


def _build_head(key: str, label: str, weight: int | None, sort: str) -> ColumnHead:
    sort = sort or RANK
    way = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
    ascending = way == "descending" or (way == "none" and key in LOW_FIRST)
    return ColumnHead(key, label, key if ascending else f"-{key}", way, weight)


def _sort_values(decision: DecisionColumns, key: str) -> Floats | None:
    """Return a number for each node, by which a column is sorted; NaN for none. None if there is no such column."""
    explanation, values = decision.explanation, np.full(len(decision.explanation.nodes), np.nan)
    if key == NODE:
        values[np.argsort(np.array(explanation.nodes, dtype=object), kind="stable")] = np.arange(len(values))
        return values
    if key in (OTHER_RANK, OTHER_SHARE):
        return _values_under_other(decision, key)
    if key == RANK:
        values[explanation.feasible] = decision.ranking.ranks
        return values
    if key in (TOTAL, MARGIN, SHARE):
        values[explanation.feasible] = explanation.total
        return values
    column = next((candidate for candidate in explanation.scores if candidate.plugin == key), None)
    if column is None:
        return None
    values[explanation.feasible] = column.weighted
    return values


def _values_under_other(decision: DecisionColumns, key: str) -> Floats | None:
    if decision.other is None:
        return None
    values, index = np.full(len(decision.explanation.nodes), np.nan), decision.index
    other_values = decision.other.ranks if key == OTHER_RANK else decision.other.explanation.total
    names = [decision.other.explanation.nodes[node] for node in decision.other.explanation.feasible.tolist()]
    positions = np.array([index.get(name, -1) for name in names], dtype=np.intp)
    values[positions[positions >= 0]] = other_values[positions >= 0]
    return values
