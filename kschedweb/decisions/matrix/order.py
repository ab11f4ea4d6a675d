"""The order of the matrix's rows, and its heads, by which it is sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.decisions.matrix.columns import Columns
    from kschedweb.engine.state.columns import Floats

NODE, RANK, TOTAL, MARGIN, SHARE = "node", "rank", "total", "margin", "share"
OTHER_RANK, OTHER_SHARE = "other-rank", "other-share"
LOW_FIRST = frozenset({NODE, RANK, OTHER_RANK})  # what a first click sorts ascending


@dataclass(frozen=True)
class Head:
    """The head of a column: ``sort`` is what its link sorts by, ``way`` how the rows are sorted by it now."""

    key: str
    label: str
    sort: str
    way: str
    weight: int | None = None


def sorted_rows(judged: Columns, positions: list[int], sort: str) -> list[int]:
    """``positions`` by the column that ``sort`` names, descending after a "-"; as they are if there is none.

    Nodes without a value come last.
    """
    values = _values(judged, sort.removeprefix("-"))
    if values is None:
        return positions
    at = np.array(positions, dtype=np.intp)
    held = -values[at] if sort.startswith("-") else values[at]
    ordered: list[int] = at[np.argsort(held, kind="stable")].tolist()  # NaN is last
    return ordered


def winners_first(judged: Columns, positions: list[int]) -> list[int]:
    """``positions`` after the winners of both policies, where two are compared."""
    if judged.other is None:
        return positions
    return list(dict.fromkeys([*(node for node in judged.winners if node is not None), *positions]))


def heads(judged: Columns, columns: Sequence[int], sort: str, compared: str, *, scored: bool) -> list[Head]:
    """The heads of the matrix with these columns of scores; ``compared`` names the other policy, "" for none.

    ``scored`` says whether any row has scores.
    """
    shown: list[tuple[str, str, int | None]] = [(NODE, gettext("Node"), None)]
    if scored:
        shown += [(RANK, gettext("Rank"), None), (TOTAL, gettext("Total"), None), (MARGIN, gettext("Margin"), None)]
    if scored and compared:
        shown.append((SHARE, gettext("Share"), None))
    if compared:
        shown += [
            (OTHER_RANK, gettext("Rank under %(compared)s") % {"compared": compared}, None),
            (OTHER_SHARE, gettext("Share under %(compared)s") % {"compared": compared}, None),
        ]
    scores = [judged.explanation.scores[at] for at in columns] if scored else []
    shown += [(column.plugin, column.plugin, column.weight) for column in scores]
    return [_head(key, label, weight, sort) for key, label, weight in shown]


def _head(key: str, label: str, weight: int | None, sort: str) -> Head:
    sort = sort or RANK
    way = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
    ascending = way == "descending" or (way == "none" and key in LOW_FIRST)
    return Head(key, label, key if ascending else f"-{key}", way, weight)


def _values(judged: Columns, key: str) -> Floats | None:
    """A number for each node, by which a column is sorted; NaN where there is none. ``None`` for no column."""
    found, values = judged.explanation, np.full(len(judged.explanation.nodes), np.nan)
    if key == NODE:
        values[np.argsort(np.array(found.nodes, dtype=object), kind="stable")] = np.arange(len(values))
        return values
    if key in (OTHER_RANK, OTHER_SHARE):
        return _elsewhere(judged, key)
    if key == RANK:
        values[found.feasible] = judged.ranking.ranks
        return values
    if key in (TOTAL, MARGIN, SHARE):
        values[found.feasible] = found.total
        return values
    column = next((one for one in found.scores if one.plugin == key), None)
    if column is None:
        return None
    values[found.feasible] = column.weighted
    return values


def _elsewhere(judged: Columns, key: str) -> Floats | None:
    if judged.other is None:
        return None
    values, index = np.full(len(judged.explanation.nodes), np.nan), judged.index
    held = judged.other.ranks if key == OTHER_RANK else judged.other.explanation.total
    names = [judged.other.explanation.nodes[node] for node in judged.other.explanation.feasible.tolist()]
    known = np.array([index.get(name, -1) for name in names], dtype=np.intp)
    values[known[known >= 0]] = held[known >= 0]
    return values
