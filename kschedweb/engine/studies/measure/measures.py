"""The measures of a run."""

from __future__ import annotations

from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.registry import list_members, specs_of
from kschedweb.engine.studies.measure.spec import MeasureSpec
from kschedweb.engine.studies.measure.values import Measures, RunMeasure
from kschedweb.engine.studies.play.outcome import RunOutcome


def compute_measures(outcome: RunOutcome) -> Measures:
    """Return every measure for which the run has data, in the order of the registry."""
    run = RunFigures(outcome)
    specs = (spec for spec in specs_of(list_members(outcome)) if spec.is_available(run))
    return Measures(tuple(measure_of(spec, spec.value(run), outcome.kinds.currency) for spec in specs))


def measure_of(spec: MeasureSpec, value: float | None, currency: str = "") -> RunMeasure:
    """Return the measure with a value, which has 12 digits.

    Float sums in another order differ in further digits, and that must not make a policy worse.
    """
    exact = None if value is None else float(f"{value:.12g}")
    return RunMeasure(spec.name, spec.label, exact, spec.unit_in(currency), spec.direction, spec.sentence)
