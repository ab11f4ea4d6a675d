"""The charts of a live scheduler. Each knows its sentence and its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import plotly.graph_objects as go

from kschedweb.web.figures import ABOVE, Chart, figure

CLOCK = {"type": "date", "title": {"text": "time (UTC)", "standoff": 12}, "tickangle": 0, "nticks": 7}
QUEUES = ("active", "backoff", "unschedulable", "gated", "waiting")
WORDS = {"backoff": "in backoff", "waiting": "waiting at Permit"}
MOST_LINES = 60  # of the table: what a person still reads
POINTS = {
    "PreFilter": "before filters look at nodes",
    "Filter": "which nodes can run it",
    "PostFilter": "whether others could make room",
    "PreScore": "before scores are given",
    "Score": "which of them is best",
    "Reserve": "taking the node's room",
    "Permit": "whether it may go on",
    "PreBind": "before it is bound",
    "Bind": "writing the binding",
}


class Sample(NamedTuple):
    """A live scheduler at ``at`` (seconds of the epoch): pods by queue, pods bound a second, median latency in s."""

    at: float
    active: int
    backoff: int
    unschedulable: int
    gated: int
    waiting: int
    rate: float
    median: float | None

    @property
    def clock(self) -> str:
        return f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M:%S}"


def samples(history: Iterable[Sequence[Any]]) -> list[Sample]:
    """What a candidate's ``history`` holds, oldest first."""
    return [Sample(*entry) for entry in history]


def depths(history: Sequence[Sample]) -> Chart | None:
    """Pods by queue over time, on top of each other; ``None`` without a sample."""
    if not history:
        return None
    at = [sample.clock for sample in history]
    data = [
        go.Scatter(
            mode="lines" if len(at) > 1 else "markers",
            name=WORDS.get(name, name),
            x=at,
            y=[getattr(sample, name) for sample in history],
            stackgroup="pods",
            hovertemplate="%{y}",
        )
        for name in QUEUES
    ]
    layout = _layout(yaxis={"title": {"text": "pods"}, "rangemode": "tozero", "automargin": True})
    last, most = history[-1], max(sum(sample[1:6]) for sample in history)
    parts = [f"{getattr(last, name)} {WORDS.get(name, name)}" for name in QUEUES if getattr(last, name)]
    summary = f"Now {', '.join(parts) or 'no pod'}; at most {most:,} pods together in {_span(history)}."
    head = ["Time (UTC)", *(WORDS.get(name, name).capitalize() for name in QUEUES)]
    rows: list[list[object]] = [[sample.clock, *sample[1:6]] for sample in _thinned(history)]
    return Chart(figure(data, layout), summary, head, rows)


def speed(history: Sequence[Sample]) -> Chart | None:
    """Pods bound a second, and beneath the median time to schedule a pod; ``None`` without a sample."""
    if not history:
        return None
    at = [sample.clock for sample in history]
    median = [None if sample.median is None else round(1000 * sample.median, 1) for sample in history]
    mode = "lines" if len(at) > 1 else "markers"
    rate = [round(sample.rate, 1) for sample in history]
    data = [
        go.Scatter(
            mode=mode,
            name="pods bound a second",
            x=at,
            y=rate,
            hovertemplate="%{y}",
        ),
        go.Scatter(
            mode=mode,
            name="median time to schedule, ms",
            x=at,
            y=median,
            yaxis="y2",
            hovertemplate="%{y}",
            line={"dash": "dot"},
        ),
    ]
    vertical = {"rangemode": "tozero", "automargin": True}
    layout = _layout(
        xaxis={**CLOCK, "anchor": "y2"},
        yaxis={**vertical, "domain": [0.54, 1], "title": {"text": "pods/s"}},
        yaxis2={**vertical, "domain": [0, 0.44], "title": {"text": "ms"}},
    )
    known = [value for value in median if value is not None]
    words = f"; the median time to schedule a pod is {known[-1]:,.0f} ms" if known else ""
    summary = f"Now {rate[-1]:g} pods a second, at most {max(rate):g} in {_span(history)}{words}."
    head = ["Time (UTC)", "Pods bound a second", "Median time to schedule (ms)"]
    rows: list[list[object]] = [
        [sample.clock, round(sample.rate, 1), None if sample.median is None else round(1000 * sample.median, 1)]
        for sample in _thinned(history)
    ]
    return Chart(figure(data, layout), summary, head, rows)


def durations(measured: dict[str, float]) -> Chart | None:
    """Milliseconds by extension point of one decision; ``None`` where nothing was measured."""
    if not measured:
        return None
    names = list(measured)
    spent = [round(1000 * measured[name], 3) for name in names]
    made = figure(
        [
            go.Bar(
                orientation="h",
                y=names,
                x=spent,
                hovertemplate="%{y}: %{x} ms<extra></extra>",
            )
        ],
        go.Layout(
            height=90 + 26 * len(names),
            showlegend=False,
            xaxis={"title": {"text": "milliseconds"}, "rangemode": "tozero"},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
        ),
    )
    most = max(names, key=lambda name: measured[name])
    summary = f"{sum(spent):.2f} ms in all, most of it in {most} ({1000 * measured[most]:.2f} ms)."
    rows: list[list[object]] = [
        [name, milliseconds, POINTS.get(name, "")] for name, milliseconds in zip(names, spent, strict=True)
    ]
    return Chart(made, summary, ["Extension point", "Milliseconds", "What it is about"], rows)


def _layout(**axes: dict[str, Any]) -> go.Layout:
    around = {"height": 260, "hovermode": "x unified", "legend": ABOVE, "margin": {"t": 40, "b": 50}}
    return go.Layout(**around, **{"xaxis": CLOCK, **axes})


def _span(history: Sequence[Sample]) -> str:
    minutes = (history[-1].at - history[0].at) / 60
    return f"the last {minutes:.0f} min" if minutes >= 1 else "the last minute"


def _thinned(history: Sequence[Sample]) -> list[Sample]:
    """The newest first, as many as a person reads."""
    return list(reversed(history))[:MOST_LINES]
