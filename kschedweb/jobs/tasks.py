"""How a function becomes a job, and the periodic task that mends jobs after a crash."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connection, connections

from kschedweb.celery import app
from kschedweb.errors import ApplicationError
from kschedweb.jobs import services
from kschedweb.jobs.estimate import Estimate

if TYPE_CHECKING:
    from kschedweb.jobs.models import Job

logger = structlog.get_logger(__name__)

BEAT = 15.0  # seconds between heartbeats of a run that reports nothing
SAVE_EVERY = 0.5  # seconds between saved steps

# What a job's function looks like: (progress, **params) -> the job's result.
JobFunction = Callable[..., dict[str, Any]]
# The result of a function that only gave the work out: whoever does the last part of it ends the job.
HANDED_OUT: dict[str, Any] = {}


class Cancelled(Exception):
    """Raised by ``Progress.step`` when the run must stop; let it pass."""


class Progress:
    """What a running job reports through; ``job`` is its row as it was claimed."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._saved_at = 0.0
        self._saved_step = ""
        self._at_end = False
        self._estimate = Estimate()

    def step(self, text: str, done: int = 0, total: int = 0) -> None:
        """Say what is being done and how far it is. Call it often: saving is throttled.

        Raises ``Cancelled`` when somebody cancelled the job or another attempt took over.
        """
        now, at_end = time.monotonic(), 0 < total <= done
        if text != self._saved_step:
            self._estimate = Estimate()
        elif at_end == self._at_end and now - self._saved_at < SAVE_EVERY:
            return
        self._saved_at, self._saved_step, self._at_end = now, text, at_end
        left = self._estimate.left(now, done, total)
        if not services.job_progress(self.job, step=text, done=done, total=total, left=left):
            raise Cancelled


def own_connection() -> None:
    """Give this thread a connection to the database of its own: prefork workers close the pool after each task."""
    own = connections[DEFAULT_DB_ALIAS]
    options = {key: value for key, value in own.settings_dict["OPTIONS"].items() if key != "pool"}
    lasting = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}
    own.settings_dict = {**own.settings_dict, **lasting, "OPTIONS": options}


@contextlib.contextmanager
def heartbeat(beat: Callable[[], object], every: float, name: str) -> Iterator[None]:
    """Call ``beat`` every so many seconds from a thread, so that one long call is not taken for a dead worker."""
    ended = threading.Event()

    def run() -> None:
        own_connection()
        while not ended.wait(every):
            try:
                beat()
            except Exception:
                logger.warning("heartbeat_failed", of=name, exc_info=True)
            finally:
                connection.close()

    thread = threading.Thread(target=run, name=f"heartbeat-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(every)


def _run(function: JobFunction, job: Job) -> None:
    try:
        with heartbeat(lambda: services.job_beat(job), BEAT, str(job.pk)):
            result = function(Progress(job), **job.params)
    except Cancelled:
        services.job_stopped(job)
    except ApplicationError as error:
        services.job_fail(job, error.detail)
    except SoftTimeLimitExceeded:
        services.job_fail(job, "The job took longer than this server allows and was stopped.")
    except Exception:
        logger.exception("job_failed", job=str(job.pk), kind=job.kind)
        services.job_fail(job, f"The job failed for a reason it did not foresee. The log names it under {job.pk}.")
    else:
        if result is not HANDED_OUT:
            services.job_succeed(job, result or {})


def _run_apart(function: JobFunction, job: Job) -> None:
    def run() -> None:
        own_connection()
        try:
            _run(function, job)
        finally:
            connection.close()

    threading.Thread(target=run, name=f"job-{job.pk}", daemon=True).start()


def job_task(
    *, name: str, restartable: bool = False, attempts: int = services.MAX_ATTEMPTS, apart: bool = False, **options: Any
) -> Callable[[JobFunction], Any]:
    """Make a Celery task called ``name`` of ``def refresh(progress, **params) -> dict``.

    Start it by ``jobs.services.job_start(refresh, …)``. A restartable one may run twice without harm: it is run
    again when its worker died, until there were ``attempts``. One that waits for hours and does little runs ``apart``,
    in a thread of its own: it takes no place in the worker from others, and no time limit ends it.
    ``options`` go to Celery. An ``ApplicationError`` is shown to the person as it is; any other error is logged, and
    the person reads where.
    """

    def decorate(function: JobFunction) -> Any:
        @wraps(function)
        def run(job_id: str) -> None:
            job = services.job_claim(job_id)
            if job is None:
                logger.info("job_skipped", job=job_id, kind=name)
                return
            (_run_apart if apart else _run)(function, job)

        task = app.task(name=name, ignore_result=True, **options)(run)
        task.restartable, task.attempts = restartable, attempts
        return task

    return decorate


@app.task(name="kschedweb.jobs.tasks.reconcile", ignore_result=True)  # type: ignore[untyped-decorator]
def reconcile(alone_since: str | None = None) -> dict[str, int]:
    """See ``jobs_reconcile``; beat calls it each minute, a worker when it starts."""
    close_old_connections()
    return services.jobs_reconcile(alone_since=datetime.fromisoformat(alone_since) if alone_since else None)
