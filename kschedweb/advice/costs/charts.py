"""The chart of the Cost page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.web.figures import Chart, bar_layout, make_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.advice.costs.billing import CostLine

# Bars of the chart; more cannot be read.
MOST_BARS = 15


def build_cost_chart(lines: Sequence[CostLine], unit: str, *, of_nodes: bool) -> Chart | None:
    """Chart the first lines in the table's order: used, idle, and the rest, whose usage is not known."""
    priced_lines = [line for line in lines if line.has_price][:MOST_BARS]
    if not priced_lines:
        return None
    places = list(range(len(priced_lines)))
    labels = [line.name or gettext("(none)") for line in priced_lines]
    parts = (
        (gettext("used"), [line.used if line.has_use else 0.0 for line in priced_lines]),
        (
            gettext("not used") if of_nodes else gettext("requested, not used"),
            [line.idle if line.has_use else 0.0 for line in priced_lines],
        ),
        (gettext("use not known"), [line.hour - line.hour_with_use for line in priced_lines]),
    )
    cost_figure = make_figure(
        [
            go.Bar(
                orientation="h",
                name=name,
                y=places,
                x=[round(amount, 6) for amount in amounts],
                customdata=[[label] for label in labels],
                hovertemplate=f"%{{customdata[0]}}<br>{name}: %{{x}} {unit}<extra></extra>",
            )
            for name, amounts in parts
            if any(amounts)
        ],
        go.Layout(**bar_layout(labels, gettext("%(unit)s an hour") % {"unit": unit}, mode="stack", row=26, letters=30)),
    )
    return Chart.of_table(cost_figure, len(priced_lines))
