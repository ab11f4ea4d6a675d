"""Charts of a sweep, each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.playground.runs.measures import RunMeasure, axis_unit, format_amount
from kschedweb.playground.sweeps.results import DimensionCurve, Results, TrialRow, format_value
from kschedweb.web.figures import ABOVE, Chart, make_figure

# Rows of a chart's table; the page has a table of all trials anyway.
MOST_ROWS = 60


def axis_layout(measure: RunMeasure, unit: str) -> dict[str, object]:
    """Return the layout of an axis, titled with the measure, its unit and the better direction."""
    args = {"measure": measure.label, "unit": unit or gettext("no unit")}
    text = gettext("%(measure)s (%(unit)s)") % args
    if measure.direction == "lower":
        text = gettext("%(measure)s (%(unit)s), lower is better") % args
    elif measure.direction:
        text = gettext("%(measure)s (%(unit)s), higher is better") % args
    return {"title": {"text": text}, "automargin": True, "zeroline": False}


def pareto_chart(results: Results, first: int, second: int) -> Chart:
    """Return a chart of all trials by two objectives, with the front as a line and the base policy marked."""
    measures = (results.measures[first], results.measures[second])
    x_unit, x_factor = axis_unit(measures[0], [row.values[first] for row in results.rows])
    y_unit, y_factor = axis_unit(measures[1], [row.values[second] for row in results.rows])

    def make_trace(name: str, rows: Sequence[TrialRow], mode: str = "markers", **more: Any) -> go.Scatter:
        return go.Scatter(
            mode=mode,
            name=name,
            x=[round(row.values[first] * x_factor, 6) for row in rows],
            y=[round(row.values[second] * y_factor, 6) for row in rows],
            customdata=[[gettext("trial %(trial)s") % {"trial": row.number}] for row in rows],
            hovertemplate=f"%{{customdata[0]}}<br>%{{x}} {x_unit}<br>%{{y}} {y_unit}<extra></extra>",
            **more,
        )

    # Sorted by the first objective, so that the line through the front does not run back and forth.
    best = sorted(results.front, key=lambda row: (row.values[first], row.values[second]))
    data = [
        make_trace(
            gettext("other trials"), [row for row in results.rows if not row.front], opacity=0.5, marker={"size": 6}
        ),
        make_trace(
            gettext("the front"),
            best,
            # With three objectives or more the front is a surface; a line in two of its dimensions would mislead.
            mode="lines+markers" if len(results.measures) == 2 else "markers",
            line={"shape": "linear", "width": 1, "dash": "dot"},
            marker={"size": 9, "symbol": "diamond"},
        ),
    ]
    if results.base is not None:
        data.append(make_trace(results.sweep.label, [results.base], marker={"size": 14, "symbol": "cross-open"}))
    layout = go.Layout(
        height=420,
        hovermode="closest",
        legend=ABOVE,
        margin={"t": 50, "b": 50},
        xaxis=axis_layout(measures[0], x_unit),
        yaxis=axis_layout(measures[1], y_unit),
    )
    rows: list[list[object]] = [
        [
            gettext("Trial %(trial)s") % {"trial": row.number},
            *(format_amount(measure, value) for measure, value in zip(results.measures, row.values, strict=True)),
        ]
        for row in best[:MOST_ROWS]
    ]
    summary = (
        gettext("%(said)s.") % {"said": results.sentence()} if results.sentence() else gettext("No trial is done yet.")
    )
    return Chart(
        make_figure(data, layout), summary, [gettext("Trial"), *(measure.label for measure in results.measures)], rows
    )


def history_chart(results: Results) -> Chart:
    """Return a chart of one objective by trial, and its best value so far."""
    measure = results.measures[0]
    rows = sorted(results.rows, key=lambda row: row.number)
    unit, factor = axis_unit(measure, [row.values[0] for row in rows])
    pick = min if measure.direction == "lower" else max
    best: list[float] = []
    for row in rows:
        best.append(pick([*best[-1:], row.values[0]]))
    numbers = [row.number for row in rows]
    data: list[go.Scatter] = [
        go.Scatter(
            mode="markers",
            name=gettext("trials"),
            x=numbers,
            y=[round(row.values[0] * factor, 6) for row in rows],
            opacity=0.6,
            hovertemplate=gettext("trial %(trial)s") % {"trial": "%{x}"} + f": %{{y}} {unit}<extra></extra>",
        ),
        go.Scatter(
            mode="lines",
            name=gettext("the best so far"),
            x=numbers,
            y=[round(value * factor, 6) for value in best],
            line={"shape": "hv"},
            hovertemplate=f"%{{y}} {unit}<extra></extra>",
        ),
    ]
    layout = go.Layout(
        height=360,
        hovermode="closest",
        legend=ABOVE,
        margin={"t": 50, "b": 50},
        xaxis={"title": {"text": gettext("trial")}, "rangemode": "tozero"},
        yaxis=axis_layout(measure, unit),
    )
    table_rows: list[list[object]] = [
        [
            gettext("Trial %(trial)s") % {"trial": row.number},
            format_amount(measure, row.values[0]),
            format_amount(measure, value),
        ]
        # The table lists only the trials that improved the best value.
        for place, (row, value) in enumerate(zip(rows, best, strict=True))
        if not place or value != best[place - 1]
    ]
    summary = (
        gettext("%(said)s.") % {"said": results.sentence()} if results.sentence() else gettext("No trial is done yet.")
    )
    return Chart(
        make_figure(data, layout),
        summary,
        [gettext("Trial"), measure.label, gettext("Best so far")],
        table_rows[:MOST_ROWS],
    )


def sensitivity_chart(results: Results) -> Chart:
    """Return a chart of the share of each objective's variance that each dimension alone explains."""
    labels = [dimension.label for dimension in results.space.dimensions]
    data = [
        go.Bar(
            orientation="h",
            name=measure.label,
            y=labels,
            x=[None if row[at].value is None else round(100 * row[at].value, 1) for row in results.shares],  # type: ignore[operator]
            hovertemplate="%{y}: %{x} %<extra>%{fullData.name}</extra>",
        )
        for at, measure in enumerate(results.measures)
    ]
    layout = go.Layout(
        # Pixels: 18 for each bar, 14 between dimensions, 90 for legend and axis.
        height=90 + (14 + 18 * len(results.measures)) * len(labels),
        barmode="group",
        legend=ABOVE,
        margin={"t": 50, "b": 50},
        xaxis={"title": {"text": gettext("share of the variance (%%)") % {}}, "range": [0, 100]},
        yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
    )
    rows: list[list[object]] = [
        [label, *(share.text for share in row)] for label, row in zip(labels, results.shares, strict=True)
    ]
    head = [gettext("Dimension"), *(measure.label for measure in results.measures)]
    return Chart(make_figure(data, layout), _main_dependencies(results, labels), head, rows)


def _main_dependencies(results: Results, labels: Sequence[str]) -> str:
    """Name the dimension on which each objective depends most."""
    parts = []
    for at, measure in enumerate(results.measures):
        labelled_shares = [(row[at].value, label) for row, label in zip(results.shares, labels, strict=True)]
        measured = [(value, label) for value, label in labelled_shares if value is not None]
        if not measured:
            continue
        value, label = max(measured)
        # A share below one percent is too little to name a dimension.
        if value >= 0.01:
            args = {"measure": _lower_first(measure.label), "dimension": label, "share": f"{100 * value:.0f}"}
            parts.append(gettext("%(measure)s depends most on %(dimension)s (%(share)s %%)") % args)
        else:
            parts.append(
                gettext("%(measure)s depends on no dimension alone") % {"measure": _lower_first(measure.label)}
            )
    if not parts:
        return gettext("Too few trials are done to say what matters.")
    text = gettext("; ").join(parts)
    return gettext("%(said)s.") % {"said": f"{text[0].upper()}{text[1:]}"}


def _lower_first(label: str) -> str:
    """Return the label as it stands within a sentence: "skew of CPU requests"."""
    return label[:1].lower() + label[1:]


def curve_charts(results: Results, curve: DimensionCurve) -> list[Chart]:
    """Charts of one dimension changed alone, one for each objective."""
    return [_curve_chart(results, curve, at) for at in range(len(results.measures))]


def _curve_chart(results: Results, curve: DimensionCurve, at: int) -> Chart:
    """Draw an objective at each value of a dimension that was changed alone."""
    measure, values = results.measures[at], curve.rows[at]
    unit, factor = axis_unit(measure, values)
    # bool is an int in Python, but true and false are categories on an axis.
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in curve.values)
    x = curve.values if numeric else [format_value(value) for value in curve.values]
    data: list[go.Scatter] = [
        go.Scatter(
            mode="lines+markers",
            name=measure.label,
            x=x,
            y=[round(value * factor, 6) for value in values],
            hovertemplate=f"%{{x}}: %{{y}} {unit}<extra></extra>",
        )
    ]
    if curve.base is not None:
        data.append(
            go.Scatter(
                mode="markers",
                name=results.sweep.label,
                x=[x[curve.base]],
                y=[round(values[curve.base] * factor, 6)],
                marker={"size": 12, "symbol": "cross-open"},
                hovertemplate=gettext("the base policy") + f": %{{y}} {unit}<extra></extra>",
            )
        )
    horizontal: dict[str, object] = {"title": {"text": curve.dimension.label}, "automargin": True}
    if curve.dimension.log:
        horizontal["type"] = "log"
    elif not numeric:
        horizontal["type"] = "category"
    layout = go.Layout(
        height=220,
        showlegend=False,
        hovermode="closest",
        margin={"t": 12, "b": 44},
        xaxis=horizontal,
        yaxis={"title": {"text": unit or gettext("no unit")}, "automargin": True, "nticks": 5},
    )
    low, high = min(values), max(values)
    ends = {"measure": measure.label, "low": format_amount(measure, low), "high": format_amount(measure, high)}
    summary = gettext("%(measure)s is at %(low)s.")
    if high > low:
        summary = gettext("%(measure)s is between %(low)s and %(high)s.")
    rows: list[list[object]] = [
        [format_value(setting), format_amount(measure, value)]
        for setting, value in zip(curve.values, values, strict=True)
    ]
    head = [curve.dimension.label, measure.label]
    return Chart(make_figure(data, layout), summary % ends, head, rows)
