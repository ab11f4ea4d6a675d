"""The history of a workload in sentences."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop

from kschedweb.clusters.flight.rebuilding import format_moment_param
from kschedweb.decisions.words import join_with_and
from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.workload_history import StepKind
from kschedweb.engine.queueing.preemption.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAIM_WHILE_BORROWING,
    IN_COHORT_RECLAMATION,
)
from kschedweb.web.counting import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.engine.queueing.explaining.workload_history import WorkloadStep

_SENTENCES = {
    StepKind.CREATED: gettext_noop("Created with %(pods)s and priority %(priority)s"),
    StepKind.WAITS: gettext_noop("Waits for quota"),
    StepKind.ADMITTED: gettext_noop("Admitted: its pods may run"),
    StepKind.RUNNING: gettext_noop("All its pods are ready"),
    StepKind.EVICTED: gettext_noop("Has to stop"),
    StepKind.RELEASED: gettext_noop("Its pods are gone, and its quota is free again"),
    StepKind.REQUEUED: gettext_noop("Back in its queue"),
    StepKind.PRIORITY: gettext_noop("Its priority is %(priority)s now"),
    StepKind.DEACTIVATED: gettext_noop("Deactivated"),
    StepKind.FINISHED: gettext_noop("Finished"),
    StepKind.DELETED: gettext_noop("Deleted"),
}
_PREEMPTIONS = {
    IN_CLUSTER_QUEUE: gettext_noop("Evicted for a workload of its own queue"),
    IN_COHORT_RECLAMATION: gettext_noop("Evicted because another queue takes its quota back"),
    IN_COHORT_FAIR_SHARING: gettext_noop("Evicted because its queue has more than its fair share"),
    IN_COHORT_RECLAIM_WHILE_BORROWING: gettext_noop("Evicted for a more important workload of a queue that borrows"),
}


def describe_steps(steps: Iterable[WorkloadStep]) -> list[Json]:
    """Return the steps as plain data with their sentences."""
    return [
        {
            "at": datetime.fromtimestamp(step.at, UTC),
            "step": step.kind.value,
            "sentence": _render_step(step),
            "reason": step.reason,
            "message": step.message,
            "flavors": list(step.flavors),
            "recorded": step.is_recorded,
            # In the format of query parameters; "" where the cluster as of then is not known.
            "moment": format_moment_param(datetime.fromtimestamp(step.at, UTC)) if step.is_recorded else "",
        }
        for step in steps
    ]


def _render_step(step: WorkloadStep) -> str:
    if step.kind is StepKind.QUOTA:
        values = {"pods": format_count(step.pods, "pods"), "flavors": join_with_and(list(step.flavors))}
        return gettext("Got quota for %(pods)s in %(flavors)s") % values if step.flavors else gettext("Got quota")
    if step.kind is StepKind.PREEMPTED:
        return gettext(_PREEMPTIONS.get(step.reason, gettext_noop("Evicted for another workload")))
    values = {"pods": format_count(step.pods, "pods"), "priority": f"{step.priority:,}"}
    return gettext(_SENTENCES[step.kind]) % values
