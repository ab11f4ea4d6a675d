"""Figures are made and checked by Plotly, and leave as plain JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from django.utils.html import json_script
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.web.figures import line_style, make_figure

NUMBERS = st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS), st.lists(st.lists(NUMBERS, min_size=2, max_size=2)))
def test_what_is_drawn_is_what_was_given(values: list[object], rows: list[list[object]]) -> None:
    layout = go.Layout(height=300, yaxis2={"title": {"text": "points"}}, meta={"links": {"a": "/a/"}})
    figure = make_figure([go.Scatter(y=values), go.Heatmap(z=rows)], layout)
    assert json.loads(json.dumps(figure)) == {
        "data": [{"type": "scatter", "y": values}, {"type": "heatmap", "z": rows}],
        "layout": {"height": 300, "yaxis2": {"title": {"text": "points"}}, "meta": {"links": {"a": "/a/"}}},
    }


@pytest.mark.parametrize("layout", [{"heigth": 300}, {"height": "tall"}, {"xaxis": {"rangemode": "tozeroo"}}])
def test_what_plotly_does_not_know_is_refused(layout: dict[str, object]) -> None:
    (name,) = layout
    with pytest.raises(ValueError, match="rangemode" if name == "xaxis" else name):
        make_figure([], go.Layout(**layout))


def test_an_array_does_not_become_text_that_only_a_browser_reads() -> None:
    figure = make_figure([go.Scatter(y=np.arange(3))], go.Layout())
    with pytest.raises(TypeError, match="ndarray is not JSON serializable"):
        json_script(figure)


def look(style: dict[str, Any]) -> tuple[object, ...]:
    """Return the features that distinguish a line without its colour."""
    return style["line"]["dash"], style.get("marker", {}).get("symbol")


@given(st.integers(1, 60), st.integers(0, 12), st.integers(2, 500))
def test_lines_differ_without_their_colours(lines: int, secondary: int, points: int) -> None:
    styles = [line_style(place, points) for place in range(lines)]
    styles += [line_style(place, points, secondary=True) for place in range(secondary)]
    assert len({look(style) for style in styles}) == len(styles)


@given(st.integers(0, 60), st.integers(1, 3), st.booleans())
def test_a_line_of_one_point_is_a_mark(place: int, points: int, secondary: bool) -> None:
    style = line_style(place, points, secondary=secondary, shape="hv")
    line = go.Scatter(y=[1] * points, **style)
    assert line.line.shape == "hv"
    assert line.meta == {"side": place}
    assert ("markers" in line.mode) == (line.marker.symbol is not None)
    assert line.mode == "markers" if points == 1 else "lines" in line.mode
