"""The charts of recorded use, each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.watermarks.usage.measures import SHARES, Distribution, Floats, HeatmapRow, Skew
from kschedweb.watermarks.usage.question import UsageQuery
from kschedweb.web.figures import ABOVE, Chart, figure, line_style

if TYPE_CHECKING:
    from kschedweb.watermarks.usage.selectors import NodeUse

MOST_LINES = 60  # readable rows of a table or a heatmap
MOST_TIMES = 8  # columns of the heatmap's table


def _clock() -> dict[str, Any]:
    """An axis of moments."""
    title = {"text": gettext("time (UTC)"), "standoff": 12}
    return {"type": "date", "title": title, "tickangle": 0, "nticks": 9}


def moment(seconds: float) -> str:
    """Seconds of the epoch as text in UTC for charts and tables."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def number(value: float, digits: int = 1) -> float | None:
    """``value`` rounded; ``None`` for NaN, which JSON does not have."""
    return None if np.isnan(value) else round(float(value), digits)


def whole(value: float) -> str:
    """A percentage in a sentence: "68 %"."""
    return "unknown" if np.isnan(value) else f"{value:.0f} %"


def numbers(values: Floats, digits: int = 1) -> list[float | None]:
    return [None if value != value else round(value, digits) for value in values.tolist()]


def thinned(count: int, most: int) -> list[int]:
    """At most ``most`` of ``count`` positions, evenly spaced, including the last."""
    if count <= most:
        return list(range(count))
    return [int(place) for place in np.unique(np.linspace(0, count - 1, most).round())]


def skew_chart(asked: UsageQuery, names: Sequence[str], times: Sequence[float], skew: Skew, address: str) -> Chart:
    """The hottest, mean and coldest node over time, and below the skew.

    A click on a time opens ``address``, the distribution, at that time.
    """
    at = [moment(time) for time in times]
    links = {clock: f"{address}&{urlencode({'at': clock.replace(' ', 'T')})}" for clock in at}
    lines: list[tuple[str, str, Floats]] = [
        ("y", gettext("hottest node"), skew.top),
        ("y", gettext("mean"), skew.mean),
        ("y", gettext("coldest node"), skew.bottom),
        ("y2", gettext("skew (hottest − coldest)"), skew.points),
        ("y2", gettext("standard deviation"), skew.deviation),
        ("y2", gettext("coefficient of variation, %"), skew.variation),
    ]
    data = [
        go.Scatter(
            name=name,
            x=at,
            y=numbers(values),
            yaxis=axis,
            hovertemplate="%{y}",
            **line_style(place, len(at)),
        )
        for place, (axis, name, values) in enumerate(lines)
    ]
    vertical = {"rangemode": "tozero", "automargin": True}
    layout = go.Layout(
        height=480,
        hovermode="x unified",
        legend=ABOVE,
        xaxis={**_clock(), "anchor": "y2"},
        yaxis={**vertical, "domain": [0.52, 1], "title": {"text": gettext("node, %(unit)s") % {"unit": asked.unit}}},
        yaxis2={**vertical, "domain": [0, 0.46], "title": {"text": gettext("points, %")}},
        margin={"t": 60, "b": 60},
        meta={"links": links},
    )
    head = [
        gettext("Time (UTC)"), gettext("Skew (points)"), gettext("Standard deviation (points)"),
        gettext("Coefficient of variation (%)"),
        gettext("Mean (%(unit)s)") % {"unit": asked.unit},
        gettext("Hottest node"), gettext("Hottest (%(unit)s)") % {"unit": asked.unit},
        gettext("Coldest node"), gettext("Coldest (%(unit)s)") % {"unit": asked.unit},
        gettext("Nodes"),
    ]  # fmt: skip
    rows = skew_rows(names, times, skew)
    kept = [rows[place] for place in thinned(len(rows), MOST_LINES)]
    return Chart(figure(data, layout), _skew_summary(skew), head, kept)


SKEW_HEAD = (
    "time", "skew", "standard_deviation", "coefficient_of_variation", "mean", "hottest_node", "hottest", "coldest_node",
    "coldest", "nodes",
)  # fmt: skip


def skew_rows(names: Sequence[str], times: Sequence[float], skew: Skew) -> list[list[object]]:
    """A row for each time, with the columns of SKEW_HEAD."""
    columns = [
        [moment(time) for time in times],
        numbers(skew.points),
        numbers(skew.deviation),
        numbers(skew.variation),
        numbers(skew.mean),
        [names[place] if place >= 0 else "" for place in skew.hottest.tolist()],
        numbers(skew.top),
        [names[place] if place >= 0 else "" for place in skew.coldest.tolist()],
        numbers(skew.bottom),
        skew.known.tolist(),
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _skew_summary(skew: Skew) -> str:
    points = skew.points[~np.isnan(skew.points)]
    if not points.size:
        return gettext("No node has usage data in this time.")
    return gettext(
        "Over this time the skew was %(mean)s points on average, between %(min)s and %(max)s; "
        "the standard deviation %(nanmean)s points."
    ) % {
        "mean": f"{points.mean():.0f}",
        "min": f"{points.min():.0f}",
        "max": f"{points.max():.0f}",
        "nanmean": f"{np.nanmean(skew.deviation):.0f}",
    }


def heatmap_chart(
    asked: UsageQuery, times: Sequence[float], rows: Sequence[HeatmapRow], total: int, address: str
) -> Chart:
    """Nodes over time, a row for each node or group of neighbours; a click on a group shows its nodes."""
    at = [moment(time) for time in times]
    grouped = any(row.last > row.first for row in rows)
    links = {row.label: f"{address}&{urlencode(_inside(row))}" for row in rows}
    made = figure(
        [
            go.Heatmap(
                x=at,
                y=[row.label for row in rows],
                z=[numbers(row.mean) for row in rows],
                hovertemplate=f"%{{y}}<br>%{{x}} UTC<br>%{{z}} {asked.unit}<extra></extra>",
                hoverongaps=False,
                zmin=0,
                **({} if asked.is_deviation else {"zmax": 100}),
                colorbar={"title": {"text": asked.unit}, "thickness": 12},
                ygap=1 if len(rows) <= 30 else 0,
            )
        ],
        go.Layout(
            height=120 + max(160, 12 * len(rows)),
            xaxis={**_clock(), "showgrid": False},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category", "showgrid": False},
            margin={"b": 60},
            meta={"links": links},
        ),
    )
    shown = thinned(len(times), MOST_TIMES)
    head = [
        gettext("Nodes") if grouped else gettext("Node"), gettext("Mean (%(unit)s)") % {"unit": asked.unit},
        gettext("Lowest (%(unit)s)") % {"unit": asked.unit}, gettext("Highest (%(unit)s)") % {"unit": asked.unit},
        *[at[place] for place in shown],
    ]  # fmt: skip
    table: list[list[object]] = []
    for row in rows:
        known = row.mean[~np.isnan(row.mean)]
        mean = number(float(known.mean())) if known.size else None
        table.append(
            [row.label, mean, number(row.low), number(row.high), *(number(row.mean[place]) for place in shown)]
        )
    count = sum(row.last - row.first + 1 for row in rows)
    words = (
        gettext("%(count)s of %(total)s nodes") % {"count": f"{count:,}", "total": f"{total:,}"}
        if count < total
        else gettext("%(total)s nodes") % {"total": f"{total:,}"}
    )
    if grouped:
        words += gettext(" in %(rows)s groups of neighbours in this order; a cell is the mean of its group") % {
            "rows": len(rows)
        }
    return Chart(made, gettext("%(words)s, %(times)s times.") % {"words": words, "times": len(times)}, head, table)


def _inside(row: HeatmapRow) -> dict[str, str | int]:
    """The filter for the nodes of a row."""
    return {"first": row.first, "last": row.last} if row.last > row.first else {"search": row.label}


def distribution_chart(asked: UsageQuery, found: Distribution) -> Chart:
    """The number of nodes in each bar of 5 points, with a box of the quartiles above."""
    edges = found.edges.tolist()
    spans = [f"{low:.0f}–{high:.0f}" for low, high in pairwise(edges)]
    by_share = dict(zip(SHARES, found.quantiles.tolist(), strict=True))
    made = figure(
        [
            go.Bar(
                x=[(low + high) / 2 for low, high in pairwise(edges)],
                y=found.counts.tolist(),
                width=edges[1] - edges[0],
                customdata=[[span] for span in spans],
                hovertemplate=f"%{{customdata[0]}} {asked.unit}: %{{y}} nodes<extra></extra>",
                marker={"line": {"width": 1}},
            ),
            go.Box(
                name="",
                orientation="h",
                yaxis="y2",
                y=[0],
                lowerfence=[by_share[0]],
                q1=[by_share[25]],
                median=[by_share[50]],
                q3=[by_share[75]],
                upperfence=[by_share[100]],
                mean=[found.mean],
                hoverinfo="x",
            ),
        ],
        go.Layout(
            height=340,
            showlegend=False,
            bargap=0,
            xaxis={"title": {"text": f"{asked.figure} ({asked.unit})"}, "range": [0, edges[-1]], "anchor": "y"},
            yaxis={"title": {"text": gettext("nodes")}, "domain": [0, 0.78], "automargin": True, "rangemode": "tozero"},
            yaxis2={"domain": [0.84, 1], "visible": False},
        ),
    )
    quantiles = gettext(", ").join(
        gettext("%(share)s %% of the nodes at or below %(by_share)s %(unit)s")
        % {"share": share, "by_share": f"{by_share[share]:.0f}", "unit": asked.unit}
        for share in (25, 50, 75)
    )
    mean = gettext("Mean %(mean)s %(unit)s, standard deviation %(deviation)s points") % {
        "mean": f"{found.mean:.0f}",
        "unit": asked.unit,
        "deviation": f"{found.deviation:.0f}",
    }
    summary = gettext("; ").join((mean, quantiles)) + gettext(".")
    share = 100 / found.known
    rows: list[list[object]] = [
        [span, count, round(count * share, 1)] for span, count in zip(spans, found.counts.tolist(), strict=True)
    ]
    return Chart(
        made, summary, [f"{asked.figure} ({asked.unit})", gettext("Nodes"), gettext("Share of nodes (%)")], rows
    )


def nodes_chart(asked: UsageQuery, uses: Sequence[NodeUse]) -> Chart | None:
    """Each node as a point: requests on the x axis, use on the y axis; both are equal on the line."""
    known = [use for use in uses if use.known and use.allocatable]
    if not known:
        return None
    across = [round(use.requested_share, 1) for use in known]
    up = [round(use.used_share, 1) for use in known]
    end = max(100.0, *across, *up)
    made = figure(
        [
            go.Scatter(
                mode="markers",
                x=across,
                y=up,
                customdata=[[use.name] for use in known],
                hovertemplate="%{customdata[0]}<br>requested %{x} %<br>used %{y} %<extra></extra>",
                marker={"size": 7 if len(known) < 500 else 4, "opacity": 0.7},
            ),
            go.Scatter(
                mode="lines",
                x=[0, end],
                y=[0, end],
                hoverinfo="skip",
                line={"dash": "dot", "width": 1},
            ),
        ],
        go.Layout(
            height=400,
            showlegend=False,
            xaxis={
                "title": {
                    "text": gettext("%(resource_words)s requested (%% of allocatable)")
                    % {"resource_words": asked.resource_words}
                },
                "rangemode": "tozero",
            },
            yaxis={
                "title": {
                    "text": gettext("%(resource_words)s used (%% of allocatable)")
                    % {"resource_words": asked.resource_words}
                },
                "rangemode": "tozero",
                "automargin": True,
            },
        ),
    )
    below = sum(use.unused > 0 for use in known)
    summary = gettext(
        "%(below)s of %(known)s nodes lie below the line: less is used than requested. The table "
        "below has the same numbers."
    ) % {"below": f"{below:,}", "known": f"{len(known):,}"}
    return Chart(made, summary, [], [])


MOST_BARS = 20


def workloads_chart(asked: UsageQuery, uses: Sequence[NodeUse]) -> Chart | None:
    """The first workloads of the order, with requests beside use, in cores or GiB."""
    known = [use for use in uses if use.known][:MOST_BARS]
    if not known:
        return None
    scale, unit = (1000, gettext("cores")) if asked.resource == "cpu" else (1 << 30, "GiB")
    places = list(range(len(known)))
    labels = [f"{use.parts[0]}/{use.parts[2]}" for use in known]
    made = figure(
        [
            go.Bar(
                orientation="h",
                name=name,
                y=places,
                x=[round(amount / scale, 2) for amount in amounts],
                customdata=[[use.name] for use in known],
                hovertemplate=f"%{{customdata[0]}}<br>{name} %{{x}} {unit}<extra></extra>",
            )
            for name, amounts in (
                (gettext("requested"), [use.requested for use in known]),
                (gettext("used"), [use.used for use in known]),
            )
        ],
        go.Layout(
            height=110 + 28 * len(known),
            barmode="group",
            legend=ABOVE,
            xaxis={"title": {"text": f"{asked.resource_words} ({unit})"}, "rangemode": "tozero"},
            yaxis={
                "autorange": "reversed",
                "automargin": True,
                "tickvals": places,
                "ticktext": [label if len(label) <= 26 else f"{label[:25]}…" for label in labels],
            },
            margin={"t": 40},
        ),
    )
    return Chart.of_table(made, len(known))
