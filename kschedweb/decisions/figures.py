"""Charts as plain Plotly dicts. The page adds the colours of its theme (charts.ts)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.web.figures import Chart

if TYPE_CHECKING:
    from kschedweb.decisions.matrix import Matrix

MOST_COLUMNS = 60


def scores(decision: Matrix) -> Chart | None:
    """A chart of each plugin's weighted score on each feasible node, best first; many nodes are binned by total.

    ``None`` if nothing was scored.
    """
    found = decision.explanation
    if not found.scores or len(found.feasible) < 2:
        return None
    weighted = np.array([column.weighted[decision.order] for column in found.scores], dtype=np.float64)
    names = [found.nodes[node] for node in found.feasible[decision.order].tolist()]
    totals = found.total[decision.order]
    plugins = [column.plugin for column in found.scores]
    drawn = _drawn(decision, weighted)
    bins = np.array_split(np.arange(len(names)), min(MOST_COLUMNS, len(names)))
    labels = [_label(names, part) for part in bins]
    sums = np.add.reduceat(weighted, [int(part[0]) for part in bins], axis=1)
    z = np.round(sums / [len(part) for part in bins], 1)
    total = [_span(totals[part]) for part in bins]
    figure = {
        "data": [
            {
                "type": "heatmap",
                "x": list(range(1, len(bins) + 1)),
                "y": [plugins[row] for row in drawn],
                "z": z[drawn].tolist(),
                "customdata": [[[label, span] for label, span in zip(labels, total, strict=True)]] * len(drawn),
                "hovertemplate": "%{y}<br>%{customdata[0]}<br>weighted %{z}<br>total %{customdata[1]}<extra></extra>",
                "colorscale": "Cividis",
                "colorbar": {"title": {"text": "weighted"}, "thickness": 12},
                "xgap": 1 if len(bins) <= 30 else 0,
                "ygap": 1,
            }
        ],
        "layout": {
            "height": 150 + 30 * len(drawn),
            "xaxis": {
                "title": {
                    "text": "nodes, best first"
                    if len(bins) == len(names)
                    else f"nodes in {len(bins)} groups, best first"
                }
            },
            "yaxis": {"autorange": "reversed", "automargin": True},
        },
    }
    rows = [[label, span, *z[:, index].tolist()] for index, (label, span) in enumerate(zip(labels, total, strict=True))]
    return Chart(figure, _summary(decision, names, totals, weighted, plugins), ["Nodes", "Total", *plugins], rows)


def _summary(decision: Matrix, names: list[str], totals: np.ndarray, weighted: np.ndarray, plugins: list[str]) -> str:
    spread = weighted.max(axis=1) - weighted.min(axis=1)
    most = int(spread.argmax())
    text = (
        f"{len(names)} feasible nodes have totals from {int(totals.min())} to {int(totals.max())} of {decision.ceiling}"
    )
    if spread[most] == 0:
        return f"{text}; every plugin gives all of them the same."
    low, high = int(weighted[most].min()), int(weighted[most].max())
    left_out = [plugins[row] for row in sorted(set(range(len(plugins))) - set(_drawn(decision, weighted)))]
    alike = f" The same for all, and not drawn: {', '.join(left_out)}." if left_out else ""
    return f"{text}; {plugins[most]} tells them apart most, from {low} to {high}.{alike}"


def _drawn(decision: Matrix, weighted: np.ndarray) -> list[int]:
    """The rows that are drawn: of a classic policy, where one may weigh 10,000 times another, those that tell nodes
    apart.
    """
    apart: list[int] = np.flatnonzero(weighted.max(axis=1) > weighted.min(axis=1)).tolist()
    return apart if apart and decision.shows_differences_only else list(range(len(weighted)))


def _label(names: list[str], part: np.ndarray) -> str:
    first, last = int(part[0]), int(part[-1])
    if first == last:
        return names[first]
    return f"places {first + 1} to {last + 1} ({names[first]} … {names[last]})"


def _span(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return str(high) if low == high else f"{low}–{high}"
