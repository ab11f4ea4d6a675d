"""Background tasks for questions."""

from __future__ import annotations

from typing import Any

from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.migration import services
from kschedweb.playground.migration.models import Question
from kschedweb.web.errors import NotFound


@job_task(name="moves.answer", restartable=True)
def answer(progress: Progress, *, question: str) -> dict[str, Any]:
    """Answer the question with this id, unless it is answered already."""
    related = ("classic__policy", "profile__policy", "snapshot__cluster")
    found = Question.objects.select_related(*related).defer("snapshot__content").filter(pk=question).first()
    if found is None:
        raise NotFound("The question was deleted before there was an answer.")
    return services.question_answer(question=found, step=progress.step)
