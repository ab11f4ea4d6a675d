"""The charts of an experiment, each with a sentence and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.playground.experiments.selectors import Series, shown
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import Chart, figure, line_style

HEAD = ("policy", "hours", "skew", "mean", "lowest", "highest", "engine")


def skew(listed: Sequence[Series]) -> Chart:
    """Skew over time, a line for each policy."""
    of_a_place = gettext("{y} points at {x} h").format(y="%{y}", x="%{x}")
    data: list[go.Scatter] = [
        go.Scatter(
            name=shown(one.policy),
            x=one.hours,
            y=np.round(one.skew, 1).tolist(),
            hovertemplate=f"{of_a_place}<extra>%{{fullData.name}}</extra>",
            **line_style(place, len(one.hours)),
        )
        for place, one in enumerate(listed)
    ]
    layout = go.Layout(
        height=380,
        hovermode="closest",
        legend={"orientation": "h", "y": -0.25},
        xaxis={"title": {"text": gettext("hours")}},
        yaxis={"title": {"text": gettext("points of skew")}, "rangemode": "tozero", "automargin": True},
    )
    hourly = [place for place, hour in enumerate(listed[0].hours) if hour == int(hour)]
    rows: list[list[object]] = [
        [format_duration(3600 * listed[0].hours[place]), *(_at(one.skew, place) for one in listed)] for place in hourly
    ]
    return Chart(
        figure(data, layout), _summary(listed), [gettext("Time"), *(shown(one.policy) for one in listed)], rows
    )


def _at(values: np.ndarray, place: int) -> float | None:
    return round(float(values[place]), 1) if place < len(values) else None


def _summary(listed: Sequence[Series]) -> str:
    best = min(listed, key=lambda one: one.measures["skew"])
    worst = max(listed, key=lambda one: one.measures["skew"])
    said = {"best": shown(best.policy), "least": f"{best.measures['skew']:.1f}"}
    if best is worst:
        return gettext("%(best)s keeps the nodes within %(least)s points on average.") % said
    said |= {"worst": shown(worst.policy), "most": f"{worst.measures['skew']:.1f}"}
    sentence = gettext(
        "%(best)s keeps the nodes closest together, within %(least)s points on average; %(worst)s lets them drift "
        "%(most)s points apart."
    )
    return sentence % said


def distribution(listed: Sequence[Series]) -> Chart:
    """The levels of nodes in the last hour: a box for each policy, over the nodes of all seeds."""
    data = [
        go.Box(
            name=shown(one.policy),
            x=np.round(one.levels[:, -1, :].ravel(), 1).tolist(),
            boxpoints="outliers",
            orientation="h",
            hoverinfo="x",
        )
        for one in listed
    ]
    layout = go.Layout(
        height=120 + 45 * len(listed),
        showlegend=False,
        xaxis={"title": {"text": gettext("percent of a node's CPU in the last hour")}, "range": [0, 100]},
        yaxis={"type": "category", "automargin": True, "autorange": "reversed"},
    )
    rows: list[list[object]] = []
    for one in listed:
        marks = np.percentile(one.levels[:, -1, :], (0, 25, 50, 75, 100))
        rows.append([shown(one.policy), *np.round(marks, 1).tolist()])
    said = gettext("The lowest and the highest node, the middle half and the median, in the last hour.")
    head = [gettext("Policy"), gettext("Lowest"), "25 %", gettext("Median"), "75 %", gettext("Highest")]
    return Chart(figure(data, layout), said, head, rows)


def rows(listed: Sequence[Series]) -> Iterator[tuple[object, ...]]:
    """Every time of every policy, means over the seeds."""
    for one in listed:
        marks = [one.levels.mean(axis=2), one.levels.min(axis=2), one.levels.max(axis=2)]
        middle, low, high = (np.round(part.mean(axis=0), 2).tolist() for part in marks)
        engines = "; ".join(one.engines)
        for place, hours in enumerate(one.hours):
            yield one.policy, hours, round(float(one.skew[place]), 2), middle[place], low[place], high[place], engines
