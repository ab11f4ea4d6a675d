"""Charts of load-aware policies as Plotly figures: score over utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.decisions.load_aware.row import Conditions, Curve, curve
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.web.figures import ABOVE, Chart, figure, line_style

TABLE_STEP = 5  # percent


def curves(drawn: Sequence[tuple[str, Curve]], *, saved: Sequence[tuple[str, Curve]] = (), height: int = 440) -> Chart:
    """A chart with a line for each label; ``saved`` lines are thin and dotted. Raises ValueError without a line."""
    percents = drawn[0][1].percents
    data = [_trace(index, label, curve) for index, (label, curve) in enumerate(drawn)]
    data += [
        _trace(index, gettext("%(label)s, saved") % {"label": label}, curve, saved=True)
        for index, (label, curve) in enumerate(saved)
    ]
    made = figure(
        data,
        go.Layout(
            height=height,
            xaxis={"title": {"text": gettext("node's use, %% of allocatable") % ()}, "range": [0, 100], "dtick": 10},
            yaxis={"title": {"text": gettext("score")}, "range": [-2, 102], "dtick": 20, "automargin": True},
            legend=ABOVE,
            hovermode="x unified",
        ),
    )
    every = [*drawn, *((gettext("%(label)s, saved") % {"label": label}, curve) for label, curve in saved)]
    rows: list[list[object]] = [
        [f"{percent} %", *(_cell(curve, index) for _, curve in every)]
        for index, percent in enumerate(percents)
        if percent % TABLE_STEP == 0
    ]
    return Chart(made, summary(drawn), [gettext("Use"), *(label for label, _ in every)], rows)


def summary(drawn: Sequence[tuple[str, Curve]]) -> str:
    """One sentence that says where each line is highest."""
    words = []
    for label, item in drawn:
        top = item.top
        if item.error:
            said = gettext("%(label)s fails")
        elif top is None:
            said = gettext("%(label)s rejects every node")
        elif item.flat:
            said = gettext("%(label)s gives %(score)s at any use")
        else:
            said = gettext("%(label)s peaks at %(use)s %% with %(score)s")
        score, use = top or ("", "")
        words.append(said % {"label": label, "score": score, "use": use})
    return gettext("%(why)s.") % {"why": gettext("; ").join(words)}


def _trace(index: int, label: str, curve: Curve, saved: bool = False) -> go.Scatter:
    return go.Scatter(
        name=label,
        x=list(curve.percents),
        y=curve.scores,
        hovertemplate="%{y}",
        **line_style(index, len(curve.percents), secondary=saved, width=1 if saved else 2),
    )


def _cell(curve: Curve, index: int) -> int | str:
    score = curve.scores[index]
    return gettext("rejected") if score is None else score


@cache
def fifty(language: str) -> Chart:
    """A chart of why the constant 50 of TargetLoadPacking's first releases is wrong, with a target of 10 %.

    ``language`` is the reader's, for which the chart is kept.
    """
    conditions = Conditions(pod=1.0)
    published, older = (
        curve(replace(side, args={**side.args, "targetUtilization": 10}), conditions)
        for side in all_sides()
        if side.plugin == "TargetLoadPacking"
    )
    chart = curves([(gettext("starts from the target"), published), (gettext("starts from 50"), older)], height=300)
    return replace(chart, summary=_fifty(published, older))


def _fifty(published: Curve, older: Curve) -> str:
    empty, just_above = older.scores[0], older.scores[10]
    better = [at for at in range(10, 101) if (older.scores[at] or 0) > (empty or 0)]
    return gettext(
        "Target 10 %%, pod 1 %%: in both forms an empty node scores %(empty)s. A node at 10 %%, which the pod takes "
        "above the target, scores %(published)s where the score starts from the target, but %(older)s where it starts "
        "from 50: there every node from 10 %% to %(last)s %% is preferred to the empty one, and nodes that were just "
        "added stay empty."
    ) % {"empty": empty, "published": published.scores[10], "older": just_above, "last": max(better)}
