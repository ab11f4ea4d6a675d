"""The objectives of sweeps: every measure of a run, and the number of pods that move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.measures import measure_of
from kschedweb.engine.studies.measure.registry import MOVED, find_spec, get_spec, list_specs
from kschedweb.engine.studies.measure.spec import MeasureSpec
from kschedweb.engine.studies.measure.values import RunMeasure, When
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.successors import last_node, latest_rows

# Conditions that a scenario alone does not rule out, so that a sweep may use their measures.
USUAL = frozenset({When.ALWAYS, When.REQUESTED, When.COMPARED, When.USED, When.BUDGETS, When.SCALED})
ALL_CONDITIONS = USUAL | {When.PRICED, When.AUTOSCALED, When.DESCHEDULED}


def list_objectives(
    resources: Iterable[str] = (CPU, MEMORY), whens: frozenset[When] = ALL_CONDITIONS
) -> list[MeasureSpec]:
    """Return the objectives of runs with these resources that fulfil the conditions ``whens``, in order."""
    return list_specs(resources, whens)


def find_objective(name: str) -> MeasureSpec | None:
    """Return the objective ``name``, of any resource; ``None`` if no run has a measure of that name."""
    spec = find_spec(name)
    return spec if spec is not None and spec.when in ALL_CONDITIONS else None


def last_nodes(outcome: RunOutcome) -> dict[str, str]:
    """Return the last node of each pod, or of its last replacement; "" for none."""
    return {pod: last_node(outcome, row) for pod, row in latest_rows(outcome).items()}


def measure_moved(before: Mapping[str, str], after: Mapping[str, str]) -> RunMeasure:
    """Return the number of pods that have different nodes in both runs, as a measure."""
    count = sum(1 for pod, node in after.items() if node and before.get(pod) and before[pod] != node)
    return measure_of(get_spec(MOVED), float(count))
