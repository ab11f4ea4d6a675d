"""Charts of capacity, each with a sentence and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext, ngettext

from kschedweb.engine.json_types import Json
from kschedweb.web.figures import Chart, make_figure
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from kschedweb.engine.studies.capacity.buffer import Buffer
    from kschedweb.engine.studies.capacity.capacity import CapacityFit
    from kschedweb.engine.studies.capacity.drain import Rehearsal
    from kschedweb.engine.studies.capacity.gangs import GangFit
    from kschedweb.engine.studies.capacity.sizing import Sizing

# Placeholders of Plotly within translated texts.
HOVER = {"node": "%{y}", "pods": "%{x}"}
# Most bars that can be told apart; more nodes become a histogram, or are cut.
SINGLE = 40


def fit_chart(answer: CapacityFit | GangFit) -> Chart | None:
    """Return a chart of pods by node, or for many nodes a histogram of pods per node; ``None`` if nothing fits."""
    counts = answer.by_node
    # Fullest nodes first; equal ones keep the order of the snapshot.
    order = np.lexsort((np.arange(len(counts)), -counts))
    pods_by_node = [(answer.names[node], int(counts[node])) for node in order.tolist() if counts[node]]
    if not pods_by_node:
        return None
    low, high = pods_by_node[-1][1], pods_by_node[0][1]
    span = f"{low:,}" if low == high else gettext("%(low)s to %(high)s") % {"low": f"{low:,}", "high": f"{high:,}"}
    summary = ngettext(
        "%(nodes)s of %(all)s gets %(span)s pods.", "%(nodes)s of %(all)s get %(span)s pods each.", len(pods_by_node)
    ) % {"nodes": format_count(len(pods_by_node), "nodes"), "all": f"{len(counts):,}", "span": span}  # fmt: skip
    if len(pods_by_node) <= SINGLE:
        names, numbers = [name for name, _ in pods_by_node], [number for _, number in pods_by_node]
        plot = _bar_figure(
            names,
            numbers,
            gettext("pods"),
            gettext("%(node)s: %(pods)s pods") % HOVER,
            height=120 + 18 * len(pods_by_node),
        )
        return Chart(
            plot, summary, [gettext("Node"), gettext("Pods")], [[name, number] for name, number in pods_by_node]
        )
    sizes, nodes = (part.tolist() for part in np.unique(counts, return_counts=True))
    hover = gettext("%(pods)s pods: %(nodes)s nodes") % {"pods": "%{x}", "nodes": "%{y}"}
    plot = make_figure(
        [go.Bar(x=sizes, y=nodes, hovertemplate=f"{hover}<extra></extra>")],
        go.Layout(
            height=340,
            showlegend=False,
            xaxis={"title": {"text": gettext("pods on a node")}},
            yaxis={"title": {"text": gettext("nodes")}, "rangemode": "tozero", "automargin": True},
        ),
    )
    rows: list[list[object]] = [[number, count] for number, count in zip(sizes, nodes, strict=True)]
    return Chart(plot, summary, [gettext("Pods on a node"), gettext("Nodes")], rows)


def nodes_chart(answer: Sizing) -> Chart | None:
    """Return a chart of pods that do not fit over the tried numbers of new nodes; ``None`` for a single number."""
    attempts = list(answer.unplaced_by_nodes.items())
    if len(attempts) < 2:
        return None
    hover = gettext("%(nodes)s new nodes: %(pods)s pods do not fit") % {"nodes": "%{x}", "pods": "%{y}"}
    plot = make_figure(
        [
            go.Scatter(
                mode="lines+markers",
                x=[added for added, _ in attempts],
                y=[unplaced for _, unplaced in attempts],
                hovertemplate=f"{hover}<extra></extra>",
            )
        ],
        go.Layout(
            height=340,
            showlegend=False,
            xaxis={"title": {"text": gettext("new nodes")}, "rangemode": "tozero"},
            yaxis={"title": {"text": gettext("pods that do not fit")}, "rangemode": "tozero", "automargin": True},
        ),
    )
    summary = gettext("%(count)s numbers of new nodes were tried, from %(first)s to %(last)s.") % {
        "count": f"{len(attempts):,}", "first": f"{attempts[0][0]:,}", "last": f"{attempts[-1][0]:,}",
    }  # fmt: skip
    return Chart(
        plot,
        summary,
        [gettext("New nodes"), gettext("Pods that do not fit")],
        [[added, unplaced] for added, unplaced in attempts],
    )


def drain_chart(answer: Rehearsal) -> Chart:
    """Return a chart of what becomes of the pods of each node, in the order of the drains."""
    charted_nodes = answer.nodes[:SINGLE]
    parts = (
        (gettext("moved"), [len(node.moves) for node in charted_nodes]),
        # A pod that is blocked for several reasons counts once.
        (gettext("blocking"), [len({block.pod for block in node.blocks}) for node in charted_nodes]),
        (gettext("left alone"), [len(node.stays) for node in charted_nodes]),
    )
    names = [node.name for node in charted_nodes]
    plot = make_figure(
        [
            go.Bar(
                orientation="h",
                name=name,
                y=names,
                x=values,
                hovertemplate=f"%{{y}}: %{{x}} {name}<extra></extra>",
            )
            for name, values in parts
        ],
        go.Layout(
            height=150 + 24 * len(names),
            barmode="stack",
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
            xaxis={"title": {"text": gettext("pods")}, "rangemode": "tozero"},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
        ),
    )
    totals = [sum(values) for _, values in parts]
    summary = gettext("Pods that move: %(moved)s; that block: %(blocking)s; that are left alone: %(left)s.") % {
        "moved": f"{totals[0]:,}", "blocking": f"{totals[1]:,}", "left": f"{totals[2]:,}",
    }  # fmt: skip
    if len(answer.nodes) > len(charted_nodes):
        first = gettext("The first %(shown)s of %(all)s nodes.")
        summary = first % {"shown": len(charted_nodes), "all": f"{len(answer.nodes):,}"} + f" {summary}"
    rows: list[list[object]] = [
        [name, *(values[place] for _, values in parts), charted_nodes[place].waves] for place, name in enumerate(names)
    ]
    return Chart(
        plot,
        summary,
        [gettext("Node"), gettext("Moved"), gettext("Blocking"), gettext("Left alone"), gettext("Waves")],
        rows,
    )


def buffer_chart(answer: Buffer) -> Chart | None:
    """Return no chart, because the table of losses has everything already."""
    return None


def _bar_figure(names: list[str], numbers: list[int], unit: str, hover: str, height: int) -> Json:
    trace = go.Bar(orientation="h", y=names, x=numbers, hovertemplate=f"{hover}<extra></extra>")
    layout = go.Layout(
        height=height,
        showlegend=False,
        xaxis={"title": {"text": unit}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
    )
    return make_figure([trace], layout)
