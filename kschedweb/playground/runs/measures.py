"""The measures of a run in readable form: value with unit, better direction, and help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.engine.studies.gate.verdict import format_amount as counted
from kschedweb.engine.studies.gate.verdict import unit_of_change
from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.engine.studies.measure.registry import group_of, lead_of
from kschedweb.engine.studies.measure.spec import SpecGroup
from kschedweb.engine.studies.play.outcome import MoveKind
from kschedweb.engine.studies.play.successors import handled_by_scheduler, latest_rows
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.web import messages
from kschedweb.web.durations import format_duration

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.playground.runs.models import Run

# The engine's unit for durations, which are shown in the scale that suits them.
SECONDS = "s"
HEAD = ("measure", "group", "value", "unit", "direction")
COMPARED_HEAD = ("measure", "group", "unit", "direction", "policy", "seed", "value", "engine")


@dataclass(frozen=True)
class RunMeasure:
    """A measure of a run."""

    name: str
    label: str
    unit: str
    # Which is better: "lower", "higher", or "" for neither.
    direction: str
    sentence: str
    # In ``unit``; None if nothing was measured.
    value: float | None

    @property
    def text(self) -> str:
        return format_amount(self, self.value)

    @property
    def key(self) -> str:
        """The name as part of an element's id, which allows fewer characters than ``skew_nvidia.com/gpu`` has."""
        return re.sub(r"[^a-zA-Z0-9_-]", "-", self.name)

    @property
    def better(self) -> str:
        return self.direction

    @property
    def group(self) -> SpecGroup:
        return group_of(self.name)

    @property
    def described(self) -> tuple[str, str, str, str]:
        """Name, group, unit and better direction."""
        return self.name, self.group.name, self.unit, self.direction

    def to_dict(self) -> dict[str, object]:
        """Return the measure as plain data with the name of its group."""
        return {**vars(self), "group": self.group.name}


@dataclass(frozen=True)
class MeasureGroup:
    """The measures of a run that belong to one group."""

    group: SpecGroup
    leading: list[RunMeasure]
    # Measures that say nearly the same as one of ``leading``.
    near: list[RunMeasure]


def list_measures(run: Run) -> list[RunMeasure]:
    """Return the measures of a finished run, in order."""
    return [translate_measure(RunMeasure(**entry)) for entry in run.summary]


def translate_measure(measure: RunMeasure) -> RunMeasure:
    """Return ``measure``, which the engine describes in English, in the language of the reader."""
    label, sentence = messages.describe_measure(measure.name, measure.label, measure.sentence)
    same = (label, sentence) == (measure.label, measure.sentence)
    return measure if same else replace(measure, label=label, sentence=sentence)


def by_group(measures: Sequence[RunMeasure]) -> list[MeasureGroup]:
    """Return the measures by group, without empty groups."""
    names = {measure.name for measure in measures}
    groups: dict[str, MeasureGroup] = {group.name: MeasureGroup(group, [], []) for group in GROUPS}
    for measure in measures:
        # A measure leads if its leading one was not measured in this run.
        leads = lead_of(measure.name) == measure.name or lead_of(measure.name) not in names
        group = groups[measure.group.name]
        (group.leading if leads else group.near).append(measure)
    return [group for group in groups.values() if group.leading]


def format_amount(measure: RunMeasure, value: float | None) -> str:
    """Return a value with its unit; "–" for none."""
    if value is None or np.isnan(value):
        return "–"
    if measure.unit == SECONDS:
        return format_duration(value)
    return messages.translate_amount(counted(value, measure.unit))


def format_distance(measure: RunMeasure, size: float) -> str:
    """Return the distance of two values with its unit; percentages are points apart."""
    return format_amount(replace(measure, unit=unit_of_change(measure.unit)), size)


def format_difference(measure: RunMeasure, change: float) -> str:
    """Return a change with its sign and unit."""
    sign = "+" if change > 0 else "−" if change < 0 else ""
    return f"{sign}{format_distance(measure, abs(change))}"


def axis_unit(measure: RunMeasure, values: Sequence[float]) -> tuple[str, float]:
    """Return the unit of an axis for ``values``, and the factor that converts to it."""
    if measure.unit != SECONDS:
        return messages.translate_unit(measure.unit), 1.0
    scale = TimeScale.for_end(max(values, default=0.0))
    return scale.unit, 1.0 / scale.seconds


def measure_rows(run: Run) -> Iterator[tuple[object, ...]]:
    """Return rows with the columns of HEAD."""
    return (
        (measure.name, measure.group.name, measure.value, measure.unit, measure.direction)
        for measure in list_measures(run)
    )


def run_sentence(run: Run, outcome: RunOutcome) -> str:
    """Return the outcome of the run in one sentence. A pod and its replacements count once."""
    last = np.fromiter(latest_rows(outcome).values(), dtype=np.intp)
    waiting = len(outcome.pending)
    placed = int((~np.isnan(outcome.bound) & (outcome.attempts > 0))[last].sum())
    parts: dict[str, object] = {"policy": run.label, "end": format_duration(outcome.end)}
    if not placed and not waiting:
        return gettext("%(scenario)s: no pod had to be scheduled") % {"scenario": run.revision.scenario.title}
    if waiting:
        parts |= {"waiting": f"{waiting:,}", "pods": f"{int(handled_by_scheduler(outcome)[last].sum()):,}"}
        return gettext("%(waiting)s of %(pods)s pods find no node under %(policy)s within %(end)s") % parts
    kinds = outcome.forced_moves.kind
    never = int(((kinds == MoveKind.FAILED) | (kinds == MoveKind.COLLECTED)).sum())
    parts |= {"placed": f"{placed:,}", "half": format_duration(RunFigures(outcome).wait_median())}
    sentences = [gettext("All %(placed)s pods find a node under %(policy)s, half of them within %(half)s") % parts]
    if len(kinds) > never:
        sentences.append(gettext("%(pods)s had to leave it again") % {"pods": f"{len(kinds) - never:,}"})
    if never:
        sentences.append(gettext("%(pods)s that name their node do not run there") % {"pods": f"{never:,}"})
    return gettext("; ").join(sentences)
