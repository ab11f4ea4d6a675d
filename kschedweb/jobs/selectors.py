"""Reading jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings
from django.db.models import Count
from django.http import Http404

from kschedweb.jobs.models import ENDED, Job, State
from kschedweb.jobs.turns import places

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User


def job_list() -> QuerySet[Job]:
    """Newest first."""
    return Job.objects.select_related("created_by")


def job_get(job_id: UUID | str) -> Job:
    job = job_list().filter(pk=job_id).first()
    if job is None:
        raise Http404("There is no such job.")
    return job


class Limits(TypedDict):
    """What a person's jobs may take, and what they take now."""

    running: int
    running_most: int
    waiting: int
    waiting_most: int
    memory_mib: int
    seconds: int


def limits(user: User) -> Limits:
    rows = Job.objects.filter(created_by=user, apart=False).values_list("state")
    states = dict(rows.filter(state__in=(State.QUEUED, State.RUNNING)).annotate(Count("pk")).order_by())
    return {
        "running": states.get(State.RUNNING, 0),
        "running_most": settings.JOBS_RUNNING,
        "waiting": states.get(State.QUEUED, 0),
        "waiting_most": settings.JOBS_WAITING,
        "memory_mib": settings.JOB_MEMORY_MIB,
        "seconds": settings.JOB_SECONDS,
    }


def with_places(jobs: Iterable[Job]) -> list[Job]:
    """``jobs``, those that wait for their turn with their ``place`` in it: 1 is taken next."""
    listed = list(jobs)
    found = places() if any(job.state == State.QUEUED and not job.apart for job in listed) else {}
    for job in listed:
        job.place = found.get(job.pk)
    return listed


def unfinished_count() -> int:
    return Job.objects.exclude(state__in=ENDED).count()
