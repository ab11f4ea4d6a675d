"""The chart of a decision's scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.web.figures import Chart, figure

if TYPE_CHECKING:
    from kschedweb.decisions.matrix.columns import Columns

MOST_COLUMNS = 60


def scores(decision: Columns) -> Chart | None:
    """A chart of how far each plugin's weighted scores are from their median, best node first.

    Plugins that give all feasible nodes the same are left out. Many nodes are binned by total. ``None`` if nothing
    tells the nodes apart.
    """
    found, spread = decision.explanation, decision.spread
    if len(found.feasible) < 2 or not spread.differing:
        return None
    names = [found.nodes[node] for node in found.feasible[decision.order].tolist()]
    totals, plugins = found.total[decision.order], [found.scores[at].plugin for at in spread.differing]
    weighted = np.array([found.scores[at].weighted[decision.order] for at in spread.differing], dtype=np.float64)
    apart = np.array([spread.deviations(at)[decision.order] for at in spread.differing])
    bins = np.array_split(np.arange(len(names)), min(MOST_COLUMNS, len(names)))
    labels = [_label(names, part) for part in bins]
    means, apart = np.round(_means(weighted, bins), 1), _means(apart, bins)
    total = [_span(totals[part]) for part in bins]
    said = [
        [[label, span, _signed(away), mean] for label, span, away, mean in zip(labels, total, *pair, strict=True)]
        for pair in zip(apart.tolist(), means.tolist(), strict=True)
    ]
    in_groups = "" if len(bins) == len(names) else gettext(" in %(bins)s groups") % {"bins": len(bins)}
    made = figure(
        [
            go.Heatmap(
                x=list(range(1, len(bins) + 1)),
                y=plugins,
                z=np.round(spread.scaled(apart), 3).tolist(),
                zmin=-1,
                zmax=1,
                meta={"scale": "diverging"},
                customdata=said,
                hovertemplate="%{y}<br>%{customdata[0]}<br>%{customdata[3]} points, %{customdata[2]} from the median"
                "<br>total %{customdata[1]}<extra></extra>",
                colorbar=_scale(spread.largest),
                xgap=1 if len(bins) <= 30 else 0,
                ygap=1,
            )
        ],
        go.Layout(
            height=150 + 30 * len(plugins),
            xaxis={"title": {"text": gettext("nodes%(in_groups)s, best first") % {"in_groups": in_groups}}},
            yaxis={"autorange": "reversed", "automargin": True},
        ),
    )
    rows = [[label, span, *means[:, at].tolist()] for at, (label, span) in enumerate(zip(labels, total, strict=True))]
    return Chart(
        made, _summary(decision, names, totals, weighted, plugins), [gettext("Nodes"), gettext("Total"), *plugins], rows
    )


def _means(values: np.ndarray, bins: list[np.ndarray]) -> np.ndarray:
    sums: np.ndarray = np.add.reduceat(values, [int(part[0]) for part in bins], axis=1)
    return sums / [len(part) for part in bins]


def _scale(largest: float) -> dict[str, object]:
    """The scale of colours, in points: it goes by square roots (``Spread.scaled``)."""
    marks = [-1, -0.5, 0, 0.5, 1]
    texts = [_signed(np.sign(mark) * mark * mark * largest) for mark in marks]
    return {
        "title": {"text": gettext("points from<br>the median")},
        "thickness": 12,
        "tickvals": marks,
        "ticktext": texts,
    }


def _signed(points: float) -> str:
    text = f"{abs(points):.1f}".removesuffix(".0")
    return text if text == "0" else f"{'−' if points < 0 else '+'}{text}"


def _summary(decision: Columns, names: list[str], totals: np.ndarray, weighted: np.ndarray, plugins: list[str]) -> str:
    spread = weighted.max(axis=1) - weighted.min(axis=1)
    most = int(spread.argmax())
    low, high = int(weighted[most].min()), int(weighted[most].max())
    return gettext(
        "%(names)s feasible nodes have totals from %(int)s to %(int2)s of %(ceiling)s. "
        "%(plugins)s differs most, from %(low)s to %(high)s points."
    ) % {
        "names": f"{len(names):,}",
        "int": f"{int(totals.min()):,}",
        "int2": f"{int(totals.max()):,}",
        "ceiling": f"{decision.ceiling:,}",
        "plugins": plugins[most],
        "low": f"{low:,}",
        "high": f"{high:,}",
    }


def _label(names: list[str], part: np.ndarray) -> str:
    first, last = int(part[0]), int(part[-1])
    if first == last:
        return names[first]
    return gettext("places %(value)s to %(value2)s (%(names)s … %(names2)s)") % {
        "value": f"{first + 1:,}",
        "value2": f"{last + 1:,}",
        "names": names[first],
        "names2": names[last],
    }


def _span(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{high:,}" if low == high else f"{low:,}–{high:,}"
