"""Figures made and checked by Plotly; charts.ts draws them in the colours of the page's theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import ngettext

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from plotly.basedatatypes import BaseTraceType

ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}  # a legend in a line above the figure
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
SECONDARY = "dot"  # of lines that belong to another one
SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon", "triangle-down", "pentagon",
    "hourglass",
)  # fmt: skip
MOST_MARKS = 12  # on one line


@dataclass(frozen=True)
class Chart:
    """A Plotly figure as plain JSON, a sentence that says what it shows, and its numbers as a table."""

    figure: dict[str, Any]
    summary: str
    head: list[str]
    rows: list[list[object]]

    @classmethod
    def of_table(cls, figure: dict[str, Any], lines: int) -> Chart:
        """The chart that draws the first ``lines`` of the table below it."""
        summary = ngettext("The first line of the table below.", "The first %(lines)s lines of the table below.", lines)
        return cls(figure, summary % {"lines": lines}, [], [])


def line_style(place: int, points: int, *, secondary: bool = False, **line: object) -> dict[str, Any]:
    """How line number ``place`` (from 0) of a chart is drawn: ``mode``, ``line``, ``marker`` and ``meta`` of a scatter.

    Two lines differ in dash or marks, whatever their colours, which charts.ts takes from the place: the first 60 lines,
    and the first 12 secondary ones, which have the colour of the line that they belong to. ``points`` is how many it
    has, ``line`` more about it.
    """
    marks = place if secondary else place // len(DASHES)
    mode = "lines+markers" if marks else "lines"
    style = {
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


def make_figure(traces: Sequence[BaseTraceType], layout: go.Layout) -> dict[str, Any]:
    """The figure of ``traces`` as plain JSON; they and ``layout`` raise ValueError where they are made wrongly.

    Numbers are given as lists. An array stays one, which JSON refuses: as text only plotly.js could read it.
    """
    # A go.Figure would check nothing more, and copy each point twice: 20 ms for 5,000 of them.
    return {"data": [trace.to_plotly_json() for trace in traces], "layout": layout.to_plotly_json()}
