"""Charts of an experiment, each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.playground.experiments.selectors import PolicySeries, policy_label
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import Chart, line_style, make_figure

HEAD = ("policy", "hours", "skew", "mean", "lowest", "highest", "engine")


def skew_chart(listed: Sequence[PolicySeries]) -> Chart:
    """Draw skew over time, a line for each policy."""
    of_a_place = gettext("{y} points at {x} h").format(y="%{y}", x="%{x}")
    data: list[go.Scatter] = [
        go.Scatter(
            name=policy_label(series.policy),
            x=series.hours,
            y=np.round(series.skew, 1).tolist(),
            hovertemplate=f"{of_a_place}<extra>%{{fullData.name}}</extra>",
            **line_style(place, len(series.hours)),
        )
        for place, series in enumerate(listed)
    ]
    layout = go.Layout(
        height=380,
        hovermode="closest",
        legend={"orientation": "h", "y": -0.25},
        xaxis={"title": {"text": gettext("hours")}},
        yaxis={"title": {"text": gettext("points of skew")}, "rangemode": "tozero", "automargin": True},
    )
    # The table has a row for each full hour.
    hourly = [place for place, hour in enumerate(listed[0].hours) if hour == int(hour)]
    rows: list[list[object]] = [
        [format_duration(3600 * listed[0].hours[place]), *(_value_at(series.skew, place) for series in listed)]
        for place in hourly
    ]
    return Chart(
        make_figure(data, layout),
        _skew_summary(listed),
        [gettext("Time"), *(policy_label(series.policy) for series in listed)],
        rows,
    )


def _value_at(values: np.ndarray, place: int) -> float | None:
    return round(float(values[place]), 1) if place < len(values) else None


def _skew_summary(listed: Sequence[PolicySeries]) -> str:
    """Return a sentence that names the policies with least and most skew."""
    best = min(listed, key=lambda series: series.measures["skew"])
    worst = max(listed, key=lambda series: series.measures["skew"])
    args = {"best": policy_label(best.policy), "least": f"{best.measures['skew']:.1f}"}
    if best is worst:
        return gettext("%(best)s keeps the nodes within %(least)s points on average.") % args
    args |= {"worst": policy_label(worst.policy), "most": f"{worst.measures['skew']:.1f}"}
    sentence = gettext(
        "%(best)s keeps the nodes closest together, within %(least)s points on average; %(worst)s lets them drift "
        "%(most)s points apart."
    )
    return sentence % args


def distribution_chart(listed: Sequence[PolicySeries]) -> Chart:
    """Draw the levels of nodes in the last hour: a box for each policy, over the nodes of all seeds."""
    data = [
        go.Box(
            name=policy_label(series.policy),
            x=np.round(series.levels[:, -1, :].ravel(), 1).tolist(),
            boxpoints="outliers",
            orientation="h",
            hoverinfo="x",
        )
        for series in listed
    ]
    layout = go.Layout(
        height=120 + 45 * len(listed),
        showlegend=False,
        xaxis={"title": {"text": gettext("percent of a node's CPU in the last hour")}, "range": [0, 100]},
        yaxis={"type": "category", "automargin": True, "autorange": "reversed"},
    )
    rows: list[list[object]] = []
    for series in listed:
        marks = np.percentile(series.levels[:, -1, :], (0, 25, 50, 75, 100))
        rows.append([policy_label(series.policy), *np.round(marks, 1).tolist()])
    summary = gettext("The lowest and the highest node, the middle half and the median, in the last hour.")
    head = [gettext("Policy"), gettext("Lowest"), "25 %", gettext("Median"), "75 %", gettext("Highest")]
    return Chart(make_figure(data, layout), summary, head, rows)


def series_rows(listed: Sequence[PolicySeries]) -> Iterator[tuple[object, ...]]:
    """Yield a row for every time of every policy, with means over the seeds."""
    for series in listed:
        marks = [series.levels.mean(axis=2), series.levels.min(axis=2), series.levels.max(axis=2)]
        middle, low, high = (np.round(part.mean(axis=0), 2).tolist() for part in marks)
        engines = "; ".join(series.engines)
        for place, hours in enumerate(series.hours):
            yield (
                series.policy,
                hours,
                round(float(series.skew[place]), 2),
                middle[place],
                low[place],
                high[place],
                engines,
            )
