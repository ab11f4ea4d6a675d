"""Reading jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.jobs.models import UNFINISHED, Job

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet


def job_list() -> QuerySet[Job]:
    """Newest first."""
    return Job.objects.select_related("created_by")


def job_get(job_id: UUID | str) -> Job:
    job = job_list().filter(pk=job_id).first()
    if job is None:
        raise Http404("There is no such job.")
    return job


def unfinished_count() -> int:
    return Job.objects.filter(state__in=UNFINISHED).count()
