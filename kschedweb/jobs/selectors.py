"""Reading jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q
from django.http import Http404

from kschedweb.accounts.roles import Action, may
from kschedweb.jobs.models import UNFINISHED, Job

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User

PRIVATE = "Private work"


def job_list() -> QuerySet[Job]:
    """Newest first."""
    return Job.objects.select_related("created_by")


def job_get(job_id: UUID | str) -> Job:
    job = job_list().filter(pk=job_id).first()
    if job is None:
        raise Http404("There is no such job.")
    return job


def titled(user: User) -> Q:
    """The condition under which ``user`` may read what a job is about."""
    return Q() if may(user.role, Action.ADMINISTER) else Q(private=False) | Q(created_by=user)


def shown(user: User, job: Job) -> Job:
    """``job``, not to be saved, without what ``user`` may not read of it."""
    if job.private and job.created_by_id != user.pk and not may(user.role, Action.ADMINISTER):
        job.title, job.step, job.error, job.result = PRIVATE, "", "", {}
    return job


def unfinished_count() -> int:
    return Job.objects.filter(state__in=UNFINISHED).count()
