"""Long work as rows: what runs, how far it is, how it ended."""

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
UNFINISHED = frozenset(JobState) - ENDED  # what an index finds, where it finds not what has not ended


def _reach_condition(reach: Reach) -> models.Q:
    """Jobs about a cluster within it, and what the person started that names none."""
    clusters = [str(cluster) for cluster in reach.clusters]
    own_jobs = models.Q(created_by=reach.user, params__cluster__isnull=True)
    return models.Q(params__cluster__in=clusters) | own_jobs


class Job(models.Model):
    """One piece of background work. The row, not the broker, is the truth about it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=64)  # the Celery task's name
    title = models.CharField(max_length=200)
    # What it is about is not open to all: only who started it and admins read more than how far it is.
    private = models.BooleanField(default=False, db_default=False)
    params = models.JSONField(default=dict)  # plain ids only, never a secret
    request_id = models.CharField(max_length=64, blank=True, default="", db_default="")  # of who asked, for logs
    state = models.CharField(max_length=16, choices=JobState.choices, default=JobState.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)  # 0: not known yet
    reached = models.FloatField(default=0.0, db_default=0.0)  # of the bar, 0 to 1: it never falls in an attempt
    seconds_left = models.FloatField(null=True)  # of this step, estimated when it was saved last; null: nobody knows
    step = models.CharField(max_length=200, blank=True)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    cancel_requested = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)  # reconciliation fails jobs whose worker fell silent
    attempt = models.PositiveSmallIntegerField(default=0)  # a writer whose attempt is over changes nothing
    restartable = models.BooleanField(default=False)  # may run again after its worker died
    apart = models.BooleanField(default=False, db_default=False)  # takes no place in a worker: no turn, no limit
    sent_at = models.DateTimeField(null=True)  # when the broker last got its message
    undelivered = models.BooleanField(default=False, db_default=False)  # the broker was away when it was to get it

    place: int | None = None  # in the turn, where somebody worked it out: see selectors.with_places

    objects = Covered(rule=_reach_condition)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = [
            models.Index(fields=["state", "-created_at"]),
            models.Index(fields=["-created_at", "-id"], name="job_newest"),
            models.Index(fields=["ended_at"], name="job_ended"),
        ]


class Inquiry(models.Model):
    """A question whose answer is there once ``ended_at`` is: from the request that asked it, or from ``job``."""

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
        """As a job's."""
        if self.ended_at:
            return JobState.SUCCEEDED
        return self.job.state if self.job else JobState.FAILED


class Pulse(models.Model):
    """When something that leaves no other trace was last at work, by the database's clock."""

    BEAT = "beat"

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()
