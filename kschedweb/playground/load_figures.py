"""Charts of load-aware policies as plain Plotly dicts: score over utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kschedweb.playground.figures import Chart

if TYPE_CHECKING:
    from kschedweb.playground.row import Curve

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
TABLE_STEP = 5  # percent


def curves(drawn: Sequence[tuple[str, Curve]], *, saved: Sequence[tuple[str, Curve]] = (), height: int = 380) -> Chart:
    """One line a label; ``saved`` are drawn thin and dotted for comparison. Raises ValueError without a line."""
    percents = drawn[0][1].percents
    data = [_trace(index, label, curve) for index, (label, curve) in enumerate(drawn)]
    data += [_saved(label, curve) for label, curve in saved]
    figure = {
        "data": data,
        "layout": {
            "height": height,
            "xaxis": {"title": {"text": "the node's use, % of allocatable"}, "range": [0, 100], "dtick": 10},
            "yaxis": {"title": {"text": "score"}, "range": [-2, 102], "dtick": 20, "automargin": True},
            "legend": {"orientation": "h", "y": -0.22, "yanchor": "top"},
            "hovermode": "x unified",
        },
    }
    every = [*drawn, *((f"{label}, saved", curve) for label, curve in saved)]
    rows: list[list[object]] = [
        [f"{percent} %", *(_cell(curve, index) for _, curve in every)]
        for index, percent in enumerate(percents)
        if percent % TABLE_STEP == 0
    ]
    return Chart(figure, summary(drawn), ["Use", *(label for label, _ in every)], rows)


def summary(drawn: Sequence[tuple[str, Curve]]) -> str:
    """Where each line is highest, in one sentence."""
    words = []
    for label, curve in drawn:
        top = curve.top
        if curve.error:
            words.append(f"{label} fails")
        elif top is None:
            words.append(f"{label} rejects every node")
        elif curve.flat:
            words.append(f"{label} gives {top[0]} throughout")
        else:
            words.append(f"{label} is highest, {top[0]}, at {top[1]} %")
    return f"{'; '.join(words)}."


def _trace(index: int, label: str, curve: Curve) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": list(curve.percents),
        "y": curve.scores,
        "line": {"width": 2, "dash": DASHES[index % len(DASHES)]},
        "hovertemplate": "%{y}",
    }


def _saved(label: str, curve: Curve) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{label}, saved",
        "x": list(curve.percents),
        "y": curve.scores,
        "line": {"width": 1, "dash": "dot"},
        "hovertemplate": "%{y}",
    }


def _cell(curve: Curve, index: int) -> int | str:
    score = curve.scores[index]
    return "rejected" if score is None else score
