"""The measures of a run in readable form: value with unit, better direction, and help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.studies.gate.verdict import amount as counted
from kschedweb.playground.runs.clock import Scale, span

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import Outcome
    from kschedweb.playground.runs.models import Run

SECONDS, PERCENT, POINTS = "s", "%", "points"
HEAD = ("measure", "value", "unit", "direction")
COMPARED_HEAD = ("measure", "unit", "direction", "policy", "seed", "value", "engine")


@dataclass(frozen=True)
class Measure:
    """A measure; ``value`` is in ``unit``, ``None`` if nothing was measured; ``direction`` is lower, higher or ""."""

    name: str
    label: str
    unit: str
    direction: str
    sentence: str
    value: float | None

    @property
    def text(self) -> str:
        return amount(self, self.value)

    @property
    def key(self) -> str:
        """The name as part of an element's id, which allows fewer characters than ``skew_nvidia.com/gpu`` has."""
        return re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def better(self) -> str:
        return self.direction


def kept(run: Run) -> list[Measure]:
    """The measures of a finished run, in order."""
    return [Measure(**entry) for entry in run.summary]


def amount(measure: Measure, value: float | None) -> str:
    """A value with its unit; "–" if there is none."""
    if value is None or np.isnan(value):
        return "–"
    if measure.unit == SECONDS:
        return span(value)
    return counted(value, measure.unit)


def difference(measure: Measure, change: float) -> str:
    """A change with its sign and unit; the change of a percentage is in points."""
    sign = "+" if change > 0 else "−" if change < 0 else ""
    in_points = replace(measure, unit=POINTS) if measure.unit == PERCENT else measure
    return f"{sign}{amount(in_points, abs(change))}"


def plotted(measure: Measure, values: Sequence[float]) -> tuple[str, float]:
    """The unit of an axis for ``values``, and the factor to it."""
    if measure.unit != SECONDS:
        return measure.unit, 1.0
    scale = Scale.of(max(values, default=0.0))
    return scale.unit, 1.0 / scale.seconds


def rows(run: Run) -> Iterator[tuple[object, ...]]:
    """Rows with the columns of HEAD."""
    return ((one.name, one.value, one.unit, one.direction) for one in kept(run))


def sentence(run: Run, outcome: Outcome) -> str:
    """The outcome of the run in one sentence."""
    waiting, tried = len(outcome.pending), int((outcome.attempts > 0).sum())
    placed = int((~np.isnan(outcome.bound) & (outcome.attempts > 0)).sum())
    name = run.revision.scenario.name
    if not tried and not waiting:
        return f"{name}: no pod had to be scheduled"
    if waiting:
        return f"{waiting:,} of {placed + waiting:,} pods find no node under {run.label} within {span(outcome.end)}"
    took = (outcome.bound - outcome.arrived)[(outcome.attempts > 0) & ~np.isnan(outcome.bound)]
    forced = len(outcome.forced)
    later = f"; {forced:,} have to leave it again" if forced else ""
    return (
        f"All {placed:,} pods find a node under {run.label}, half of them within {span(float(np.median(took)))}{later}"
    )
