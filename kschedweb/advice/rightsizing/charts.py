"""The figures of the list of containers, and of one: its usage over time, and a histogram of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext, gettext_noop

from kschedweb.web.figures import ABOVE, Chart, bar_layout, line_style, make_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.advice.rightsizing.sizing import ContainerSize, SizeAmount
    from kschedweb.engine.rightsizing.histogram import Histograms
    from kschedweb.engine.state.columns import Floats

GIB = float(1 << 30)
NAMES = {"cpu": ("CPU", gettext_noop("cores")), "memory": (gettext_noop("memory"), "GiB")}

# Bars of the chart of all containers; more cannot be read.
MOST_BARS = 12


def compare_requests(sizes: Sequence[ContainerSize]) -> Chart | None:
    """Chart the CPU that the first containers in the table's order request, all pods together, and the target."""
    drawn_sizes = [size for size in sizes if size.has_history][:MOST_BARS]
    if not drawn_sizes:
        return None
    places = list(range(len(drawn_sizes)))
    labels = [f"{size.workload} ({size.container})" for size in drawn_sizes]
    parts = (
        (gettext("requested"), [size.cpu.requested * size.pods / 1000 for size in drawn_sizes]),
        (gettext("target"), [size.cpu.target * size.pods / 1000 for size in drawn_sizes]),
    )
    bars = [
        go.Bar(
            orientation="h",
            name=name,
            y=places,
            x=amounts,
            customdata=[[label] for label in labels],
            hovertemplate=f"%{{customdata[0]}}<br>{name}: %{{x}} CPU<extra></extra>",
        )
        for name, amounts in parts
    ]
    layout = go.Layout(**bar_layout(labels, gettext("CPU of all pods"), mode="group", row=34, letters=36))
    return Chart.of_table(make_figure(bars, layout), len(drawn_sizes))


def over_time(resource: str, times: Floats, values: Floats, amount: SizeAmount) -> Chart | None:
    """Chart the usage of the busiest pod, with the requested and the recommended amount."""
    places = np.flatnonzero(~np.isnan(values))
    if len(places) < 2:
        return None
    name, unit = map(gettext, NAMES[resource])
    scale = 1.0 if resource == "cpu" else GIB
    moments = [f"{datetime.fromtimestamp(times[place], UTC):%Y-%m-%d %H:%M:%S}" for place in places]
    used = [round(float(values[place]) / scale, 4) for place in places]
    divisor = 1000.0 if resource == "cpu" else GIB
    lines = [(gettext("used by the busiest pod"), moments, used)]
    levels = (
        (gettext("requested"), amount.requested),
        (gettext("target"), amount.target),
        (gettext("limit"), amount.limit),
    )
    for label, level in levels:
        if level:
            lines.append((label, [moments[0], moments[-1]], [round(level / divisor, 4)] * 2))
    traces = [
        go.Scatter(name=label, x=x, y=y, **line_style(place, len(x))) for place, (label, x, y) in enumerate(lines)
    ]
    layout = go.Layout(height=300, legend=ABOVE, yaxis={"title": {"text": unit}, "rangemode": "tozero"})
    summary = gettext("Use of %(resource)s by the busiest pod from %(start)s to %(end)s UTC, in %(unit)s.") % {
        "resource": name, "start": moments[0][:16], "end": moments[-1][:16], "unit": unit,
    }  # fmt: skip
    return Chart(
        make_figure(traces, layout),
        summary,
        [gettext("Time (UTC)"), unit],
        [list(row) for row in zip(moments, used, strict=True)],
    )


def build_histogram(resource: str, used: Histograms, row: int) -> Chart | None:
    """Chart which share of the samples' weight lies in which bucket."""
    weights = used.weights[row]
    # Buckets with next to no weight would only stretch the axis.
    places = np.flatnonzero(weights > weights.sum() * 1e-4)
    if not len(places):
        return None
    name, unit = map(gettext, NAMES[resource])
    scale = 1.0 if resource == "cpu" else GIB
    starts = used.buckets.starts / scale
    rows: list[list[object]] = []
    for place in range(places[0], places[-1] + 1):
        end = starts[min(place + 1, len(starts) - 1)]
        rows.append([f"{starts[place]:.3g}–{end:.3g}", round(float(100 * weights[place] / weights.sum()), 2)])
    bars = go.Bar(x=[row[0] for row in rows], y=[row[1] for row in rows], name=name)
    layout = go.Layout(
        height=260,
        xaxis={
            "title": {"text": gettext("%(resource)s in %(unit)s") % {"resource": name, "unit": unit}},
            "type": "category",
        },
        yaxis={"title": {"text": gettext("weight (%)")}},
    )
    return Chart(
        make_figure([bars], layout),
        gettext("How often how much %(resource)s was used, in percent of the samples' weight.") % {"resource": name},
        [f"{name} ({unit})", "%"],
        rows,
    )
