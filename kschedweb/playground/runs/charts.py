"""The charts of a run, each with a sentence and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from kschedweb.engine.studies.play.outcome import Kind, Outcome
from kschedweb.playground.runs.clock import Scale, span
from kschedweb.playground.runs.maps.frames import Frames, HeatmapRow
from kschedweb.web.figures import ABOVE, Chart, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kschedweb.web.nodemap.nodemap import Show

MOST_POINTS, MOST_LINES = 600, 60
QUEUES = {
    "active": "being tried or next",
    "backing_off": "backing off",
    "unschedulable": "unschedulable",
    "gated": "gated",
}
# Colours of Okabe and Ito; a queue has the same one in every run.
COLOURS = {"active": "#0072b2", "backing_off": "#e69f00", "unschedulable": "#d55e00", "gated": "#cc79a7"}
EVENTS = {
    Kind.PREEMPTED: ("preempted", "x"),
    Kind.EVICTED: ("evicted", "triangle-down"),
    Kind.NODE_GONE: ("lost with a node", "square"),
    Kind.FAILED: ("rejected by a kubelet", "diamond"),
    Kind.COLLECTED: ("collected", "circle"),
}
BINS = 60


def thinned(count: int, most: int) -> list[int]:
    """At most ``most`` of ``count`` positions, evenly spaced, with the first and the last."""
    if count <= most:
        return list(range(count))
    return [int(place) for place in np.unique(np.linspace(0, count - 1, most).round())]


def pending(outcome: Outcome) -> Chart:
    """Waiting pods by queue over time; below, the pods that were preempted, evicted or lost their node."""
    scale, samples = Scale.of(outcome.end), outcome.samples
    kept = thinned(len(samples.time), MOST_POINTS)
    at = np.round(samples.time[kept] / scale.seconds, 4).tolist()
    # The line of an always empty queue would hide that of the queue below it.
    filled = [queue for queue in QUEUES if getattr(samples, queue).any()] or ["active"]
    data: list[go.Scatter] = [
        go.Scatter(
            mode="lines" if len(at) > 1 else "markers",
            name=QUEUES[queue],
            x=at,
            y=getattr(samples, queue)[kept].tolist(),
            stackgroup="pods",
            line={"shape": "hv", "width": 1, "color": COLOURS[queue]},
            hovertemplate="%{y} pods",
        )
        for queue in filled
    ]
    events = [_events(outcome, kind, scale) for kind in EVENTS]
    data += [trace for trace in events if trace]
    vertical = {"rangemode": "tozero", "automargin": True}
    layout = go.Layout(
        height=340,
        hovermode="x unified",
        legend=ABOVE,
        xaxis={**scale.axis(), "range": [0, outcome.end / scale.seconds or 1]},
        yaxis={**vertical, "title": {"text": "pods that wait"}},
        margin={"t": 60, "b": 50},
        meta={"scale": scale.seconds},
    )
    if any(events):
        layout["yaxis"]["domain"] = [0.36, 1]
        layout["yaxis2"] = {**vertical, "domain": [0, 0.26], "title": {"text": "had to leave"}}
        layout["xaxis"]["anchor"] = "y2"
        layout["height"] = 420
    head = ["Time", *(words.capitalize() for words in QUEUES.values()), "Running", "Unknown"]
    lines = [kept[place] for place in thinned(len(kept), MOST_LINES)]
    rows: list[list[object]] = [
        [span(float(samples.time[line])), *(int(getattr(samples, queue)[line]) for queue in QUEUES),
         int(samples.running[line]), int(samples.bound[line] - samples.running[line])]
        for line in lines
    ]  # fmt: skip
    return Chart(figure(data, layout), _pending_summary(outcome), head, rows)


def _events(outcome: Outcome, kind: Kind, scale: Scale) -> go.Scatter | None:
    """Markers for one kind of departure: the pods in each of BINS intervals."""
    when = outcome.forced.time[outcome.forced.kind == kind]
    if not when.size:
        return None
    counts, edges = np.histogram(when, bins=BINS, range=(0.0, outcome.end or 1.0))
    filled = np.flatnonzero(counts)
    name, symbol = EVENTS[kind]
    return go.Scatter(
        mode="markers",
        name=name,
        x=np.round((edges[filled] + edges[filled + 1]) / 2 / scale.seconds, 4).tolist(),
        y=counts[filled].tolist(),
        yaxis="y2",
        marker={"symbol": symbol, "size": 9},
        hovertemplate="%{y} pods",
    )


def _pods(count: int) -> str:
    return "1 pod waits" if count == 1 else f"{count:,} pods wait"


def _pending_summary(outcome: Outcome) -> str:
    waiting = outcome.samples.pending
    if not len(waiting):
        return "Nothing was sampled."
    most = int(waiting.argmax())
    said = (
        f"At most {_pods(int(waiting[most]))}, after {span(float(outcome.samples.time[most]))}; "
        f"{_pods(len(outcome.pending))} at the end, after {span(outcome.end)}"
    )
    gone = [(int((outcome.forced.kind == kind).sum()), words) for kind, (words, _) in EVENTS.items()]
    parts = [f"{count:,} {'pod is' if count == 1 else 'pods are'} {words}" for count, words in gone if count]
    return f"{said}. {', '.join(parts).capitalize()}." if parts else f"{said}. No pod has to leave for another."


def heatmap(found: Frames, rows: Sequence[HeatmapRow], show: Show, end: float) -> Chart:
    """A heatmap of nodes over time, fullest first; a row is a node, or the mean of neighbours in that order."""
    scale, unit = Scale.of(end), show.unit
    grouped = any(row.count > 1 for row in rows)
    made = figure(
        [
            go.Heatmap(
                x=np.round(found.times / scale.seconds, 4).tolist(),
                y=[row.label for row in rows],
                z=[_numbers(row.values) for row in rows],
                hovertemplate=f"%{{y}}<br>%{{x}} {scale.unit}<br>%{{z}} {unit}<extra></extra>",
                hoverongaps=False,
                zmin=0,
                **({"zmax": 100} if unit == "%" else {}),
                colorbar={"title": {"text": unit}, "thickness": 12},
            )
        ],
        go.Layout(
            height=120 + max(160, 9 * len(rows)),
            xaxis={**scale.axis(), "showgrid": False},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category", "showgrid": False},
            margin={"b": 50},
            meta={"scale": scale.seconds},
        ),
    )
    shown = thinned(len(found.times), 8)
    head = [
        "Nodes" if grouped else "Node",
        "Count",
        *(f"{span(float(found.times[place]))} ({unit})" for place in shown),
    ]
    table: list[list[object]] = [
        [row.label, row.count, *(_number(row.values[place]) for place in shown)] for row in rows
    ]
    many = f"{len(found.nodes):,} nodes"
    if grouped:
        many += f" in {len(rows)} groups of neighbours by load; a cell is the mean of its group"
    last = found.values[-1][~np.isnan(found.values[-1])]
    state = f"; at the end the mean is {last.mean():.0f} {unit}, the most {last.max():.0f} {unit}" if last.size else ""
    return Chart(made, f"{show.label[0].upper()}{show.label[1:]}, {many}{state}.", head, table)


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else round(float(value), 1)


def _numbers(values: NDArray[np.float32]) -> list[float | None]:
    return [_number(value) for value in values]
