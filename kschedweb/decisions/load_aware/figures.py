"""Charts of load-aware policies as Plotly figures: score over utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.decisions.load_aware.curves import Conditions, ScoreCurve, compute_curve
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.web.figures import ABOVE, Chart, line_style, make_figure

# Percent between the rows of the table.
TABLE_STEP = 5


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
    chart_figure = make_figure(
        data,
        go.Layout(
            height=height,
            xaxis={"title": {"text": gettext("node's use, %% of allocatable") % ()}, "range": [0, 100], "dtick": 10},
            yaxis={"title": {"text": gettext("score")}, "range": [-2, 102], "dtick": 20, "automargin": True},
            legend=ABOVE,
            hovermode="x unified",
        ),
    )
    lines = [*drawn, *((gettext("%(label)s, saved") % {"label": label}, curve) for label, curve in saved)]
    rows: list[list[object]] = [
        [f"{percent} %", *(_format_score(curve, index) for _, curve in lines)]
        for index, percent in enumerate(percents)
        if percent % TABLE_STEP == 0
    ]
    return Chart(chart_figure, summarize_curves(drawn), [gettext("Use"), *(label for label, _ in lines)], rows)


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
