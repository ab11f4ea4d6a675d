"""The figure of what a node really used over a day."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.watermarks.figures import RESOURCE_WORDS
from kschedweb.watermarks.selectors import load_freshness
from kschedweb.watermarks.usage.charts import format_moment, round_or_none, round_values, thin_positions
from kschedweb.watermarks.usage.query import UsageQuery
from kschedweb.watermarks.usage.selectors import load_use
from kschedweb.web.figures import ABOVE, Chart, line_style, make_figure

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster
    from kschedweb.watermarks.usage.selectors import RecordedUse

# Rows of the table.
MOST_LINES = 24


def build_day_chart(cluster: Cluster, node: str) -> Chart | None:
    """Chart CPU and memory that the node used over the last day with figures; None if nothing is known."""
    now = timezone.now()
    freshness = load_freshness(cluster, now.timestamp())
    if freshness.updated is None:
        return None
    uses = {}
    for resource in ("cpu", "memory"):
        query = UsageQuery(resource, "15m", "24h", now - timedelta(days=1), now, None, "name", node, 1, 0)
        use = load_use(cluster, query, freshness)
        if node in use.names and not np.isnan(column := use.values[:, use.names.index(node)]).all():
            uses[resource] = use, column
    if not uses:
        return None
    traces = [
        go.Scatter(
            name=str(RESOURCE_WORDS[resource]),
            x=[format_moment(time) for time in use.times],
            y=round_values(column),
            hovertemplate="%{y} %",
            **line_style(place, len(column)),
        )
        for place, (resource, (use, column)) in enumerate(uses.items())
    ]
    layout = go.Layout(
        height=260,
        hovermode="x unified",
        legend=ABOVE,
        xaxis={"title": {"text": gettext("time (UTC)"), "standoff": 12}},
        yaxis={"rangemode": "tozero", "automargin": True, "title": {"text": gettext("used, % of allocatable")}},
        margin={"t": 40, "b": 60},
    )
    summaries = [
        gettext("%(resource)s between %(low)s and %(high)s %%")
        % {
            "resource": RESOURCE_WORDS[resource],
            "low": f"{np.nanmin(column):.0f}",
            "high": f"{np.nanmax(column):.0f}",
        }
        for resource, (_, column) in uses.items()
    ]
    head = [gettext("Time (UTC)"), *(f"{RESOURCE_WORDS[resource]} (%)" for resource in uses)]
    return Chart(make_figure(traces, layout), gettext("; ").join(summaries), head, _list_rows(uses))


def _list_rows(uses: dict[str, tuple[RecordedUse, np.ndarray]]) -> list[list[object]]:
    times = next(iter(uses.values()))[0].times
    values = {
        resource: dict(zip(use.times.tolist(), column.tolist(), strict=True))
        for resource, (use, column) in uses.items()
    }
    return [
        [format_moment(times[at]), *(round_or_none(column.get(float(times[at]), np.nan)) for column in values.values())]
        for at in thin_positions(len(times), MOST_LINES)
    ]
