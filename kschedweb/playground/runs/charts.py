"""The charts of a run, each with a sentence and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext, ngettext

from kschedweb.engine.studies.play.outcome import Kind, Outcome
from kschedweb.playground.runs.maps.frames import Frames, HeatmapRow
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.web.counting import counted
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import ABOVE, Chart, figure
from kschedweb.web.nodemap.nodemap import whole
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kschedweb.web.nodemap.nodemap import Show

MOST_POINTS, MOST_LINES = 600, 60
QUEUES = {
    "active": _("being tried or next"),
    "backing_off": _("backing off"),
    "unschedulable": _("unschedulable"),
    "gated": _("gated"),
}
# Colours of Okabe and Ito; a queue has the same one in every run.
COLOURS = {"active": "#0072b2", "backing_off": "#e69f00", "unschedulable": "#d55e00", "gated": "#cc79a7"}
EVENTS = {
    Kind.PREEMPTED: (_("preempted"), "x"),
    Kind.EVICTED: (_("evicted"), "triangle-down"),
    Kind.NODE_GONE: (_("lost with a node"), "square"),
    Kind.FAILED: (_("rejected by a kubelet"), "diamond"),
    Kind.COLLECTED: (_("collected"), "circle"),
}
BINS = 60


def thinned(count: int, most: int) -> list[int]:
    """At most ``most`` of ``count`` positions, evenly spaced, with the first and the last."""
    if count <= most:
        return list(range(count))
    return [int(place) for place in np.unique(np.linspace(0, count - 1, most).round())]


def pending(outcome: Outcome) -> Chart:
    """Waiting pods by queue over time; below, the pods that were preempted, evicted or lost their node."""
    scale, samples = TimeScale.of(outcome.end), outcome.samples
    kept = thinned(len(samples.time), MOST_POINTS)
    at = np.round(samples.time[kept] / scale.seconds, 4).tolist()
    # The line of an always empty queue would hide that of the queue below it.
    filled = [queue for queue in QUEUES if getattr(samples, queue).any()] or ["active"]
    data: list[go.Scatter] = [
        go.Scatter(
            mode="lines" if len(at) > 1 else "markers",
            name=str(QUEUES[queue]),
            x=at,
            y=getattr(samples, queue)[kept].tolist(),
            stackgroup="pods",
            line={"shape": "hv", "width": 1, "color": COLOURS[queue]},
            hovertemplate=gettext("%(pods)s pods") % {"pods": "%{y}"},
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
        yaxis={**vertical, "title": {"text": gettext("pods that wait")}},
        margin={"t": 60, "b": 50},
        meta={"scale": scale.seconds},
    )
    if any(events):
        layout["yaxis"]["domain"] = [0.36, 1]
        layout["yaxis2"] = {**vertical, "domain": [0, 0.26], "title": {"text": gettext("had to leave")}}
        layout["xaxis"]["anchor"] = "y2"
        layout["height"] = 420
    head = [gettext("Time"), *(words.capitalize() for words in QUEUES.values()), gettext("Running"), gettext("Unknown")]
    lines = [kept[place] for place in thinned(len(kept), MOST_LINES)]
    rows: list[list[object]] = [
        [format_duration(float(samples.time[line])), *(int(getattr(samples, queue)[line]) for queue in QUEUES),
         int(samples.running[line]), int(samples.bound[line] - samples.running[line])]
        for line in lines
    ]  # fmt: skip
    return Chart(figure(data, layout), _pending_summary(outcome), head, rows)


def _events(outcome: Outcome, kind: Kind, scale: TimeScale) -> go.Scatter | None:
    """Markers for one kind of departure: the pods in each of BINS intervals."""
    when = outcome.forced.time[outcome.forced.kind == kind]
    if not when.size:
        return None
    counts, edges = np.histogram(when, bins=BINS, range=(0.0, outcome.end or 1.0))
    filled = np.flatnonzero(counts)
    name, symbol = EVENTS[kind]
    return go.Scatter(
        mode="markers",
        name=str(name),
        x=np.round((edges[filled] + edges[filled + 1]) / 2 / scale.seconds, 4).tolist(),
        y=counts[filled].tolist(),
        yaxis="y2",
        marker={"symbol": symbol, "size": 9},
        hovertemplate=gettext("%(pods)s pods") % {"pods": "%{y}"},
    )


def _pods(count: int) -> str:
    return ngettext("%(pods)s pod waits", "%(pods)s pods wait", count) % {"pods": f"{count:,}"}


def _pending_summary(outcome: Outcome) -> str:
    waiting = outcome.samples.pending
    if not len(waiting):
        return gettext("Nothing was sampled.")
    most = int(waiting.argmax())
    said = gettext("At most %(most)s, after %(when)s; %(last)s at the end, after %(end)s.") % {
        "most": _pods(int(waiting[most])),
        "when": format_duration(float(outcome.samples.time[most])),
        "last": _pods(len(outcome.pending)),
        "end": format_duration(outcome.end),
    }
    gone = [(int((outcome.forced.kind == kind).sum()), words) for kind, (words, _) in EVENTS.items()]
    parts = [
        ngettext("%(pods)s pod is %(gone)s", "%(pods)s pods are %(gone)s", count)
        % {"pods": f"{count:,}", "gone": words}
        for count, words in gone
        if count
    ]
    listed = gettext(", ").join(parts)
    listed = listed[:1].upper() + listed[1:]
    after = gettext("%(listed)s.") % {"listed": listed} if parts else gettext("No pod has to leave for another.")
    return gettext("%(first)s %(second)s") % {"first": said, "second": after}


def heatmap(found: Frames, rows: Sequence[HeatmapRow], show: Show, end: float) -> Chart:
    """A heatmap of nodes over time, fullest first; a row is a node, or the mean of neighbours in that order."""
    scale, unit = TimeScale.of(end), show.unit
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
        gettext("Nodes") if grouped else gettext("Node"),
        gettext("Count"),
        *(f"{format_duration(float(found.times[place]))} ({unit})" for place in shown),
    ]
    table: list[list[object]] = [
        [row.label, row.count, *(_number(row.values[place]) for place in shown)] for row in rows
    ]
    told = {
        "shown": f"{show.label[0].upper()}{show.label[1:]}",
        "nodes": counted(len(found.nodes), "nodes"),
        "unit": unit,
    }
    said = gettext("%(shown)s, %(nodes)s") % told
    if grouped:
        told["groups"] = str(len(rows))
        said = (
            gettext("%(shown)s, %(nodes)s in %(groups)s groups of neighbours by load; a cell is the mean of its group")
            % told
        )
    last = found.values[-1][~np.isnan(found.values[-1])]
    if last.size:
        told |= {"said": said, "mean": str(whole(last.astype(np.float64).mean())), "most": str(whole(last.max()))}
        said = gettext("%(said)s; at the end the mean is %(mean)s %(unit)s, the most %(most)s %(unit)s") % told
    return Chart(made, gettext("%(said)s.") % {"said": said}, head, table)


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else round(float(value), 1)


def _numbers(values: NDArray[np.float32]) -> list[float | None]:
    return [_number(value) for value in values]
