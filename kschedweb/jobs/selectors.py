"""Reads jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings
from django.db.models import Count, Q
from django.http import Http404

from kschedweb.accounts.roles import Action
from kschedweb.jobs.models import UNFINISHED, Job, JobState
from kschedweb.jobs.turns import compute_places

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User

# Replaces the title of a job that the user may not read.
PRIVATE = "Private work"


def job_list() -> QuerySet[Job]:
    """Return all jobs, newest first."""
    return Job.objects.select_related("created_by")


def job_get(job_id: UUID | str) -> Job:
    job = job_list().filter(pk=job_id).first()
    if job is None:
        raise Http404("There is no such job.")
    return job


def title_condition(user: User) -> Q:
    """Return the condition under which ``user`` may read what a job is about."""
    return Q() if user.everywhere(Action.ADMINISTER) else Q(private=False) | Q(created_by=user)


def redact_job(user: User, job: Job) -> Job:
    """Return ``job`` without what ``user`` may not read of it. It must not be saved."""
    if job.private and job.created_by_id != user.pk and not user.everywhere(Action.ADMINISTER):
        job.title, job.step, job.error, job.result = PRIVATE, "", "", {}
    return job


class UserJobLimits(TypedDict):
    """The limits of a person's jobs, and what they use now."""

    running: int
    running_most: int
    waiting: int
    waiting_most: int
    memory_mib: int
    seconds: int


def compute_limits(user: User) -> UserJobLimits:
    rows = Job.objects.filter(created_by=user, apart=False).values_list("state")
    states = dict(rows.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).annotate(Count("pk")).order_by())
    return {
        "running": states.get(JobState.RUNNING, 0),
        "running_most": settings.JOBS_RUNNING,
        "waiting": states.get(JobState.QUEUED, 0),
        "waiting_most": settings.JOBS_WAITING,
        "memory_mib": settings.JOB_MEMORY_MIB,
        "seconds": settings.JOB_SECONDS,
    }


def with_places(jobs: Iterable[Job]) -> list[Job]:
    """Return ``jobs``, with their ``place`` for those that wait for their turn: 1 is taken next."""
    listed = list(jobs)
    places = compute_places() if any(job.state == JobState.QUEUED for job in listed) else {}
    for job in listed:
        job.place = places.get(job.pk)
    return listed


def unfinished_count() -> int:
    return Job.objects.filter(state__in=UNFINISHED).count()
