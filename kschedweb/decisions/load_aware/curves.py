"""Score curves: a row of nodes that differ only in their usage, scored by the engine.

So a policy's score is drawn over utilisation without a second implementation of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.load_aware.sides import DEFAULT_SCHEDULER, ScoringSide
from kschedweb.decisions.presenters import get_presenter
from kschedweb.engine import Pod, Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.web.errors import FieldProblem, Unprocessable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.framework.explanation import Explanation
    from kschedweb.engine.state.columns import Floats

CORES, MEMORY_BYTES = 32, 128 << 30
# Seconds of the epoch. Any time will do, since only differences count.
NOW = 1_700_000_000.0
# Age of the figures in seconds.
FRESH = 30.0
KEYS = ("5m", "10m", "15m", "1h", "1d", "1h_max", "1d_max")
RESOURCES = ("cpu", "memory")
# Factor of limits to requests.
LIMITS = 1.5
# Nodes beside the row for each node of it: they are so many that they set the cluster's average.
AROUND = 9
# Ages of figures in seconds, each of one node at the average.
AGES = (300, 900, 3600, 4 * 3600, 24 * 3600)
EVERYTHING = "everything"
MOVING = {
    EVERYTHING: _("CPU and memory, all windows"),
    "cpu": _("CPU alone, all windows"),
    "memory": _("memory alone, all windows"),
    "5m": _("the mean over 5 minutes alone"),
    "15m": _("the mean over 15 minutes alone"),
    "1h": _("the mean over one hour alone"),
    "1d": _("the mean over one day alone"),
    "1h_max": _("the highest 5-minute mean of one hour alone"),
    "1d_max": _("the highest 5-minute mean of one day alone"),
}


@dataclass(frozen=True)
class Conditions:
    """The properties of the row and the pod, all in percent of a node."""

    # The pod's request, limit and usage.
    pod: float = 3.0
    # The mean usage of the cluster.
    average: float = 50.0
    # The usage of the first node of the row.
    lowest: int = 0
    # The standard deviation of each node's usage.
    deviation: float = 10.0
    # The requests of pods on each node of the row; their limits are half as high again.
    requested: float = 60.0
    # Which figures differ from node to node, one of ``MOVING``; the others are at the average.
    moving: str = EVERYTHING

    @property
    def percents(self) -> range:
        return range(self.lowest, 101)

    @property
    def neighbor_use(self) -> float:
        """Return the usage of the nodes beside the row that makes the mean equal to ``average``."""
        return ((AROUND + 1) * self.average - (self.lowest + 100) / 2) / AROUND

    @property
    def average_bounds(self) -> tuple[float, float]:
        """Return the lowest and the highest average that a row from ``lowest`` can have."""
        middle = (self.lowest + 100) / 2
        return (AROUND * self.lowest + middle) / (AROUND + 1), (AROUND * 100 + middle) / (AROUND + 1)

    def validate(self) -> Conditions:
        """Return these conditions. Raise Unprocessable, which names the values out of range."""
        problems: list[FieldProblem] = [
            {"path": name, "message": f"Give a number from {low:g} to {high:g} (percent)."}
            for name, low, high in (
                ("pod", 0.0, 100.0),
                ("average", 0.0, 100.0),
                ("lowest", 0.0, 90.0),
                ("deviation", 0.0, 100.0),
                ("requested", 0.0, 100.0),
            )
            if not low <= getattr(self, name) <= high
        ]
        if self.moving not in MOVING:
            problems.append({"path": "moving", "message": f"Give one of {', '.join(MOVING)}."})
        if not problems and not self.lowest <= self.neighbor_use <= 100:
            low, high = self.average_bounds
            message = f"With a node at every percent from {self.lowest}, the average must be from {low:g} to {high:g}."
            problems.append({"path": "average", "message": message})
        if problems:
            raise Unprocessable("These conditions cannot be met.", errors=problems)
        return self


@dataclass(frozen=True)
class NodeScore:
    """The normalised score of a node."""

    # None if it is rejected; ``reason`` says why.
    score: int | None
    reason: str = ""


@dataclass(frozen=True)
class ScoreCurve:
    """One side's scores of the nodes of the row."""

    side: ScoringSide
    # The usage of each node.
    percents: Sequence[int]
    node_scores: list[NodeScore]
    # The score of a node without figures.
    missing: NodeScore
    # The scores of nodes at the average whose figures are as old as ``AGES``.
    aged: list[NodeScore]
    # Why there are no scores.
    error: str = ""

    @property
    def scores(self) -> list[int | None]:
        return [node_score.score for node_score in self.node_scores]

    @property
    def is_flat(self) -> bool:
        return len(set(self.scores)) <= 1

    @property
    def top(self) -> tuple[int, int] | None:
        """Return the highest score, and the lowest utilisation that has it."""
        scored = [
            (score, -percent) for percent, score in zip(self.percents, self.scores, strict=True) if score is not None
        ]
        if not scored:
            return None
        score, percent = max(scored)
        return score, -percent


def compute_curve(side: ScoringSide, conditions: Conditions) -> ScoreCurve:
    """Return the scores of ``side`` on the row. Raise Unprocessable for invalid conditions or arguments."""
    snapshot = _build_snapshot(conditions.validate())
    named_side = replace(side, args=get_presenter(side.plugin).adapt_to_nodes(side.args, snapshot.names))
    try:
        explanation = _explain_pod(snapshot, named_side.configuration_alone(), conditions)
    except CycleError as error:
        nothing = NodeScore(None, str(error))
        size = len(conditions.percents)
        return ScoreCurve(side, conditions.percents, [nothing] * size, nothing, [nothing] * len(AGES), str(error))
    node_scores = _build_node_scores(explanation)
    row, aged = node_scores[: len(conditions.percents)], node_scores[-1 - len(AGES) : -1]
    return ScoreCurve(side, conditions.percents, row, node_scores[-1], aged)


def compute_variations(side: ScoringSide, conditions: Conditions) -> list[tuple[str, ScoreCurve]]:
    """Return the curve of all figures, then that of each kind of figure that alone makes a difference."""
    whole = compute_curve(side, replace(conditions, moving=EVERYTHING))
    alone = [
        (moving, compute_curve(side, replace(conditions, moving=moving))) for moving in MOVING if moving != EVERYTHING
    ]
    return [
        (EVERYTHING, whole),
        *((name, curve) for name, curve in alone if not curve.is_flat and curve.scores != whole.scores),
    ]


def _explain_pod(snapshot: EngineSnapshot, configuration: Configuration, conditions: Conditions) -> Explanation:
    return Scheduler(snapshot, configuration).explain(_make_pod("asked", conditions.pod, conditions.pod))


def _build_node_scores(explanation: Explanation) -> list[NodeScore]:
    """Return the score of each node, in node order."""
    scores: dict[int, int] = {}
    if explanation.scores:
        scores = dict(zip(explanation.feasible.tolist(), explanation.scores[0].normalized.tolist(), strict=True))
    node_scores = []
    for node in range(len(explanation.nodes)):
        status = explanation.verdict_at(node)
        node_scores.append(NodeScore(scores.get(node, 0)) if status is None else NodeScore(None, status.message))
    return node_scores


def _build_snapshot(conditions: Conditions) -> EngineSnapshot:
    snapshot = _build_row(conditions.lowest, conditions.requested).copy()
    snapshot.now = NOW
    snapshot.watermarks = _build_watermarks(snapshot.names, conditions)
    return snapshot


# The thousand nodes of a row depend on two numbers only, and a page scores them for many curves.
@lru_cache(maxsize=16)
def _build_row(lowest: int, requested: float) -> EngineSnapshot:
    """Return the nodes of the row from ``lowest`` to 100 %, those beside it, aged ones, and one without figures."""
    size = len(range(lowest, 101))
    names = [f"at-{percent:03d}" for percent in range(lowest, 101)]
    names += [f"around-{number:03d}" for number in range(AROUND * size)]
    names += [f"aged-{number}" for number in range(len(AGES))] + ["without-figures"]
    snapshot = EngineSnapshot([_make_node(name) for name in names])
    if requested:
        for position in range(len(names)):
            bound = _make_pod(f"bound-{position}", requested, requested * LIMITS)
            if position < size or position >= size * (AROUND + 1):
                snapshot.add_pod(bound.on(names[position]), position)
    return snapshot


def _build_watermarks(names: list[str], conditions: Conditions) -> Watermarks:
    size = len(conditions.percents)
    around, aged_count = size * AROUND, len(AGES)
    moved = np.full(len(names), conditions.average)
    moved[:size] = conditions.percents
    moved[size : size + around] = conditions.neighbor_use
    still = np.full(len(names), conditions.average)
    updated = np.full(len(names), NOW - FRESH)
    updated[size + around : size + around + aged_count] = NOW - np.array(AGES, dtype=np.float64)
    figures: dict[tuple[str, str], Floats] = {}
    for resource in RESOURCES:
        for key in KEYS:
            moves = conditions.moving in (EVERYTHING, resource, key)
            figures[resource, key] = moved.copy() if moves else still.copy()
        figures[resource, "15m_std"] = np.full(len(names), conditions.deviation)
    updated[-1] = math.nan
    for column in figures.values():
        column[-1] = math.nan
    return Watermarks(names, updated, figures, {}, "a row of nodes made for this figure")


def _make_node(name: str) -> Node:
    amounts = {"cpu": str(CORES), "memory": str(MEMORY_BYTES), "pods": "110"}
    return Node.from_json(
        {"kind": "Node", "metadata": {"name": name}, "status": {"capacity": amounts, "allocatable": amounts}}
    )


def _make_pod(name: str, request: float, limit: float) -> Pod:
    """Return a pod with request and limit in percent of a node. If bound, it was scheduled long ago."""
    resources = {"requests": _resource_amounts(request), "limits": _resource_amounts(limit)}
    return Pod.from_json(
        {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "row", "uid": name},
            "spec": {
                "schedulerName": DEFAULT_SCHEDULER,
                "containers": [{"name": "main", "image": "row", "resources": resources}],
            },
            "status": {"startTime": "2020-01-01T00:00:00Z"},
        }
    )


def _resource_amounts(percent: float) -> dict[str, str]:
    return {"cpu": f"{round(percent * CORES * 10)}m", "memory": str(round(percent * MEMORY_BYTES / 100))}
