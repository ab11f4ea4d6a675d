"""Background tasks for plans of moves."""

from __future__ import annotations

from typing import Any

from kschedweb.advice.plans import offering, services
from kschedweb.advice.plans.models import Question
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.web.errors import NotFound


@job_task(name=services.KIND, restartable=True)
def answer(progress: Progress, *, question: str) -> dict[str, Any]:
    """Work out the plan of this id, unless there is one already."""
    return services.question_answer(question=_found(question), step=progress.step)


@job_task(name=offering.KIND, restartable=True)
def offer(progress: Progress, *, question: str) -> dict[str, Any]:
    """Work out which nodes could go, for the overview."""
    return services.question_answer(question=_found(question), step=progress.step, seconds=offering.SECONDS)


def _found(question: str) -> Question:
    related = Question.objects.select_related("snapshot__cluster", "revision__policy")
    found = related.defer("snapshot__content").filter(pk=question).first()
    if found is None:
        raise NotFound("The question was deleted before there was a plan.")
    return found
