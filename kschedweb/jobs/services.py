"""Changes of jobs. A state changes by a conditional UPDATE, so that two workers never both win."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.accounts.reach import unrestricted
from kschedweb.celery import app
from kschedweb.engine.json_types import Json
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.turns import Turn, count_running, in_turn
from kschedweb.web.errors import Conflict, Unavailable
from kschedweb.web.redaction import redact_text

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.web.errors import FieldProblem

logger = structlog.get_logger(__name__)

# A worker without a heartbeat for so long has died.
SILENT = timedelta(seconds=60)
# The broker may have lost a message of so long ago whose job is still queued.
UNSENT = timedelta(minutes=3)
MAX_ATTEMPTS = 2
# True while what is started gives way to all other jobs.
_idle: ContextVar[bool] = ContextVar("idle", default=False)
WORKER_STOPPED = "The worker stopped before the job ended. Start it again."


@contextlib.contextmanager
def when_idle(idle: bool = True) -> Iterator[None]:
    """Let jobs that are started within give way to all others, and those that they start themselves."""
    token = _idle.set(idle)
    try:
        yield
    finally:
        _idle.reset(token)


@transaction.atomic
def job_start(
    kind: str,
    *,
    title: str,
    params: Json,
    user: User | None,
    private: bool = False,
    asked_before: bool = False,
) -> Job:
    """Write the row of a job for the task of this name. A message goes out when the transaction commits.

    ``params`` are plain ids for the task's keyword arguments, never a secret. The subject of a ``private`` job is not
    open to all. Raises Conflict if too many jobs of ``user`` wait, unless it was ``asked_before``, as a part of another
    job of theirs.
    """
    task = task_of(kind)
    in_thread = bool(task.in_thread)
    theirs = Job.objects.filter(created_by=user, apart=False, idle=_idle.get())
    if user is not None and not in_thread and not asked_before:
        _refuse_more(theirs)
    job = Job.objects.create(
        kind=task.name,
        title=title[:200],
        params=params,
        created_by=user,
        restartable=task.restartable,
        private=private,
        request_id=str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64],
        apart=in_thread,
        idle=_idle.get(),
    )
    audit.record(user, "job.started", job, job.title, kind=job.kind)

    # What else a person queues is woken job by job, as others of theirs end: few messages are ever out, and the turns
    # of sweeps, which go through the same queue, are not behind hundreds of them. (A named function, since Django logs
    # the name of a hook that fails.)
    def send_message() -> None:
        before = theirs.filter(state__in=(JobState.QUEUED, JobState.RUNNING), created_at__lt=job.created_at)
        if in_thread or before.count() < settings.JOBS_RUNNING:
            job_send(job)

    transaction.on_commit(send_message, robust=True)
    return job


def task_of(kind: str) -> Any:
    """Return the task made with ``job_task`` of this name. A web process imports tasks when it starts its first job."""
    if kind not in app.tasks:
        app.loader.import_default_modules()
    return app.tasks[kind]


def _refuse_more(theirs: QuerySet[Job]) -> None:
    if theirs.filter(state=JobState.QUEUED).count() >= settings.JOBS_WAITING:
        raise Conflict(
            f"{settings.JOBS_WAITING} of your jobs wait, which is the most for one person: "
            "let some of them begin, or cancel them, then try again."
        )


def job_send(job: Job) -> None:
    """Wake a worker. It takes the job whose turn it is, which need not be ``job``, or none if none may begin.

    If the broker is away, the row says so, and reconciliation wakes a worker once it is back.
    """
    try:
        app.send_task(job.kind, [str(job.pk)])
    except Unavailable:
        logger.warning("job_not_sent", job=str(job.pk), kind=job.kind)
        Job.objects.filter(pk=job.pk).update(undelivered=True)
    else:
        Job.objects.filter(pk=job.pk).update(sent_at=timezone.now(), undelivered=False)


@unrestricted()
def jobs_wake() -> None:
    """Wake a worker if a job may begin. Call it whenever a job ends."""
    turn = next(in_turn(), None)
    if turn is not None and turn.is_allowed:
        job_send(Job.objects.get(pk=turn.job))


@unrestricted()
def job_take() -> Job | None:
    """Claim the job whose turn it is; ``None`` if no queued job may run now."""
    # Jobs of a newer release are left to its workers.
    kinds = [name for name, task in app.tasks.items() if hasattr(task, "restartable")]
    for turn in in_turn(kinds):
        if not turn.is_allowed:
            # No later one may run either, since nobody has fewer jobs running.
            return None
        if job := _claim_turn(turn):
            return job
    return None


@transaction.atomic
def _claim_turn(turn: Turn) -> Job | None:
    """Claim the job, unless somebody else did, or its person has enough running. One worker at a time per person."""
    if turn.idle:
        return job_claim(str(turn.job)) if not count_running() else None
    if turn.person is not None:
        get_user_model().objects.select_for_update(no_key=True).filter(pk=turn.person).first()
    running = Job.objects.filter(created_by=turn.person, state=JobState.RUNNING, apart=False, idle=False).count()
    return job_claim(str(turn.job)) if running < settings.JOBS_RUNNING else None


def job_claim(job_id: str) -> Job | None:
    """Change a queued job to running, for exactly one caller, whosever turn it is; ``None`` if it is not queued."""
    now = timezone.now()
    claimed = Job.objects.filter(pk=job_id, state=JobState.QUEUED).update(
        state=JobState.RUNNING,
        started_at=now,
        heartbeat_at=now,
        attempt=F("attempt") + 1,
        step="",
        done=0,
        total=0,
        reached=0.0,
        seconds_left=None,
        error="",
        undelivered=False,
    )
    return Job.objects.get(pk=job_id) if claimed else None


def _running_attempt(job: Job) -> Any:
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempt=job.attempt)


def job_beat(job: Job) -> bool:
    """Report that the worker is alive. Returns False if the run must stop."""
    return bool(_running_attempt(job).update(heartbeat_at=timezone.now())) and not _is_cancelled(job)


def _is_cancelled(job: Job) -> bool:
    return Job.objects.filter(pk=job.pk, cancel_requested=True).exists()


def job_progress(
    job: Job, *, step: str, completed: int, total: int, seconds_left: float | None = None, reached: float | None = None
) -> bool:
    """Save the progress, and the seconds that the step still takes. Returns False if the run must stop.

    ``reached`` is the share of the bar, by default that of the only step. A smaller one than before is not saved.
    """
    now = timezone.now()
    share = min(completed / total, 1.0) if reached is None and total else reached or 0.0
    saved = _running_attempt(job).update(
        step=step[:200],
        done=completed,
        total=total,
        reached=Greatest(F("reached"), Value(share)),
        seconds_left=seconds_left,
        heartbeat_at=now,
    )
    return bool(saved) and not _is_cancelled(job)


def _end_job(job: Job, state: JobState, **values: Any) -> bool:
    ended = bool(_running_attempt(job).update(state=state, ended_at=timezone.now(), **values))
    if ended and not job.apart:
        transaction.on_commit(jobs_wake, robust=True)
    return ended


def job_succeed(job: Job, result: Json) -> bool:
    return _end_job(job, JobState.SUCCEEDED, result=result, step="", done=F("total"))


def job_fail(job: Job, error: str) -> bool:
    """End the job as failed. The person reads ``error``; anything like a secret in it is masked."""
    return _end_job(job, JobState.FAILED, error=redact_text(error)[:2000])


def job_problems(job: Job, errors: list[FieldProblem]) -> None:
    """Keep the places of errors in the input of a job that is about to fail."""
    _running_attempt(job).update(result={"errors": errors} if errors else {})


def job_stopped(job: Job) -> bool:
    """End the job as cancelled, after the run noticed the request."""
    return _end_job(job, JobState.CANCELLED)


@transaction.atomic
def job_cancel(*, job: Job, user: User | None) -> Job:
    """Cancel a queued job at once, and a running one at its next step. Raises ``Conflict`` if it has ended."""
    queued = Job.objects.filter(pk=job.pk, state=JobState.QUEUED)
    if not queued.update(state=JobState.CANCELLED, ended_at=timezone.now(), cancel_requested=True):
        running = Job.objects.filter(pk=job.pk, state=JobState.RUNNING)
        if not running.update(cancel_requested=True):
            raise Conflict(f"The job has already ended ({Job.objects.get(pk=job.pk).get_state_display().lower()}).")
    audit.record(user, "job.cancelled", job, job.title, kind=job.kind)
    job.refresh_from_db()
    return job


def jobs_reconcile(*, alone_since: datetime | None = None) -> dict[str, int]:
    """Repair what crashes left behind: runs without a worker, and messages that the broker lost or never got.

    ``alone_since`` is set by the only worker there is when it starts: no older run can be alive.
    """
    now = timezone.now()
    silent = Q(heartbeat_at__lt=now - SILENT)
    if alone_since is not None:
        silent |= Q(heartbeat_at__lt=alone_since)
    dead = Job.objects.filter(silent, state=JobState.RUNNING)
    cancelled = dead.filter(cancel_requested=True).update(state=JobState.CANCELLED, ended_at=now)
    requeued = [job for job in dead.filter(restartable=True) if job.attempt < _max_attempts(job)]
    requeued = [
        job for job in requeued if _running_attempt(job).filter(silent).update(state=JobState.QUEUED, sent_at=None)
    ]
    failed = dead.exclude(pk__in=[job.pk for job in requeued]).update(
        state=JobState.FAILED, ended_at=now, error=WORKER_STOPPED
    )
    lost = [job for job in _find_lost_jobs(now, alone_since) if job not in requeued]
    for job in [*requeued, *lost]:
        job_send(job)
    return {"failed": failed, "cancelled": cancelled, "requeued": len(requeued), "sent": len(lost)}


def _find_lost_jobs(now: datetime, alone_since: datetime | None) -> list[Job]:
    """Return the queued jobs that could begin now, and whose message had no effect for long."""
    unsent = Q(undelivered=True) | Q(sent_at__isnull=True, created_at__lt=now - SILENT) | Q(sent_at__lt=now - UNSENT)
    if alone_since is not None:
        unsent |= Q(created_at__lt=alone_since)
    may_begin = [turn.job for turn in itertools.takewhile(lambda turn: turn.is_allowed, in_turn())]
    queued = Job.objects.filter(unsent, state=JobState.QUEUED)
    return list(queued.filter(Q(pk__in=may_begin) | Q(apart=True)))


def _max_attempts(job: Job) -> int:
    """Return how often a restartable job may be begun."""
    return int(getattr(app.tasks.get(job.kind), "attempts", MAX_ATTEMPTS))
