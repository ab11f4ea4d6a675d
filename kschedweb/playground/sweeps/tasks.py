"""Sweeps in the background: the job gives the work out, and turns of any worker do it."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from kschedweb.celery import app
from kschedweb.jobs import processes
from kschedweb.jobs.tasks import HANDED_OUT, Progress, job_task
from kschedweb.playground.sweeps import work
from kschedweb.playground.sweeps.models import Sweep
from kschedweb.web.errors import NotFound

RESTARTS = 1000  # each costs only the trials that were being done


@job_task(name="sweeps.run", restartable=True, attempts=RESTARTS)
def run(progress: Progress, *, sweep: str) -> dict[str, Any]:
    """Have all workers do the trials of the sweep with this id; whoever does the last one ends the job."""
    found = Sweep.objects.filter(pk=sweep).first()
    if found is None:
        raise NotFound("The sweep was deleted before it could begin.")
    work.turn_send(found)
    return HANDED_OUT


@app.task(name=work.TASK, ignore_result=True, bind=True)  # type: ignore[untyped-decorator]
def turn(self: Any, sweep: str, number: int) -> int:
    """Take part in the sweep for a while; how many trials were done."""
    worker = str(self.request.hostname or "")
    if self.request.called_directly or not settings.JOB_PROCESSES:
        return work.turn(sweep, number, worker)
    try:
        return int(processes.call(work.turn, sweep, number, worker))
    except processes.Lost as lost:
        work.turn_lost(sweep, worker, lost)
        return 0
