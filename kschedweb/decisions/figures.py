"""The chart of a decision's scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.web.figures import Chart, make_figure

if TYPE_CHECKING:
    from kschedweb.decisions.matrix.columns import DecisionColumns

# Columns of the heatmap; more nodes than that are grouped.
MOST_COLUMNS = 60


def build_score_chart(decision: DecisionColumns) -> Chart | None:
    """Chart how far each plugin's weighted scores are from their median, best node first.

    Plugins that give all feasible nodes the same score are left out. Many nodes are grouped by total. Returns None if
    nothing distinguishes the nodes.
    """
    explanation, spread = decision.explanation, decision.spread
    if len(explanation.feasible) < 2 or not spread.differing:
        return None
    names = [explanation.nodes[node] for node in explanation.feasible[decision.order].tolist()]
    totals, plugins = explanation.total[decision.order], [explanation.scores[at].plugin for at in spread.differing]
    weighted = np.array([explanation.scores[at].weighted[decision.order] for at in spread.differing], dtype=np.float64)
    deviations = np.array([spread.compute_deviations(at)[decision.order] for at in spread.differing])
    bins = np.array_split(np.arange(len(names)), min(MOST_COLUMNS, len(names)))
    labels = [_bin_label(names, part) for part in bins]
    means, deviations = np.round(_bin_means(weighted, bins), 1), _bin_means(deviations, bins)
    total = [_format_span(totals[part]) for part in bins]
    hover_data = [
        [
            [label, span, _format_signed(away), mean]
            for label, span, away, mean in zip(labels, total, *pair, strict=True)
        ]
        for pair in zip(deviations.tolist(), means.tolist(), strict=True)
    ]
    in_groups = "" if len(bins) == len(names) else gettext(" in %(bins)s groups") % {"bins": len(bins)}
    heatmap = make_figure(
        [
            go.Heatmap(
                x=list(range(1, len(bins) + 1)),
                y=plugins,
                z=np.round(spread.scale_deviations(deviations), 3).tolist(),
                zmin=-1,
                zmax=1,
                meta={"scale": "diverging"},
                customdata=hover_data,
                hovertemplate="%{y}<br>%{customdata[0]}<br>%{customdata[3]} points, %{customdata[2]} from the median"
                "<br>total %{customdata[1]}<extra></extra>",
                colorbar=_color_scale(spread.largest),
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
        heatmap,
        _summarize(decision, names, totals, weighted, plugins),
        [gettext("Nodes"), gettext("Total"), *plugins],
        rows,
    )


def _bin_means(values: np.ndarray, bins: list[np.ndarray]) -> np.ndarray:
    # reduceat sums each bin in one pass over the columns.
    sums: np.ndarray = np.add.reduceat(values, [int(part[0]) for part in bins], axis=1)
    return sums / [len(part) for part in bins]


def _color_scale(largest: float) -> dict[str, object]:
    """Return the colour scale, in points. It goes by square roots (``ScoreSpread.scale_deviations``)."""
    marks = [-1, -0.5, 0, 0.5, 1]
    texts = [_format_signed(np.sign(mark) * mark * mark * largest) for mark in marks]
    return {
        "title": {"text": gettext("points from<br>the median")},
        "thickness": 12,
        "tickvals": marks,
        "ticktext": texts,
    }


def _format_signed(points: float) -> str:
    text = f"{abs(points):.1f}".removesuffix(".0")
    return text if text == "0" else f"{'−' if points < 0 else '+'}{text}"


def _summarize(
    decision: DecisionColumns, names: list[str], totals: np.ndarray, weighted: np.ndarray, plugins: list[str]
) -> str:
    spread = weighted.max(axis=1) - weighted.min(axis=1)
    widest = int(spread.argmax())
    low, high = int(weighted[widest].min()), int(weighted[widest].max())
    return gettext(
        "%(names)s feasible nodes have totals from %(int)s to %(int2)s of %(ceiling)s. "
        "%(plugins)s differs most, from %(low)s to %(high)s points."
    ) % {
        "names": f"{len(names):,}",
        "int": f"{int(totals.min()):,}",
        "int2": f"{int(totals.max()):,}",
        "ceiling": f"{decision.ceiling:,}",
        "plugins": plugins[widest],
        "low": f"{low:,}",
        "high": f"{high:,}",
    }


def _bin_label(names: list[str], part: np.ndarray) -> str:
    first, last = int(part[0]), int(part[-1])
    if first == last:
        return names[first]
    return gettext("places %(value)s to %(value2)s (%(names)s … %(names2)s)") % {
        "value": f"{first + 1:,}",
        "value2": f"{last + 1:,}",
        "names": names[first],
        "names2": names[last],
    }


def _format_span(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{high:,}" if low == high else f"{low:,}–{high:,}"
