"""The measures of a run."""

from __future__ import annotations

from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.measured import Measure, Measures
from kschedweb.engine.studies.measure.registry import specs_of
from kschedweb.engine.studies.measure.spec import MeasureSpec
from kschedweb.engine.studies.play.outcome import Outcome


def measure(outcome: Outcome) -> Measures:
    """Return every measure that the run has something of, in the order of the registry."""
    run = RunFigures(outcome)
    found = (spec for spec in specs_of(outcome.resources) if run.has(spec.when, spec.resource))
    return Measures(tuple(measure_of(spec, spec.value(run), outcome.kinds.currency) for spec in found))


def measure_of(spec: MeasureSpec, value: float | None, currency: str = "") -> Measure:
    """Return the measure with a value, which has 12 digits.

    Float sums in another order differ in further digits, and that must not make a policy worse.
    """
    exact = None if value is None else float(f"{value:.12g}")
    return Measure(spec.name, spec.label, exact, spec.unit_in(currency), spec.direction, spec.sentence)
