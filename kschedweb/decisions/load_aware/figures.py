"""Charts of load-aware policies as Plotly figures: score over utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.decisions.load_aware.curves import Conditions, ScoreCurve, compute_curve
from kschedweb.decisions.load_aware.node_marks import CurveMark, NodeUse, describe_curve, marks_on
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.engine.json_types import Json
from kschedweb.web.figures import ABOVE, Chart, line_style, make_figure

# Percent between the rows of the table.
TABLE_STEP = 5
# Pixels of a small chart, and names of nodes in its hover text.
SMALL_HEIGHT, MOST_NAMES = 180, 3


def build_curve_chart(
    drawn: Sequence[tuple[str, ScoreCurve]], *, saved: Sequence[tuple[str, ScoreCurve]] = (), height: int = 440
) -> Chart:
    """Chart a line for each label; ``saved`` lines are thin and dotted. Raise ValueError without a line."""
    percents = drawn[0][1].percents
    data = [_build_trace(index, label, curve) for index, (label, curve) in enumerate(drawn)]
    data += [
        _build_trace(index, gettext("%(label)s, saved") % {"label": label}, curve, saved=True)
        for index, (label, curve) in enumerate(saved)
    ]
    chart_figure = make_figure(data, _make_layout(height, 10))
    lines = [*drawn, *((gettext("%(label)s, saved") % {"label": label}, curve) for label, curve in saved)]
    rows: list[list[object]] = [
        [f"{percent} %", *(_format_score(curve, index) for _, curve in lines)]
        for index, percent in enumerate(percents)
        if percent % TABLE_STEP == 0
    ]
    return Chart(chart_figure, summarize_curves(drawn), [gettext("Use"), *(label for label, _ in lines)], rows)


@dataclass(frozen=True)
class SmallChart:
    """The curve of one policy."""

    curve: ScoreCurve
    figure: Json
    # On the curve, and on where the nodes are on it.
    sentence: str


def build_small_charts(
    drawn: Sequence[ScoreCurve], use: NodeUse | None, *, other: Sequence[tuple[str, ScoreCurve]] = ()
) -> list[SmallChart]:
    """Chart each policy by itself with the nodes on it, all with the same axes; ``other`` curves are dotted."""
    charts = []
    for curve in drawn:
        marks = marks_on(curve, use)
        data = [_build_trace(0, gettext("score"), curve)]
        data += [_build_trace(0, label, item, saved=True) for label, item in other if item.side.key == curve.side.key]
        data += [_build_marks(marks)] if marks else []
        layout = _make_layout(SMALL_HEIGHT, 25)
        layout.showlegend = False
        charts.append(SmallChart(curve, make_figure(data, layout), describe_curve(curve, marks)))
    return charts


def build_table(
    drawn: Sequence[tuple[str, ScoreCurve]], use: NodeUse | None, *, other: Sequence[tuple[str, ScoreCurve]] = ()
) -> Chart:
    """Return the numbers of all small charts as one table, with the nodes of each stretch."""
    lines, percents = [*drawn, *other], drawn[0][1].percents
    rows: list[list[object]] = []
    for index, percent in enumerate(percents):
        if percent % TABLE_STEP == 0:
            stretch = range(percent, percent + TABLE_STEP)
            nodes = [sum(len(use.by_percent.get(at, ())) for at in stretch)] if use else []
            rows.append([f"{percent} %", *nodes, *(_format_score(curve, index) for _, curve in lines)])
    head = [gettext("Use"), *([gettext("Your nodes in this range")] if use else [])]
    return Chart({}, "", [*head, *(label for label, _ in lines)], rows)


def _make_layout(height: int, step: int) -> go.Layout:
    return go.Layout(
        height=height,
        xaxis={"title": {"text": gettext("node's use, %% of allocatable") % ()}, "range": [0, 100], "dtick": step},
        yaxis={"title": {"text": gettext("score")}, "range": [-2, 102], "dtick": 2 * step, "automargin": True},
        legend=ABOVE,
        hovermode="x unified",
    )


def _build_marks(marks: Sequence[CurveMark]) -> go.Scatter:
    """Return a mark for the nodes of each percent: the more nodes, the larger; a cross where they are rejected."""
    return go.Scatter(
        name=gettext("your nodes"),
        x=[mark.percent for mark in marks],
        y=[mark.score or 0 for mark in marks],
        mode="markers",
        marker={
            "symbol": ["circle" if mark.score is not None else "x" for mark in marks],
            "size": [round(min(5 + 2 * len(mark.nodes) ** 0.5, 15), 1) for mark in marks],
            "opacity": 0.85,
        },
        customdata=[_name_nodes(mark) for mark in marks],
        hovertemplate="%{customdata}",
        # The second colour of all figures, beside that of the curve.
        meta={"side": 1},
    )


def _name_nodes(mark: CurveMark) -> str:
    names = gettext(", ").join(mark.nodes[:MOST_NAMES])
    more = len(mark.nodes) - MOST_NAMES
    words = gettext("%(names)s and %(more)s more") % {"names": names, "more": more} if more > 0 else names
    return words if mark.score is not None else gettext("%(names)s: rejected") % {"names": words}


def summarize_curves(drawn: Sequence[tuple[str, ScoreCurve]]) -> str:
    """Return one sentence that says where each line is highest."""
    words = []
    for label, item in drawn:
        top = item.top
        if item.error:
            template = gettext("%(label)s fails")
        elif top is None:
            template = gettext("%(label)s rejects every node")
        elif item.is_flat:
            template = gettext("%(label)s gives %(score)s at any use")
        else:
            template = gettext("%(label)s peaks at %(use)s %% with %(score)s")
        score, use = top or ("", "")
        words.append(template % {"label": label, "score": score, "use": use})
    return gettext("%(why)s.") % {"why": gettext("; ").join(words)}


def _build_trace(index: int, label: str, curve: ScoreCurve, saved: bool = False) -> go.Scatter:
    return go.Scatter(
        name=label,
        x=list(curve.percents),
        y=curve.scores,
        hovertemplate="%{y}",
        **line_style(index, len(curve.percents), secondary=saved, width=1 if saved else 2),
    )


def _format_score(curve: ScoreCurve, index: int) -> int | str:
    score = curve.scores[index]
    return gettext("rejected") if score is None else score


@cache
def build_fifty_chart(language: str) -> Chart:
    """Chart why the constant 50 of TargetLoadPacking's first releases is wrong, with a target of 10 %.

    ``language`` is the reader's, since the cached chart contains words.
    """
    conditions = Conditions(pod=1.0)
    published, older = (
        compute_curve(replace(side, args={**side.args, "targetUtilization": 10}), conditions)
        for side in all_sides()
        if side.plugin == "TargetLoadPacking"
    )
    chart = build_curve_chart(
        [(gettext("starts from the target"), published), (gettext("starts from 50"), older)], height=300
    )
    return replace(chart, summary=_describe_fifty(published, older))


def _describe_fifty(published: ScoreCurve, older: ScoreCurve) -> str:
    empty, just_above = older.scores[0], older.scores[10]
    better = [at for at in range(10, 101) if (older.scores[at] or 0) > (empty or 0)]
    return gettext(
        "Target 10 %%, pod 1 %%: in both forms an empty node scores %(empty)s. A node at 10 %%, which the pod takes "
        "above the target, scores %(published)s where the score starts from the target, but %(older)s where it starts "
        "from 50: there every node from 10 %% to %(last)s %% is preferred to the empty one, and nodes that were just "
        "added stay empty."
    ) % {"empty": empty, "published": published.scores[10], "older": just_above, "last": max(better)}
