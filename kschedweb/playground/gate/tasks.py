"""Background tasks for verdicts."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.gate import services
from kschedweb.playground.gate.models import Gate
from kschedweb.web.errors import NotFound


@job_task(name="gate.judge", restartable=True)
def judge(progress: Progress, *, gate: str) -> Json:
    """Find the verdict of the gate with this id, unless it is known already."""
    related = ("snapshot__cluster", "revision__scenario")
    row = Gate.objects.select_related(*related).defer("snapshot__content").filter(pk=gate).first()
    if row is None:
        raise NotFound("The gate was deleted before there was a verdict.")
    return services.gate_do(gate=row, step=progress.step)
