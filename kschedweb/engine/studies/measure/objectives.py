"""The objectives of sweeps: every measure of a run, and the number of pods that move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.conditions import COMPARED
from kschedweb.engine.studies.measure.measures import measure_of
from kschedweb.engine.studies.measure.registry import MOVED, find_spec, get_spec, specs_of
from kschedweb.engine.studies.measure.spec import BY_RESOURCE, MeasureSpec
from kschedweb.engine.studies.measure.values import RunMeasure
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.successors import last_node, latest_rows

USUAL_MEMBERS: Mapping[str, Sequence[str]] = {BY_RESOURCE.name: (CPU, MEMORY)}


def list_objectives(
    members: Mapping[str, Sequence[str]] = USUAL_MEMBERS, document: Mapping[str, object] | None = None
) -> list[MeasureSpec]:
    """Return the objectives of runs with these members of splits, in order; ``document``: of runs of this scenario."""
    return [spec for spec in specs_of(members) if _is_objective(spec, document)]


def _is_objective(spec: MeasureSpec, document: Mapping[str, object] | None = None) -> bool:
    """Return whether a sweep may use the measure: it is one of a run, and the document has the part that it needs."""
    of_run = spec.when.holds is not None or spec.when is COMPARED
    return of_run and (document is None or not spec.when.part or document.get(spec.when.part) is not None)


def find_objective(name: str) -> MeasureSpec | None:
    """Return the objective ``name``, of any member; ``None`` if no run has a measure of that name."""
    spec = find_spec(name)
    return spec if spec is not None and _is_objective(spec) else None


def last_nodes(outcome: RunOutcome) -> dict[str, str]:
    """Return the last node of each pod, or of its last replacement; "" for none."""
    return {pod: last_node(outcome, row) for pod, row in latest_rows(outcome).items()}


def measure_moved(before: Mapping[str, str], after: Mapping[str, str]) -> RunMeasure:
    """Return the number of pods that have different nodes in both runs, as a measure."""
    count = sum(1 for pod, node in after.items() if node and before.get(pod) and before[pod] != node)
    return measure_of(get_spec(MOVED), float(count))
