"""Background tasks over many clusters."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.fleet import services, summaries
from kschedweb.jobs.answering import answer_task

# For one call; the next call continues.
SECONDS = 50.0


@app.task(name="kschedweb.fleet.tasks.catch_up", ignore_result=True)  # type: ignore[untyped-decorator]
def catch_up(asked: bool = False) -> int:
    """Compute the missing summaries of newest snapshots, and return how many."""
    close_old_connections()
    return summaries.refresh_stale(SECONDS, force=asked)


answer_trial = answer_task(services.KIND)
