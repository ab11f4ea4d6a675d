"""The chart of drift, with its sentence and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from kschedweb.live.shadow.models import VerdictChoice
from kschedweb.live.shadow.selectors import MOST
from kschedweb.web.figures import ABOVE, Chart, figure

if TYPE_CHECKING:
    from kschedweb.live.shadow.selectors import Drift

MOST_LINES = 60
HOUR = timedelta(hours=1)
HEAD = ("start", "pods", "agree_percent", *(choice.name.lower() for choice in VerdictChoice), "mean", "most")


def drift_chart(found: Sequence[Drift], whole: Drift) -> Chart | None:
    """How many pods agree over time, and beneath by how many points their nodes are below the best."""
    if not found:
        return None
    at = [_clock(one) for one in found]
    data: list[go.Bar | go.Scatter] = [
        go.Bar(
            name=choice.label.lower(),
            x=at,
            y=[one.counts[choice.value] for one in found],
            hovertemplate="%{y} pods",
            **({"width": HOUR.total_seconds() * 500} if len(found) == 1 else {}),  # milliseconds: half an hour
        )
        for choice in VerdictChoice
        if whole.counts[choice.value]
    ]
    data.append(
        go.Scatter(
            mode="lines+markers",
            name="mean difference, points",
            x=at,
            y=[_rounded(one.mean) for one in found],
            yaxis="y2",
            hovertemplate="%{y} points",
        )
    )
    vertical = {"rangemode": "tozero", "automargin": True}
    layout = go.Layout(
        height=420,
        barmode="stack",
        hovermode="x unified",
        legend=ABOVE,
        xaxis={
            "type": "date",
            "title": {"text": "time (UTC)", "standoff": 12},
            "nticks": 9,
            "anchor": "y2",
            **_span(found),
        },
        yaxis={**vertical, "domain": [0.46, 1], "title": {"text": "pods"}},
        yaxis2={**vertical, "domain": [0, 0.38], "title": {"text": "points"}},
        margin={"t": 60, "b": 60},
    )
    head = [
        "Time (UTC)", "Pods", "Agree (%)", *(choice.label for choice in VerdictChoice), "Mean difference (points)",
        "Largest (points)",
    ]  # fmt: skip
    rows = [list(row) for row in drift_rows(list(reversed(found))[:MOST_LINES])]
    return Chart(figure(data, layout), sentence(whole), head, rows)


def drift_rows(found: Sequence[Drift]) -> Iterator[tuple[object, ...]]:
    """A row a time, in the order of HEAD."""
    for one in found:
        counts = (one.counts[choice.value] for choice in VerdictChoice)
        yield _clock(one), one.total, _rounded(one.agree), *counts, _rounded(one.mean), one.most


def sentence(whole: Drift) -> str:
    """What a person wants to know first."""
    if not whole.total:
        return "No pods evaluated in this time."
    pods = f"{whole.total:,} pod{'' if whole.total == 1 else 's'}"
    agree = f"The policy agrees on {whole.agree:.0f} % of {pods}"
    if whole.total >= MOST:
        agree += f", the newest, judged since {_clock(whole)} UTC"
    if whole.mean is None:
        return f"{agree}."
    return f"{agree}; where their nodes pass they are {whole.mean:.1f} points below the best on average."


def _clock(one: Drift) -> str:
    return f"{one.start:%Y-%m-%d %H:%M}"


def _span(found: Sequence[Drift]) -> dict[str, Any]:
    """Of a single moment an axis shows fractions of a second: it gets an hour to either side."""
    if len(found) > 1:
        return {}
    around = [found[0].start - HOUR, found[0].start + HOUR]
    return {"range": [f"{moment:%Y-%m-%d %H:%M}" for moment in around]}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
