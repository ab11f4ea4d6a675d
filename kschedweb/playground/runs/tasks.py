"""Background tasks for runs and their differences."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.runs import services
from kschedweb.playground.runs.models import Difference, Run
from kschedweb.web.errors import NotFound


@job_task(name="runs.run", restartable=True)
def run(progress: Progress, *, run: str) -> Json:
    """Play the run with this id, unless it is done already."""
    row = Run.objects.select_related("revision__scenario", "created_by").defer("outcome").filter(pk=run).first()
    if row is None:
        raise NotFound("The run was deleted before it could begin.")
    return services.run_do(run=row, step=progress.step)


@job_task(name="runs.difference", restartable=True)
def difference(progress: Progress, *, difference: int) -> Json:
    """Find the difference of a run from the reference."""
    row = Difference.objects.select_related("run__revision", "against__revision").filter(pk=difference).first()
    if row is None:
        raise NotFound("The comparison was deleted before its runs could be compared.")
    return services.difference_do(difference=row, step=progress.step)
