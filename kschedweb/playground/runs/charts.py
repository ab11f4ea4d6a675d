"""Charts of a run, each with a sentence and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext, ngettext

from kschedweb.engine.studies.play.outcome import MoveKind, RunOutcome
from kschedweb.playground.runs.maps.frames import Frames, HeatmapRow
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.web.counting import format_count
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import ABOVE, Chart, make_figure
from kschedweb.web.nodemap.nodemap import round_half_up
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kschedweb.web.nodemap.nodemap import NodeColouring

# Points of a line in a chart, about one for each pixel of its width, and rows of its table.
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
    MoveKind.PREEMPTED: (_("preempted"), "x"),
    MoveKind.EVICTED: (_("evicted"), "triangle-down"),
    MoveKind.NODE_GONE: (_("lost with a node"), "square"),
    MoveKind.FAILED: (_("rejected by a kubelet"), "diamond"),
    MoveKind.COLLECTED: (_("collected"), "circle"),
}
# Intervals of time in which departures are counted.
BINS = 60


def thin_positions(count: int, limit: int) -> list[int]:
    """Return at most ``limit`` of ``count`` positions, evenly spaced, with the first and the last."""
    if count <= limit:
        return list(range(count))
    # Rounding may hit a position twice when the limit is close to the count.
    return [int(place) for place in np.unique(np.linspace(0, count - 1, limit).round())]


def pending_chart(outcome: RunOutcome) -> Chart:
    """Draw waiting pods by queue over time; below, the pods that were preempted, evicted or lost their node."""
    scale, samples = TimeScale.for_end(outcome.end), outcome.samples
    positions = thin_positions(len(samples.time), MOST_POINTS)
    at = np.round(samples.time[positions] / scale.seconds, 4).tolist()
    # The line of an always empty queue would hide that of the queue below it.
    filled = [queue for queue in QUEUES if getattr(samples, queue).any()] or ["active"]
    data: list[go.Scatter] = [
        go.Scatter(
            mode="lines" if len(at) > 1 else "markers",
            name=str(QUEUES[queue]),
            x=at,
            y=getattr(samples, queue)[positions].tolist(),
            stackgroup="pods",
            line={"shape": "hv", "width": 1, "color": COLOURS[queue]},
            hovertemplate=gettext("%(pods)s pods") % {"pods": "%{y}"},
        )
        for queue in filled
    ]
    events = [_event_trace(outcome, kind, scale) for kind in EVENTS]
    data += [trace for trace in events if trace]
    vertical = {"rangemode": "tozero", "automargin": True}
    layout = go.Layout(
        height=340,
        hovermode="x unified",
        legend=ABOVE,
        xaxis={**scale.axis_layout(), "range": [0, outcome.end / scale.seconds or 1]},
        yaxis={**vertical, "title": {"text": gettext("pods that wait")}},
        margin={"t": 60, "b": 50},
        meta={"scale": scale.seconds},
    )
    if any(events):
        # The lower panel takes a quarter of the height, with a gap for the titles.
        layout["yaxis"]["domain"] = [0.36, 1]
        layout["yaxis2"] = {**vertical, "domain": [0, 0.26], "title": {"text": gettext("had to leave")}}
        layout["xaxis"]["anchor"] = "y2"
        layout["height"] = 420
    head = [gettext("Time"), *(words.capitalize() for words in QUEUES.values()), gettext("Running"), gettext("Unknown")]
    lines = [positions[place] for place in thin_positions(len(positions), MOST_LINES)]
    rows: list[list[object]] = [
        [format_duration(float(samples.time[line])), *(int(getattr(samples, queue)[line]) for queue in QUEUES),
         int(samples.running[line]), int(samples.bound[line] - samples.running[line])]
        for line in lines
    ]  # fmt: skip
    return Chart(make_figure(data, layout), _pending_summary(outcome), head, rows)


def _event_trace(outcome: RunOutcome, kind: MoveKind, scale: TimeScale) -> go.Scatter | None:
    """Return markers for one kind of departure, with the pods in each of BINS intervals; ``None`` without any."""
    when = outcome.forced_moves.time[outcome.forced_moves.kind == kind]
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


def _count_waiting(count: int) -> str:
    return ngettext("%(pods)s pod waits", "%(pods)s pods wait", count) % {"pods": f"{count:,}"}


def _pending_summary(outcome: RunOutcome) -> str:
    """Return a sentence on the peak and the end of the queue, and on pods that had to leave."""
    waiting = outcome.samples.pending
    if not len(waiting):
        return gettext("Nothing was sampled.")
    peak = int(waiting.argmax())
    sentence = gettext("At most %(most)s, after %(when)s; %(last)s at the end, after %(end)s.") % {
        "most": _count_waiting(int(waiting[peak])),
        "when": format_duration(float(outcome.samples.time[peak])),
        "last": _count_waiting(len(outcome.pending)),
        "end": format_duration(outcome.end),
    }
    departures = [(int((outcome.forced_moves.kind == kind).sum()), words) for kind, (words, _) in EVENTS.items()]
    parts = [
        ngettext("%(pods)s pod is %(gone)s", "%(pods)s pods are %(gone)s", count)
        % {"pods": f"{count:,}", "gone": words}
        for count, words in departures
        if count
    ]
    listed = gettext(", ").join(parts)
    listed = listed[:1].upper() + listed[1:]
    after = gettext("%(listed)s.") % {"listed": listed} if parts else gettext("No pod has to leave for another.")
    return gettext("%(first)s %(second)s") % {"first": sentence, "second": after}


def heatmap_chart(frames: Frames, rows: Sequence[HeatmapRow], show: NodeColouring, end: float) -> Chart:
    """Draw a heatmap of nodes over time, fullest first; a row is a node, or the mean of neighbours in that order."""
    scale, unit = TimeScale.for_end(end), show.unit
    grouped = any(row.count > 1 for row in rows)
    plot = make_figure(
        [
            go.Heatmap(
                x=np.round(frames.times / scale.seconds, 4).tolist(),
                y=[row.label for row in rows],
                z=[_round_numbers(row.values) for row in rows],
                hovertemplate=f"%{{y}}<br>%{{x}} {scale.unit}<br>%{{z}} {unit}<extra></extra>",
                hoverongaps=False,
                zmin=0,
                **({"zmax": 100} if unit == "%" else {}),
                colorbar={"title": {"text": unit}, "thickness": 12},
            )
        ],
        go.Layout(
            # Pixels: 9 for each row.
            height=120 + max(160, 9 * len(rows)),
            xaxis={**scale.axis_layout(), "showgrid": False},
            yaxis={"autorange": "reversed", "automargin": True, "type": "category", "showgrid": False},
            margin={"b": 50},
            meta={"scale": scale.seconds},
        ),
    )
    columns = thin_positions(len(frames.times), 8)
    head = [
        gettext("Nodes") if grouped else gettext("Node"),
        gettext("Count"),
        *(f"{format_duration(float(frames.times[place]))} ({unit})" for place in columns),
    ]
    table: list[list[object]] = [
        [row.label, row.count, *(_round_number(row.values[place]) for place in columns)] for row in rows
    ]
    args = {
        "shown": f"{show.label[0].upper()}{show.label[1:]}",
        "nodes": format_count(len(frames.nodes), "nodes"),
        "unit": unit,
    }
    summary = gettext("%(shown)s, %(nodes)s") % args
    if grouped:
        args["groups"] = str(len(rows))
        summary = (
            gettext("%(shown)s, %(nodes)s in %(groups)s groups of neighbours by load; a cell is the mean of its group")
            % args
        )
    last = frames.values[-1][~np.isnan(frames.values[-1])]
    if last.size:
        args |= {
            "said": summary,
            "mean": str(round_half_up(last.astype(np.float64).mean())),
            "most": str(round_half_up(last.max())),
        }
        summary = gettext("%(said)s; at the end the mean is %(mean)s %(unit)s, the most %(most)s %(unit)s") % args
    return Chart(plot, gettext("%(said)s.") % {"said": summary}, head, table)


def _round_number(value: Any) -> float | None:
    return None if np.isnan(value) else round(float(value), 1)


def _round_numbers(values: NDArray[np.float32]) -> list[float | None]:
    return [_round_number(value) for value in values]
