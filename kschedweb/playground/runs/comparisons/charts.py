"""Charts of a comparison, each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.playground.runs.charts import MOST_LINES, MOST_POINTS, thin_positions
from kschedweb.playground.runs.comparisons.measure_rows import ComparedPolicy, MeasureRow
from kschedweb.playground.runs.measures import axis_unit, format_amount
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import ABOVE, SYMBOLS, Chart, line_style, make_figure

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome


def strip_chart(line: MeasureRow, listed: Sequence[ComparedPolicy]) -> Chart:
    """Draw one measure: a line for each policy, a mark for each seed, a bar for the mean."""
    unit, factor = axis_unit(
        line.measure, [value for values_by_seed in line.values for value in values_by_seed.values()]
    )
    data: list[go.Bar | go.Scatter] = []
    # The position goes into ``meta``, from which the page's script colours a policy alike in every chart.
    for place, (side, values_by_seed) in enumerate(zip(listed, line.values, strict=True)):
        values = [round(value * factor, 6) for value in values_by_seed.values()]
        mean = float(np.mean(values)) if values else None
        data.append(
            go.Bar(
                orientation="h",
                y=[side.label],
                x=[mean],
                name=side.label,
                meta={"side": place},
                opacity=0.55,
                hovertemplate=gettext("mean %(x)s %(unit)s") % {"x": "%{x}", "unit": unit} + "<extra></extra>",
            )
        )
        if len(values) > 1:
            data.append(
                go.Scatter(
                    mode="markers",
                    y=[side.label] * len(values),
                    x=values,
                    meta={"side": place},
                    customdata=[[gettext("seed %(seed)s") % {"seed": seed}] for seed in values_by_seed],
                    marker={"size": 8, "symbol": SYMBOLS[place % len(SYMBOLS)]},
                    hovertemplate=f"%{{customdata[0]}}: %{{x}} {unit}<extra></extra>",
                )
            )
    layout = go.Layout(
        height=64 + 26 * len(listed),
        showlegend=False,
        barmode="overlay",
        hovermode="closest",
        xaxis={"title": {"text": unit}, "rangemode": "tozero", "nticks": 6},
        yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
    )
    amounts = [line.reference, *(change.value for change in line.changes)]
    under = gettext(", ").join(
        gettext("%(value)s under %(policy)s") % {"value": value, "policy": side.label}
        for side, value in zip(listed, amounts, strict=True)
    )
    summary = gettext("%(measure)s: %(values)s.") % {"measure": line.measure.label, "values": under}
    seeds = sorted({seed for values_by_seed in line.values for seed in values_by_seed})
    rows: list[list[object]] = [
        [side.label, *(format_amount(line.measure, values_by_seed.get(seed)) for seed in seeds)]
        for side, values_by_seed in zip(listed, line.values, strict=True)
    ]
    return Chart(
        make_figure(data, layout),
        summary,
        [gettext("Policy"), *(gettext("Seed %(seed)s") % {"seed": seed} for seed in seeds)],
        rows,
    )


def pending_chart(outcomes: Sequence[tuple[str, RunOutcome]]) -> Chart:
    """Draw waiting pods over time, a line for each policy."""
    end = max(outcome.end for _, outcome in outcomes)
    scale = TimeScale.for_end(end)
    data = []
    for place, (label, outcome) in enumerate(outcomes):
        positions = thin_positions(len(outcome.samples.time), MOST_POINTS)
        data.append(
            go.Scatter(
                name=label,
                x=np.round(outcome.samples.time[positions] / scale.seconds, 4).tolist(),
                y=outcome.samples.pending[positions].tolist(),
                hovertemplate=gettext("%(pods)s pods") % {"pods": "%{y}"},
                **line_style(place, len(positions), shape="hv"),
            )
        )
    layout = go.Layout(
        height=320,
        hovermode="x unified",
        legend=ABOVE,
        xaxis={**scale.axis_layout(), "range": [0, end / scale.seconds or 1]},
        yaxis={"title": {"text": gettext("pods that wait")}, "rangemode": "tozero", "automargin": True},
        margin={"t": 60, "b": 50},
        meta={"scale": scale.seconds},
    )
    at = np.linspace(0.0, end, min(MOST_LINES, max(len(outcome.samples.time) for _, outcome in outcomes)))
    rows: list[list[object]] = [
        [format_duration(time), *(_waiting_at(outcome, time) for _, outcome in outcomes)] for time in at.tolist()
    ]
    peaks = [(label, int(outcome.samples.pending.max(initial=0))) for label, outcome in outcomes]
    parts = gettext(", ").join(
        gettext("%(value)s under %(policy)s") % {"value": f"{number:,}", "policy": label} for label, number in peaks
    )
    summary = gettext("Most pods waiting at once: %(said)s.") % {"said": parts}
    return Chart(make_figure(data, layout), summary, [gettext("Time"), *dict(outcomes)], rows)


def _waiting_at(outcome: RunOutcome, time: float) -> int | None:
    """Return the number of waiting pods at the last sample before ``time``; ``None`` outside the run."""
    # The small addend makes up for times that linspace rounds down.
    place = int(np.searchsorted(outcome.samples.time, time + 1e-9, side="right")) - 1
    return int(outcome.samples.pending[place]) if place >= 0 and time <= outcome.end + 1e-9 else None
