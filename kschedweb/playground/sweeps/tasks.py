"""Background tasks of sweeps: a job distributes the trials, and turns of the workers run them."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from kschedweb.celery import app
from kschedweb.engine.json_types import Json
from kschedweb.jobs import processes
from kschedweb.jobs.tasks import HANDED_OUT, Progress, job_task
from kschedweb.playground.sweeps import worker
from kschedweb.playground.sweeps.models import Sweep
from kschedweb.web.errors import NotFound

# A restart costs only the trials that were running, so the job may restart often.
RESTARTS = 1000


@job_task(name="sweeps.run", restartable=True, attempts=RESTARTS)
def run(progress: Progress, *, sweep: str) -> Json:
    """Distribute the trials of the sweep with this id; the worker of the last trial ends the job."""
    row = Sweep.objects.filter(pk=sweep).first()
    if row is None:
        raise NotFound("The sweep was deleted before it could begin.")
    worker.turn_send(row)
    return HANDED_OUT


@app.task(name=worker.TASK, ignore_result=True, bind=True)  # type: ignore[untyped-decorator]
def turn(self: Any, sweep: str, number: int) -> int:
    """Run trials of the sweep for a while and return their number."""
    worker_name = str(self.request.hostname or "")
    # A test, or a worker that is configured without processes, runs the trials itself.
    if self.request.called_directly or not settings.JOB_PROCESSES:
        return worker.run_turn(sweep, number, worker_name)
    try:
        return int(processes.call_in_process(worker.run_turn, sweep, number, worker_name))
    except processes.ProcessLost as lost:
        worker.turn_lost(sweep, worker_name, lost)
        return 0
