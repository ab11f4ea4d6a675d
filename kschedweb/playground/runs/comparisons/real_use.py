"""Policies of a comparison that weigh what nodes really use, on a scenario that says nothing of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.studies.document.parts import NONE as NO_USE
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.models import Run
from kschedweb.playground.scenarios.selectors import has_real_use
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.playground.runs.models import Comparison


def list_blind(comparison: Comparison) -> list[int]:
    """Return the positions of the policies that weigh real use, if the scenario has none."""
    revision = comparison.revision
    if (revision.document.get("use") or {}).get("from", NO_USE) != NO_USE:
        return []
    first_runs = {run.position: run.pk for run in reversed(comparison.runs.all())}
    runs = Run.objects.filter(pk__in=first_runs.values()).only("position", "label", "configuration", "process")
    weighing = sorted(run.position for run in runs if _weighs_use(run))
    return [] if weighing and has_real_use(revision) else weighing


def _weighs_use(run: Run) -> bool:
    try:
        return selectors.load_configuration(run).weighs_use
    except Unprocessable:
        # This version does not accept the policy any more, so that it knows nothing of it.
        return False
