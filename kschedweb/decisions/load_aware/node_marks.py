"""The nodes of a cluster as marks on the score curves, at their use now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.load_aware.curves import KEYS, Conditions
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kschedweb.decisions.load_aware.contest import Contest
    from kschedweb.decisions.load_aware.curves import ScoreCurve
    from kschedweb.engine import Snapshot as EngineSnapshot


@dataclass(frozen=True)
class NodeUse:
    """The use of a cluster's nodes, as the X axis of the curves counts it."""

    # Nodes with a known use by that use in whole percent, the lowest first.
    by_percent: dict[int, list[str]]
    # The mean over these nodes.
    average: float
    # "cpu" or "memory".
    resource: str

    @property
    def resource_label(self) -> str:
        return gettext("memory") if self.resource == "memory" else "CPU"

    @property
    def count(self) -> int:
        return sum(map(len, self.by_percent.values()))

    @property
    def lowest(self) -> int:
        return min(self.by_percent)

    @property
    def highest(self) -> int:
        return max(self.by_percent)


@dataclass(frozen=True)
class CurveMark:
    """Nodes of the same use, at their place on a curve."""

    percent: int
    nodes: list[str]
    # None if the policy rejects them.
    score: int | None


def use_of_snapshot(engine: EngineSnapshot, moving: str) -> NodeUse | None:
    """Return the use that ``moving``, one of ``curves.MOVING``, puts on the X axis; None if no node's is known."""
    watermarks, resource = engine.watermarks, _resource_of(moving)
    if watermarks is None:
        return None
    column = watermarks.column(resource, moving) if moving in KEYS else watermarks.use_now(resource)
    return None if column is None else _group_nodes(engine.names, column, resource)


def use_of_contest(contest: Contest, moving: str) -> NodeUse | None:
    """Return the same from an answer that a job kept, which has means over 15 minutes alone."""
    resource = _resource_of(moving)
    if moving in KEYS and moving != "15m":
        return None
    return _group_nodes(contest.names, contest.use[0 if resource == "cpu" else 1], resource)


def _resource_of(moving: str) -> str:
    return "memory" if moving == "memory" else "cpu"


def _group_nodes(names: Sequence[str], percents: NDArray[np.float64], resource: str) -> NodeUse | None:
    by_percent: dict[int, list[str]] = {}
    for name, percent in sorted(zip(names, percents.tolist(), strict=True), key=lambda pair: (pair[1], pair[0])):
        if not math.isnan(percent):
            by_percent.setdefault(round(min(max(percent, 0.0), 100.0)), []).append(name)
    if not by_percent:
        return None
    return NodeUse(by_percent, float(np.nanmean(percents)), resource)


def usual_average(use: NodeUse | None, lowest: int) -> float:
    """Return the mean use of the row of nodes: that of the cluster, as far as a row from ``lowest`` can have it."""
    if use is None:
        return Conditions.average
    low, high = Conditions(lowest=lowest).average_bounds
    return min(max(round(2.0 * use.average) / 2.0, low), high)


def marks_on(curve: ScoreCurve, use: NodeUse | None) -> list[CurveMark]:
    """Return the nodes on ``curve``; those below its begin are not on it."""
    if use is None or curve.error:
        return []
    scores = dict(zip(curve.percents, curve.scores, strict=True))
    return [
        CurveMark(percent, nodes, scores[percent]) for percent, nodes in use.by_percent.items() if percent in scores
    ]


def describe_curve(curve: ScoreCurve, marks: Sequence[CurveMark]) -> str:
    """Return one sentence on the curve, and on where the nodes are on it."""
    top = curve.top
    if curve.error:
        return gettext("The policy fails.")
    if top is None:
        return gettext("It rejects every node.")
    scores = [mark.score for mark in marks if mark.score is not None]
    values = {
        "peak": top[0],
        "use": top[1],
        "nodes": format_count(sum(len(mark.nodes) for mark in marks), "nodes"),
        "rejected": sum(len(mark.nodes) for mark in marks if mark.score is None),
        "low": min(scores, default=0),
        "high": max(scores, default=0),
    }
    # A sign of percent is never alone on a line.
    return (_choose_template(curve, marks, scores) % values).replace(" %", "\N{NO-BREAK SPACE}%")


def _choose_template(curve: ScoreCurve, marks: Sequence[CurveMark], scores: Sequence[int]) -> str:
    if not marks:
        return gettext("Gives %(peak)s at any use.") if curve.is_flat else gettext("Peaks at %(use)s %% with %(peak)s.")
    if not scores:
        return gettext("Rejects all your %(nodes)s; its peak is at %(use)s %%.")
    if curve.is_flat:
        return gettext("Gives all your %(nodes)s %(peak)s: it does not tell them apart.")
    if len(scores) < len(marks):
        return gettext(
            "Rejects %(rejected)s of your %(nodes)s; the others score %(low)s to %(high)s. Its peak is at %(use)s %%."
        )
    return gettext("Your %(nodes)s score %(low)s to %(high)s; its peak is at %(use)s %%.")
