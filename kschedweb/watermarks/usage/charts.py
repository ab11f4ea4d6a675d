"""The charts of recorded use, each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.watermarks.usage.measures import SHARES, Distribution, Floats, HeatmapRow, Skew
from kschedweb.watermarks.usage.query import UsageQuery
from kschedweb.web.figures import ABOVE, Chart, bar_layout, line_style, make_figure

if TYPE_CHECKING:
    from kschedweb.watermarks.usage.selectors import NodeUse

# Readable rows of a table or a heatmap.
MOST_LINES = 60
# Columns of the heatmap's table.
MOST_TIMES = 8


def _time_axis() -> dict[str, object]:
    """Return an axis of moments."""
    title = {"text": gettext("time (UTC)"), "standoff": 12}
    return {"type": "date", "title": title, "tickangle": 0, "nticks": 9}


def format_moment(seconds: float) -> str:
    """Return seconds of the epoch as text in UTC, for charts and tables."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def round_or_none(value: float, digits: int = 1) -> float | None:
    """Return ``value`` rounded; ``None`` for NaN, which JSON does not have."""
    return None if np.isnan(value) else round(float(value), digits)


def round_values(values: Floats, digits: int = 1) -> list[float | None]:
    # NaN is the only value that differs from itself.
    return [None if value != value else round(value, digits) for value in values.tolist()]


def thin_positions(count: int, limit: int) -> list[int]:
    """Return at most ``limit`` of ``count`` positions, evenly spaced, including the last."""
    if count <= limit:
        return list(range(count))
    return [int(place) for place in np.unique(np.linspace(0, count - 1, limit).round())]


def skew_chart(query: UsageQuery, names: Sequence[str], times: Sequence[float], skew: Skew, address: str) -> Chart:
    """Draw the hottest, mean and coldest node over time, and the skew below them.

    A click on a time opens ``address``, the distribution, at that time.
    """
    at = [format_moment(time) for time in times]
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
            y=round_values(values),
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
        xaxis={**_time_axis(), "anchor": "y2"},
        yaxis={**vertical, "domain": [0.52, 1], "title": {"text": gettext("node, %(unit)s") % {"unit": query.unit}}},
        yaxis2={**vertical, "domain": [0, 0.46], "title": {"text": gettext("points, %")}},
        margin={"t": 60, "b": 60},
        meta={"links": links},
    )
    head = [
        gettext("Time (UTC)"), gettext("Skew (points)"), gettext("Standard deviation (points)"),
        gettext("Coefficient of variation (%)"),
        gettext("Mean (%(unit)s)") % {"unit": query.unit},
        gettext("Hottest node"), gettext("Hottest (%(unit)s)") % {"unit": query.unit},
        gettext("Coldest node"), gettext("Coldest (%(unit)s)") % {"unit": query.unit},
        gettext("Nodes"),
    ]  # fmt: skip
    rows = skew_rows(names, times, skew)
    shown_rows = [rows[place] for place in thin_positions(len(rows), MOST_LINES)]
    return Chart(make_figure(data, layout), _skew_summary(skew), head, shown_rows)


SKEW_HEAD = (
    "time", "skew", "standard_deviation", "coefficient_of_variation", "mean", "hottest_node", "hottest", "coldest_node",
    "coldest", "nodes",
)  # fmt: skip


def skew_rows(names: Sequence[str], times: Sequence[float], skew: Skew) -> list[list[object]]:
    """Return a row for each time, with the columns of SKEW_HEAD."""
    columns = [
        [format_moment(time) for time in times],
        round_values(skew.points),
        round_values(skew.deviation),
        round_values(skew.variation),
        round_values(skew.mean),
        [names[place] if place >= 0 else "" for place in skew.hottest.tolist()],
        round_values(skew.top),
        [names[place] if place >= 0 else "" for place in skew.coldest.tolist()],
        round_values(skew.bottom),
        skew.node_count.tolist(),
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
    query: UsageQuery, times: Sequence[float], rows: Sequence[HeatmapRow], total: int, address: str
) -> Chart:
    """Draw nodes over time, a row for each node or group of neighbours. A click on a group shows its nodes."""
    at = [format_moment(time) for time in times]
    grouped = any(row.is_group for row in rows)
    links = {row.label: f"{address}&{urlencode(_row_filter(row))}" for row in rows}
    plot = make_figure(
        [
            go.Heatmap(
                x=at,
                y=[row.label for row in rows],
                z=[round_values(row.mean) for row in rows],
                hovertemplate=f"%{{y}}<br>%{{x}} UTC<br>%{{z}} {query.unit}<extra></extra>",
                hoverongaps=False,
                zmin=0,
                **({} if query.is_deviation else {"zmax": 100}),
                colorbar={"title": {"text": query.unit}, "thickness": 12},
                ygap=1 if len(rows) <= 30 else 0,
            )
        ],
        go.Layout(
            height=120 + max(160, 12 * len(rows)),
            xaxis={**_time_axis(), "showgrid": False},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category", "showgrid": False},
            margin={"b": 60},
            meta={"links": links},
        ),
    )
    columns = thin_positions(len(times), MOST_TIMES)
    head = [
        gettext("Nodes") if grouped else gettext("Node"), gettext("Mean (%(unit)s)") % {"unit": query.unit},
        gettext("Lowest (%(unit)s)") % {"unit": query.unit}, gettext("Highest (%(unit)s)") % {"unit": query.unit},
        *[at[place] for place in columns],
    ]  # fmt: skip
    table: list[list[object]] = []
    for row in rows:
        present = row.mean[~np.isnan(row.mean)]
        mean = round_or_none(float(present.mean())) if present.size else None
        table.append(
            [
                row.label,
                mean,
                round_or_none(row.low),
                round_or_none(row.high),
                *(round_or_none(row.mean[place]) for place in columns),
            ]
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
    return Chart(plot, gettext("%(words)s, %(times)s times.") % {"words": words, "times": len(times)}, head, table)


def _row_filter(row: HeatmapRow) -> dict[str, str | int]:
    """Return the filter for the nodes of a row."""
    return {"first": row.first, "last": row.last} if row.is_group else {"search": row.label}


def distribution_chart(query: UsageQuery, distribution: Distribution) -> Chart:
    """Draw the number of nodes in each bar of 5 points, with a box of the quartiles above."""
    edges = distribution.edges.tolist()
    spans = [f"{low:.0f}–{high:.0f}" for low, high in pairwise(edges)]
    by_share = dict(zip(SHARES, distribution.quantiles.tolist(), strict=True))
    plot = make_figure(
        [
            go.Bar(
                x=[(low + high) / 2 for low, high in pairwise(edges)],
                y=distribution.counts.tolist(),
                width=edges[1] - edges[0],
                customdata=[[span] for span in spans],
                hovertemplate=f"%{{customdata[0]}} {query.unit}: %{{y}} nodes<extra></extra>",
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
                mean=[distribution.mean],
                hoverinfo="x",
            ),
        ],
        go.Layout(
            height=340,
            showlegend=False,
            bargap=0,
            xaxis={"title": {"text": f"{query.figure} ({query.unit})"}, "range": [0, edges[-1]], "anchor": "y"},
            yaxis={"title": {"text": gettext("nodes")}, "domain": [0, 0.78], "automargin": True, "rangemode": "tozero"},
            yaxis2={"domain": [0.84, 1], "visible": False},
        ),
    )
    quantiles = gettext(", ").join(
        gettext("%(share)s %% of the nodes at or below %(by_share)s %(unit)s")
        % {"share": share, "by_share": f"{by_share[share]:.0f}", "unit": query.unit}
        for share in (25, 50, 75)
    )
    mean = gettext("Mean %(mean)s %(unit)s, standard deviation %(deviation)s points") % {
        "mean": f"{distribution.mean:.0f}",
        "unit": query.unit,
        "deviation": f"{distribution.deviation:.0f}",
    }
    summary = gettext("; ").join((mean, quantiles)) + gettext(".")
    share = 100 / distribution.node_count
    rows: list[list[object]] = [
        [span, count, round(count * share, 1)] for span, count in zip(spans, distribution.counts.tolist(), strict=True)
    ]
    return Chart(
        plot, summary, [f"{query.figure} ({query.unit})", gettext("Nodes"), gettext("Share of nodes (%)")], rows
    )


def nodes_chart(query: UsageQuery, uses: Sequence[NodeUse]) -> Chart | None:
    """Draw each node as a point: requests on the x axis, use on the y axis. Both are equal on the line."""
    measured = [use for use in uses if use.is_known and use.allocatable]
    if not measured:
        return None
    across = [round(use.requested_share, 1) for use in measured]
    up = [round(use.used_share, 1) for use in measured]
    end = max(100.0, *across, *up)
    plot = make_figure(
        [
            go.Scatter(
                mode="markers",
                x=across,
                y=up,
                customdata=[[use.name] for use in measured],
                hovertemplate="%{customdata[0]}<br>requested %{x} %<br>used %{y} %<extra></extra>",
                marker={"size": 7 if len(measured) < 500 else 4, "opacity": 0.7},
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
                    % {"resource_words": query.resource_words}
                },
                "rangemode": "tozero",
            },
            yaxis={
                "title": {
                    "text": gettext("%(resource_words)s used (%% of allocatable)")
                    % {"resource_words": query.resource_words}
                },
                "rangemode": "tozero",
                "automargin": True,
            },
        ),
    )
    below = sum(use.unused > 0 for use in measured)
    summary = gettext(
        "%(below)s of %(known)s nodes lie below the line: less is used than requested. The table "
        "below has the same numbers."
    ) % {"below": f"{below:,}", "known": f"{len(measured):,}"}
    return Chart(plot, summary, [], [])


# Bars that fit on a screen.
MOST_BARS = 20


def workloads_chart(query: UsageQuery, uses: Sequence[NodeUse]) -> Chart | None:
    """Draw the first workloads of the order, with requests beside use, in cores or GiB."""
    measured = [use for use in uses if use.is_known][:MOST_BARS]
    if not measured:
        return None
    scale, unit = (1000, gettext("cores")) if query.resource == "cpu" else (1 << 30, "GiB")
    places = list(range(len(measured)))
    labels = [f"{use.parts[0]}/{use.parts[2]}" for use in measured]
    plot = make_figure(
        [
            go.Bar(
                orientation="h",
                name=name,
                y=places,
                x=[round(amount / scale, 2) for amount in amounts],
                customdata=[[use.name] for use in measured],
                hovertemplate=f"%{{customdata[0]}}<br>{name} %{{x}} {unit}<extra></extra>",
            )
            for name, amounts in (
                (gettext("requested"), [use.requested for use in measured]),
                (gettext("used"), [use.used for use in measured]),
            )
        ],
        go.Layout(**bar_layout(labels, f"{query.resource_words} ({unit})", mode="group", row=28, letters=26)),
    )
    return Chart.of_table(plot, len(measured))
