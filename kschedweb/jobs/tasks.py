"""Makes jobs of functions, and has the periodic task that repairs jobs after a crash."""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from functools import wraps
from typing import Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import close_old_connections, connection

from kschedweb.accounts.reach import unrestricted
from kschedweb.celery import app
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import Patience, limit_by
from kschedweb.jobs import processes, services
from kschedweb.jobs.child_process import out_of_memory
from kschedweb.jobs.connections import own_connection
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.progress import Bar, Estimate
from kschedweb.web.errors import ApplicationError

logger = structlog.get_logger(__name__)

# Seconds between heartbeats of a run that reports nothing.
BEAT = 15.0
# Seconds between saved steps.
SAVE_EVERY = 0.5

# A job's function: it takes (progress, **params), and returns the job's result.
JobFunction = Callable[..., Json]
# The result of a function that only gave the work out. The last part of the work ends the job.
HANDED_OUT: Json = {}


class Cancelled(Exception):
    """The run must stop. ``Progress.step`` raises it; let it pass."""


class Progress:
    """Reports the progress of a running job; ``job`` is its row as it was claimed."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._saved_at = 0.0
        self._saved_step = ""
        self._at_end = False
        self._estimate, self._bar = Estimate(), Bar()

    def step(self, text: str, completed: int = 0, total: int = 0) -> None:
        """Report the current step and its progress. Call it often: saving is throttled.

        Raises ``Cancelled`` if somebody cancelled the job or another attempt took over.
        """
        now, at_end = time.monotonic(), 0 < total <= completed
        if text != self._saved_step:
            self._estimate = Estimate()
            self._bar.begin_step()
        elif at_end == self._at_end and now - self._saved_at < SAVE_EVERY:
            return
        self._saved_at, self._saved_step, self._at_end = now, text, at_end
        seconds_left = self._estimate.seconds_left(now, completed, total)
        reached = self._bar.reach(completed, total)
        if not services.job_progress(
            self.job, step=text, completed=completed, total=total, seconds_left=seconds_left, reached=reached
        ):
            raise Cancelled


@contextlib.contextmanager
def heartbeat(beat: Callable[[], object], interval: float, name: str) -> Iterator[None]:
    """Call ``beat`` at intervals of seconds from a thread, so that one long call is not taken for a dead worker."""
    ended = threading.Event()

    def beat_regularly() -> None:
        own_connection()
        while not ended.wait(interval):
            try:
                beat()
            except Exception:
                logger.warning("heartbeat_failed", of=name, exc_info=True)
            finally:
                connection.close()

    thread = threading.Thread(target=beat_regularly, name=f"heartbeat-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(interval)


def _run_job(function: JobFunction, job: Job) -> None:
    """Run a job. Errors about lack of memory are raised, because only the parent process has the memory to report
    them.
    """
    with _as_asked(job), services.when_idle(job.idle):
        _run_as_asked(function, job)


def _as_asked(job: Job) -> AbstractContextManager[None]:
    """Give log lines the id of the request that started ``job``, not of the one whose message woke the worker."""
    return structlog.contextvars.bound_contextvars(request_id=job.request_id)


def _run_as_asked(function: JobFunction, job: Job) -> None:
    try:
        waits = Patience(error=Cancelled)

        def check_alive() -> None:
            if not services.job_beat(job):
                waits.abandon()

        with heartbeat(check_alive, BEAT, str(job.pk)), limit_by(waits):
            result = function(Progress(job), **job.params)
    except Cancelled:
        services.job_stopped(job)
    except Exception as error:
        if out_of_memory(error):
            raise
        services.job_fail(job, _failure_message(job, error))
    else:
        if result is not HANDED_OUT:
            services.job_succeed(job, result or {})


def _failure_message(job: Job, error: Exception) -> str:
    """Return why the job failed, in words for the person."""
    if isinstance(error, ApplicationError):
        return error.detail
    if isinstance(error, SoftTimeLimitExceeded):
        return processes.TOO_LONG
    logger.error("job_failed", job=str(job.pk), kind=job.kind, exc_info=error)
    return f"The job failed for a reason it did not foresee. The log names it under {job.pk}."


def _run_in_thread(function: JobFunction, job: Job) -> None:
    def run_in_thread() -> None:
        own_connection()
        try:
            _run_job(function, job)
        finally:
            connection.close()

    threading.Thread(target=run_in_thread, name=f"job-{job.pk}", daemon=True).start()


def _run_in_process(function: JobFunction, job: Job) -> None:
    with _as_asked(job):
        try:
            processes.call_in_process(run_claimed, function.__module__, str(job.pk), job.attempt)
        except processes.ProcessLost as lost:
            services.job_fail(job, lost.detail)
        except Exception as error:
            services.job_fail(job, _failure_message(job, error))


def run_claimed(module: str, job_id: str, attempt: int) -> None:
    """Run a job that another process has claimed; ``module`` has its function."""
    importlib.import_module(module)
    if job := Job.objects.filter(pk=job_id, state=JobState.RUNNING, attempt=attempt).first():
        _run_job(app.tasks[job.kind].function, job)


def _dispatch_job(job: Job) -> None:
    """Run a job that this worker has claimed, in a thread, a process, or here."""
    task = app.tasks[job.kind]
    if task.in_thread:
        _run_in_thread(task.function, job)
    elif settings.JOB_PROCESSES:
        _run_in_process(task.function, job)
    else:
        _run_job(task.function, job)


def job_task(
    *,
    name: str,
    restartable: bool = False,
    attempts: int = services.MAX_ATTEMPTS,
    in_thread: bool = False,
    **options: Any,
) -> Callable[[JobFunction], Any]:
    """Make a Celery task called ``name`` of ``def refresh(progress, **params) -> dict``.

    Start it by ``jobs.services.job_start(name, …)``. A ``restartable`` task may run twice without harm: it runs again
    if its worker died, up to ``attempts`` times. It runs in a process of its own, within a job's limits of time and
    memory. A task that waits for hours and does little runs ``in_thread``, in a thread of the worker: it takes no place
    from others, and no limit ends it. ``options`` go to Celery. An ``ApplicationError`` is shown to the person
    unchanged; any other error is logged, and the person reads where.

    The task's message only wakes a worker, which takes the job whose turn it is, of whatever kind. Called directly, the
    task does this very job in this process.
    """

    def decorate(function: JobFunction) -> Any:
        @wraps(function)
        @unrestricted()
        def run_task(self: Any, job_id: str) -> None:
            directly = self.request.called_directly
            job = services.job_claim(job_id) if directly or in_thread else services.job_take()
            if job is None:
                logger.info("job_skipped", job=job_id, kind=name)
            elif directly and not in_thread:
                _run_job(function, job)
            else:
                _dispatch_job(job)

        task = app.task(name=name, ignore_result=True, bind=True, **options)(run_task)
        task.function, task.restartable, task.attempts, task.in_thread = function, restartable, attempts, in_thread
        return task

    return decorate


@app.task(name="kschedweb.jobs.tasks.reconcile", ignore_result=True)  # type: ignore[untyped-decorator]
def reconcile(alone_since: str | None = None) -> dict[str, int]:
    """Call ``jobs_reconcile``. Beat sends this each minute, and a worker when it starts."""
    close_old_connections()
    return services.jobs_reconcile(alone_since=datetime.fromisoformat(alone_since) if alone_since else None)
