"""Figures built and checked by Plotly. charts.ts draws them in the colours of the page's theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import ngettext

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from plotly.basedatatypes import BaseTraceType

# A legend in a line above the figure.
ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
# The dash of lines that belong to another one.
SECONDARY = "dot"
SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon", "triangle-down", "pentagon",
    "hourglass",
)  # fmt: skip
# Marks on one line; more would hide the dashes.
MOST_MARKS = 12


@dataclass(frozen=True)
class Chart:
    """A Plotly figure with its sentence and its table."""

    # Plain JSON.
    figure: Json
    # A sentence that says what the figure shows.
    summary: str
    # The same numbers as a table.
    head: list[str]
    rows: list[list[object]]

    @classmethod
    def of_table(cls, figure: Json, lines: int) -> Chart:
        """Return a chart that draws the first ``lines`` of the table below it."""
        summary = ngettext("The first line of the table below.", "The first %(lines)s lines of the table below.", lines)
        return cls(figure, summary % {"lines": lines}, [], [])


def line_style(place: int, points: int, *, secondary: bool = False, **line: object) -> dict[str, object]:
    """Return ``mode``, ``line``, ``marker`` and ``meta`` of a scatter for line number ``place`` (from 0) of a chart.

    Two lines differ in dash or marks, whatever their colours, which charts.ts takes from the place. This holds for the
    first 60 lines, and for the first 12 secondary ones, which have the colour of the line that they belong to.
    ``points`` is the number of points, ``line`` has further settings of the line.
    """
    marks = place if secondary else place // len(DASHES)
    mode = "lines+markers" if marks else "lines"
    style: dict[str, object] = {
        "mode": mode if points > 1 else "markers",
        "line": {"dash": SECONDARY if secondary else DASHES[place % len(DASHES)], **line},
        "meta": {"side": place},
    }
    if marks or points <= 1:
        symbol = SYMBOLS[(marks - 1) % len(SYMBOLS)]
        style["marker"] = {
            "symbol": f"{symbol}-open" if secondary else symbol, "size": 8, "maxdisplayed": MOST_MARKS,
        }  # fmt: skip
    return style


def bar_layout(labels: Sequence[str], title: str, *, mode: str, row: int, letters: int) -> dict[str, object]:
    """Return the layout of horizontal bars at the places 0, 1, …, one row of ``row`` pixels for each of ``labels``.

    ``title`` is that of the amounts, ``mode`` "stack" or "group"; labels are cut at ``letters``.
    """
    return {
        "height": 110 + row * len(labels),
        "barmode": mode,
        "legend": ABOVE,
        "xaxis": {"title": {"text": title}, "rangemode": "tozero"},
        "yaxis": {
            "autorange": "reversed",
            "automargin": True,
            "tickvals": list(range(len(labels))),
            "ticktext": [label if len(label) <= letters else f"{label[: letters - 1]}…" for label in labels],
        },
        "margin": {"t": 40},
    }


def make_figure(traces: Sequence[BaseTraceType], layout: go.Layout) -> Json:
    """Return the figure of ``traces`` as plain JSON. They and ``layout`` raise ValueError if they are built wrongly.

    Numbers are given as lists. An array stays an array, which JSON refuses: as text only plotly.js could read it.
    """
    # A go.Figure would check nothing more, and copy each point twice: 20 ms for 5,000 of them.
    return {"data": [trace.to_plotly_json() for trace in traces], "layout": layout.to_plotly_json()}
