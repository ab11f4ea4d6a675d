"""The measures of a run as a person reads them: value with unit, which direction is better, and what it says."""

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
COMPARED_HEAD = ("measure", "unit", "direction", "policy", "seed", "value")


@dataclass(frozen=True)
class Measure:
    """``value`` is in ``unit``, ``None`` where there is nothing to measure; ``direction`` is lower, higher or ""."""

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
        """Its name as part of an element's id: ``skew_nvidia.com/gpu`` has more than may stand there."""
        return re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def better(self) -> str:
        return self.direction


def kept(run: Run) -> list[Measure]:
    """The measures of a run that is done, in their order."""
    return [Measure(**entry) for entry in run.summary]


def amount(measure: Measure, value: float | None) -> str:
    """A value with its unit; "–" where there is none."""
    if value is None or np.isnan(value):
        return "–"
    if measure.unit == SECONDS:
        return span(value)
    return counted(value, measure.unit)


def difference(measure: Measure, change: float) -> str:
    """A change with its sign and unit; of a percentage in points, since percent of it would mean something else."""
    sign = "+" if change > 0 else "−" if change < 0 else ""
    in_points = replace(measure, unit=POINTS) if measure.unit == PERCENT else measure
    return f"{sign}{amount(in_points, abs(change))}"


def plotted(measure: Measure, values: Sequence[float]) -> tuple[str, float]:
    """The unit of an axis over ``values``, and what each is multiplied by for it."""
    if measure.unit != SECONDS:
        return measure.unit, 1.0
    scale = Scale.of(max(values, default=0.0))
    return scale.unit, 1.0 / scale.seconds


def rows(run: Run) -> Iterator[tuple[object, ...]]:
    """In the order of HEAD."""
    return ((one.name, one.value, one.unit, one.direction) for one in kept(run))


def sentence(run: Run, outcome: Outcome) -> str:
    """What came of the run, in one sentence."""
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
