"""The charts of a live scheduler, each with its sentence and its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.web.durations import format_duration, format_milliseconds
from kschedweb.web.figures import ABOVE, Chart, make_figure
from kschedweb.web.translating import gettext_lazy as _

QUEUES = {
    "active": _("active"),
    "backoff": _("in backoff"),
    "unschedulable": _("unschedulable"),
    "gated": _("gated"),
    "waiting": _("waiting at Permit"),
}
# Lines of a chart's table: as many as a person still reads.
MOST_LINES = 60
# Extension points of the framework -> their purpose in words.
POINTS = {
    "PreFilter": _("before filters look at nodes"),
    "Filter": _("which nodes can run it"),
    "PostFilter": _("whether others could make room"),
    "PreScore": _("before scores are given"),
    "Score": _("which of them is best"),
    "Reserve": _("taking the node's room"),
    "Permit": _("whether it may continue"),
    "PreBind": _("before it is bound"),
    "Bind": _("writing the binding"),
}


class LiveSample(NamedTuple):
    """The figures of a live scheduler at one moment, in the order of a candidate's ``history``."""

    # Seconds of the epoch.
    at: float
    # Pods by queue.
    active: int
    backoff: int
    unschedulable: int
    gated: int
    waiting: int
    # Pods bound per second.
    rate: float
    # Median latency in seconds; None if no pod was bound yet.
    median: float | None

    @property
    def clock(self) -> str:
        return f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M:%S}"


def read_samples(history: Iterable[Sequence[Any]]) -> list[LiveSample]:
    """Return the samples of a candidate's ``history``, oldest first."""
    return [LiveSample(*entry) for entry in history]


def depths_chart(history: Sequence[LiveSample]) -> Chart | None:
    """Chart the pods by queue over time, stacked. Return None without a sample."""
    if not history:
        return None
    at = [sample.clock for sample in history]
    data = [
        go.Scatter(
            mode="lines" if len(at) > 1 else "markers",
            name=str(words),
            x=at,
            y=[getattr(sample, name) for sample in history],
            stackgroup="pods",
            hovertemplate="%{y}",
        )
        for name, words in QUEUES.items()
    ]
    layout = _make_layout(yaxis={"title": {"text": gettext("pods")}, "rangemode": "tozero", "automargin": True})
    last, highest = history[-1], max(sum(sample[1:6]) for sample in history)
    parts = [f"{getattr(last, name)} {words}" for name, words in QUEUES.items() if getattr(last, name)]
    summary = gettext("Now %(pods)s; at most %(most)s pods together in the last %(lasting)s.") % {
        "pods": ", ".join(parts) or gettext("no pod"),
        "most": f"{highest:,}",
        "lasting": _describe_span(history),
    }
    head = [gettext("Time (UTC)"), *(str(words).capitalize() for words in QUEUES.values())]
    rows: list[list[object]] = [[sample.clock, *sample[1:6]] for sample in _newest_samples(history)]
    return Chart(make_figure(data, layout), summary, head, rows)


def speed_chart(history: Sequence[LiveSample]) -> Chart | None:
    """Chart the pods bound per second, and below the median time to schedule a pod. Return None without a sample."""
    if not history:
        return None
    at = [sample.clock for sample in history]
    median = [None if sample.median is None else round(1000 * sample.median, 1) for sample in history]
    mode = "lines" if len(at) > 1 else "markers"
    rate = [round(sample.rate, 1) for sample in history]
    data = [
        go.Scatter(
            mode=mode,
            name=gettext("pods bound a second"),
            x=at,
            y=rate,
            hovertemplate="%{y}",
        ),
        go.Scatter(
            mode=mode,
            name=gettext("median time to schedule, ms"),
            x=at,
            y=median,
            yaxis="y2",
            hovertemplate="%{y}",
            line={"dash": "dot"},
        ),
    ]
    vertical = {"rangemode": "tozero", "automargin": True}
    layout = _make_layout(
        xaxis={**_time_axis(), "anchor": "y2"},
        yaxis={**vertical, "domain": [0.54, 1], "title": {"text": gettext("pods/s")}},
        yaxis2={**vertical, "domain": [0, 0.44], "title": {"text": gettext("milliseconds")}},
    )
    medians = [value for value in median if value is not None]
    summary = gettext("Now %(rate)s pods a second, at most %(most)s in the last %(lasting)s.")
    params = {"rate": f"{rate[-1]:g}", "most": f"{max(rate):g}", "lasting": _describe_span(history)}
    if medians:
        summary = gettext(
            "Now %(rate)s pods a second, at most %(most)s in the last %(lasting)s; the median time to schedule a pod "
            "is %(median)s."
        )
        params["median"] = format_milliseconds(medians[-1])
    head = [gettext("Time (UTC)"), gettext("Pods bound a second"), gettext("Median time to schedule (ms)")]
    rows: list[list[object]] = [
        [sample.clock, round(sample.rate, 1), None if sample.median is None else round(1000 * sample.median, 1)]
        for sample in _newest_samples(history)
    ]
    return Chart(make_figure(data, layout), summary % params, head, rows)


def durations_chart(measured: dict[str, float]) -> Chart | None:
    """Chart the milliseconds of one decision by extension point. Return None if nothing was measured."""
    if not measured:
        return None
    names = list(measured)
    spent = [round(1000 * measured[name], 3) for name in names]
    bars = make_figure(
        [
            go.Bar(
                orientation="h",
                y=names,
                x=spent,
                hovertemplate=gettext("{y}: {x} ms").format(y="%{y}", x="%{x}") + "<extra></extra>",
            )
        ],
        go.Layout(
            height=90 + 26 * len(names),
            showlegend=False,
            xaxis={"title": {"text": gettext("milliseconds")}, "rangemode": "tozero"},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
        ),
    )
    slowest = max(names, key=lambda name: measured[name])
    summary = gettext("%(sum)s ms in all, most of it in %(point)s (%(most)s ms).") % {
        "sum": f"{sum(spent):.2f}",
        "point": slowest,
        "most": f"{1000 * measured[slowest]:.2f}",
    }
    rows: list[list[object]] = [
        [name, milliseconds, str(POINTS.get(name, ""))] for name, milliseconds in zip(names, spent, strict=True)
    ]
    head = [gettext("Extension point"), gettext("Milliseconds"), gettext("What it is about")]
    return Chart(bars, summary, head, rows)


def _make_layout(**axes: dict[str, object]) -> go.Layout:
    around = {"height": 260, "hovermode": "x unified", "legend": ABOVE, "margin": {"t": 40, "b": 50}}
    return go.Layout(**around, **{"xaxis": _time_axis(), **axes})


def _time_axis() -> dict[str, object]:
    title = {"text": gettext("time (UTC)"), "standoff": 12}
    return {"type": "date", "title": title, "tickangle": 0, "nticks": 7}


def _describe_span(history: Sequence[LiveSample]) -> str:
    """Return the length of ``history`` in minutes, as text."""
    minutes = max(1, round((history[-1].at - history[0].at) / 60))
    return format_duration(60 * minutes)


def _newest_samples(history: Sequence[LiveSample]) -> list[LiveSample]:
    """Return the newest samples first, as many as a person reads."""
    return list(reversed(history))[:MOST_LINES]
