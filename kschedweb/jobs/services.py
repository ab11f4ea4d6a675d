"""Every change of a job. A state changes by a conditional UPDATE, so two workers never both win."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.celery import app
from kschedweb.errors import Conflict
from kschedweb.jobs.models import ENDED, Job, State
from kschedweb.redaction import redact_text

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.errors import FieldProblem

logger = structlog.get_logger(__name__)

SILENT = timedelta(seconds=60)  # no heartbeat for so long: the worker died
UNSENT = timedelta(minutes=10)  # queued for so long since its message: the broker may have lost it
MAX_ATTEMPTS = 2
WORKER_STOPPED = "The worker stopped before the job ended. Start it again."


@transaction.atomic
def job_start(task: Any, *, title: str, params: dict[str, Any], user: User | None) -> Job:
    """Write the row of a task made with ``job_task``; its message goes out when the transaction commits.

    ``params`` are plain ids for the task's keyword arguments, never a secret.
    """
    job = Job.objects.create(
        kind=task.name, title=title[:200], params=params, created_by=user, restartable=task.restartable
    )
    audit.record(user, "job.started", job, job.title, kind=job.kind)

    def send() -> None:
        job_send(job)

    # Robust: where the broker is away the row stays queued, and reconciliation sends it again. (A named function,
    # since Django logs the name of a hook that fails.)
    transaction.on_commit(send, robust=True)
    return job


def job_send(job: Job) -> None:
    """Give the broker the job's message; a second message does no harm, since only one run claims the row."""
    app.send_task(job.kind, [str(job.pk)])
    Job.objects.filter(pk=job.pk).update(sent_at=timezone.now())


def job_claim(job_id: str) -> Job | None:
    """Queued -> running, for exactly one caller; ``None`` if somebody else runs it, or it ended."""
    now = timezone.now()
    claimed = Job.objects.filter(pk=job_id, state=State.QUEUED).update(
        state=State.RUNNING,
        started_at=now,
        heartbeat_at=now,
        attempt=F("attempt") + 1,
        step="",
        done=0,
        total=0,
        seconds_left=None,
        error="",
    )
    return Job.objects.get(pk=job_id) if claimed else None


def _running(job: Job) -> Any:
    return Job.objects.filter(pk=job.pk, state=State.RUNNING, attempt=job.attempt)


def job_beat(job: Job) -> bool:
    """Say that the worker lives; False when this attempt is over."""
    return bool(_running(job).update(heartbeat_at=timezone.now()))


def job_progress(job: Job, *, step: str, done: int, total: int, left: float | None = None) -> bool:
    """Save how far it is, and how many seconds the step still takes; False when the run must stop."""
    now = timezone.now()
    saved = _running(job).update(step=step[:200], done=done, total=total, seconds_left=left, heartbeat_at=now)
    return bool(saved) and not Job.objects.filter(pk=job.pk, cancel_requested=True).exists()


def _end(job: Job, state: State, **values: Any) -> bool:
    return bool(_running(job).update(state=state, ended_at=timezone.now(), **values))


def job_succeed(job: Job, result: dict[str, Any]) -> bool:
    return _end(job, State.SUCCEEDED, result=result, step="", done=F("total"))


def job_fail(job: Job, error: str) -> bool:
    """``error`` is what the person reads; what looks like a secret in it is masked."""
    return _end(job, State.FAILED, error=redact_text(error)[:2000])


def job_problems(job: Job, errors: list[FieldProblem]) -> None:
    """Keep where in the input of a job something is wrong; the job is about to fail."""
    _running(job).update(result={"errors": errors} if errors else {})


def job_stopped(job: Job) -> bool:
    """The run noticed that a cancel was asked."""
    return _end(job, State.CANCELLED)


@transaction.atomic
def job_cancel(*, job: Job, user: User | None) -> Job:
    """Queued jobs are cancelled at once, running ones at their next step; ``Conflict`` when it has ended."""
    queued = Job.objects.filter(pk=job.pk, state=State.QUEUED)
    if not queued.update(state=State.CANCELLED, ended_at=timezone.now(), cancel_requested=True):
        running = Job.objects.filter(pk=job.pk, state=State.RUNNING)
        if not running.update(cancel_requested=True):
            raise Conflict(f"The job has already ended ({Job.objects.get(pk=job.pk).get_state_display().lower()}).")
    audit.record(user, "job.cancelled", job, job.title, kind=job.kind)
    job.refresh_from_db()
    return job


def jobs_reconcile(*, alone_since: datetime | None = None) -> dict[str, int]:
    """Mend what crashes left behind: runs whose worker is gone, and messages the broker lost.

    ``alone_since``: set by the only worker there is when it starts; no run older than that can be alive.
    """
    now = timezone.now()
    silent = Q(heartbeat_at__lt=now - SILENT)
    unsent = Q(sent_at__isnull=True, created_at__lt=now - SILENT) | Q(sent_at__lt=now - UNSENT)
    if alone_since is not None:
        silent |= Q(heartbeat_at__lt=alone_since)
        unsent |= Q(created_at__lt=alone_since)
    dead = Job.objects.filter(silent, state=State.RUNNING)
    cancelled = dead.filter(cancel_requested=True).update(state=State.CANCELLED, ended_at=now)
    requeued = [job for job in dead.filter(restartable=True) if job.attempt < _attempts(job)]
    requeued = [job for job in requeued if _running(job).filter(silent).update(state=State.QUEUED, sent_at=None)]
    failed = dead.exclude(pk__in=[job.pk for job in requeued]).update(
        state=State.FAILED, ended_at=now, error=WORKER_STOPPED
    )
    lost = list(Job.objects.filter(unsent, state=State.QUEUED).exclude(pk__in=[job.pk for job in requeued]))
    for job in [*requeued, *lost]:
        job_send(job)
    return {"failed": failed, "cancelled": cancelled, "requeued": len(requeued), "sent": len(lost)}


def _attempts(job: Job) -> int:
    """How often a restartable job may be begun."""
    return int(getattr(app.tasks.get(job.kind), "attempts", MAX_ATTEMPTS))


def jobs_purge(*, older_than: timedelta) -> int:
    """Delete the ended jobs older than ``older_than``; how many."""
    return Job.objects.filter(state__in=ENDED, ended_at__lt=timezone.now() - older_than).delete()[0]
