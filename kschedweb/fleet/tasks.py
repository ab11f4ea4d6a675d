"""Background tasks over many clusters."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.engine.json_types import Json
from kschedweb.fleet import services, summaries
from kschedweb.fleet.models import FleetTrial
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.web.errors import NotFound

# For one call; the next call continues.
SECONDS = 50.0


@app.task(name="kschedweb.fleet.tasks.catch_up", ignore_result=True)  # type: ignore[untyped-decorator]
def catch_up(asked: bool = False) -> int:
    """Compute the missing summaries of newest snapshots, and return how many."""
    close_old_connections()
    return summaries.refresh_stale(SECONDS, force=asked)


@job_task(name="fleet.trial", restartable=True)
def answer_trial(progress: Progress, *, trial: str) -> Json:
    """Try a policy on many clusters."""
    fleet_trial = (
        FleetTrial.objects.select_related("base__policy", "changed__policy", "created_by").filter(pk=trial).first()
    )
    if fleet_trial is None:
        raise NotFound("The trial was deleted before there was an answer.")
    return services.trial_answer(trial=fleet_trial, step=progress.step)
