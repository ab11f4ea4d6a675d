"""Long work as rows: what runs, its progress, and its end."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.reach import Reach
from kschedweb.accounts.row_access import Covered
from kschedweb.web.idempotency import IdempotencyKey  # noqa: F401  a table of this app
from kschedweb.web.translating import gettext_lazy as _


class JobState(models.TextChoices):
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


ENDED = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
# Listed, because an index finds these states, but not "all others".
UNFINISHED = frozenset(JobState) - ENDED


def _reach_condition(reach: Reach) -> models.Q:
    """Return the condition for jobs about a cluster within ``reach``, and for the person's jobs that name none."""
    clusters = [str(cluster) for cluster in reach.clusters]
    own_jobs = models.Q(created_by=reach.user, params__cluster__isnull=True)
    return models.Q(params__cluster__in=clusters) | own_jobs


class Job(models.Model):
    """One piece of background work. The row, not the broker, is the truth about it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The name of the Celery task.
    kind = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    # True if its subject is not open to all: only its owner and admins read more than its progress.
    private = models.BooleanField(default=False, db_default=False)
    # Plain ids only, never a secret.
    params = models.JSONField(default=dict)
    # The id of the request that started it, for logs.
    request_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    state = models.CharField(max_length=16, choices=JobState.choices, default=JobState.QUEUED)
    # Units of the current step.
    done = models.PositiveIntegerField(default=0)
    # 0 if it is not known yet.
    total = models.PositiveIntegerField(default=0)
    # The share of the bar, 0 to 1. It never falls within an attempt.
    reached = models.FloatField(default=0.0, db_default=0.0)
    # For this step, estimated when it was saved last; null if unknown.
    seconds_left = models.FloatField(null=True)
    step = models.CharField(max_length=200, blank=True)
    # What the job made, by name, or the "errors" of its input.
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    cancel_requested = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # Reconciliation fails jobs whose worker has gone silent.
    heartbeat_at = models.DateTimeField(null=True)
    # A writer of an earlier attempt changes nothing.
    attempt = models.PositiveSmallIntegerField(default=0)
    # True if it may run again after its worker died.
    restartable = models.BooleanField(default=False)
    # True if it takes no place in a worker: no turn, no limit.
    apart = models.BooleanField(default=False, db_default=False)
    # True if it gives way to all other jobs: it begins only when none of them waits or runs.
    idle = models.BooleanField(default=False, db_default=False)
    # When the broker last got its message.
    sent_at = models.DateTimeField(null=True)
    # True if the broker was away when it should have got the message.
    undelivered = models.BooleanField(default=False, db_default=False)

    # The place in the turn, if it was computed: see selectors.with_places.
    place: int | None = None

    objects = Covered(rule=_reach_condition)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = [
            models.Index(fields=["state", "-created_at"]),
            models.Index(fields=["-created_at", "-id"], name="job_newest"),
            models.Index(fields=["ended_at"], name="job_ended"),
        ]


class Inquiry(models.Model):
    """A question that is answered once ``ended_at`` is set, by the request that asked it or by ``job``."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """The state of the question, as a job's."""
        if self.ended_at:
            return JobState.SUCCEEDED
        return self.job.state if self.job else JobState.FAILED


class Pulse(models.Model):
    """The time at which something that leaves no other trace last worked, by the database's clock."""

    BEAT = "beat"

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()
