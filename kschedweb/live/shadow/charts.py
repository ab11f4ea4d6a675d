"""The chart of drift, with its sentence and its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.live.shadow.models import VerdictChoice
from kschedweb.live.shadow.selectors import MAX_VERDICTS
from kschedweb.web.counting import format_count
from kschedweb.web.figures import ABOVE, Chart, make_figure

if TYPE_CHECKING:
    from kschedweb.live.shadow.selectors import Drift

MOST_LINES = 60
# An axis of this length to either side is drawn around a single moment.
HOUR = timedelta(hours=1)
HEAD = ("start", "pods", "agree_percent", *(choice.name.lower() for choice in VerdictChoice), "mean", "most")


def drift_chart(drifts: Sequence[Drift], whole: Drift) -> Chart | None:
    """Chart the pods by verdict over time, and below the mean difference of totals. Return None without pods."""
    if not drifts:
        return None
    at = [_format_start(drift) for drift in drifts]
    data: list[go.Bar | go.Scatter] = [
        go.Bar(
            name=choice.label.lower(),
            x=at,
            y=[drift.counts[choice.value] for drift in drifts],
            hovertemplate=f"%{{y}} {gettext('pods')}",
            # A single bar is half an hour wide, in milliseconds.
            **({"width": HOUR.total_seconds() * 500} if len(drifts) == 1 else {}),
        )
        for choice in VerdictChoice
        if whole.counts[choice.value]
    ]
    data.append(
        go.Scatter(
            mode="lines+markers",
            name=gettext("mean difference, points"),
            x=at,
            y=[_round(drift.mean) for drift in drifts],
            yaxis="y2",
            hovertemplate=f"%{{y}} {gettext('points')}",
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
            "title": {"text": gettext("time (UTC)"), "standoff": 12},
            "nticks": 9,
            "anchor": "y2",
            **_axis_range(drifts),
        },
        yaxis={**vertical, "domain": [0.46, 1], "title": {"text": gettext("pods")}},
        yaxis2={**vertical, "domain": [0, 0.38], "title": {"text": gettext("points")}},
        margin={"t": 60, "b": 60},
    )
    head = [
        gettext("Time (UTC)"), gettext("Pods"), gettext("Agree (%)"), *(choice.label for choice in VerdictChoice),
        gettext("Mean difference (points)"), gettext("Largest (points)"),
    ]  # fmt: skip
    rows = [list(row) for row in drift_rows(list(reversed(drifts))[:MOST_LINES])]
    return Chart(make_figure(data, layout), describe_drift(whole), head, rows)


def drift_rows(drifts: Sequence[Drift]) -> Iterator[tuple[object, ...]]:
    """Yield a row per time, in the order of HEAD."""
    for drift in drifts:
        counts = (drift.counts[choice.value] for choice in VerdictChoice)
        yield _format_start(drift), drift.total, _round(drift.agree), *counts, _round(drift.mean), drift.most


def describe_drift(whole: Drift) -> str:
    """Return the drift in one sentence, with the most important figures."""
    if not whole.total:
        return gettext("No pods evaluated in this time.")
    words = {
        "share": f"{whole.agree:.0f}",
        "pods": format_count(whole.total, "pods"),
        "time": _format_start(whole),
        "points": f"{whole.mean or 0:.1f}",
    }
    sentences = [gettext("The policy agrees on %(share)s %% of %(pods)s.") % words]
    if whole.total >= MAX_VERDICTS:
        sentences.append(gettext("These are the newest, judged since %(time)s UTC.") % words)
    if whole.mean is not None:
        sentences.append(
            gettext("Where their nodes pass, they score %(points)s points below the best on average.") % words
        )
    return " ".join(sentences)


def _format_start(drift: Drift) -> str:
    return f"{drift.start:%Y-%m-%d %H:%M}"


def _axis_range(drifts: Sequence[Drift]) -> dict[str, object]:
    """Return an hour to either side of a single moment, as its axis would show fractions of a second."""
    if len(drifts) > 1:
        return {}
    around = [drifts[0].start - HOUR, drifts[0].start + HOUR]
    return {"range": [f"{moment:%Y-%m-%d %H:%M}" for moment in around]}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
