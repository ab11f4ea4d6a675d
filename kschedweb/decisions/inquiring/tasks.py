"""Background tasks for questions about decisions."""

from __future__ import annotations

from typing import Any

from kschedweb.decisions.inquiring import services
from kschedweb.decisions.models import Question
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.web.errors import NotFound


@job_task(name="decisions.answer", restartable=True)
def answer(progress: Progress, *, question: str) -> dict[str, Any]:
    """Answer the question with this id, unless it is answered already."""
    related = Question.objects.select_related("snapshot__cluster", "revision__policy")
    found = related.defer("snapshot__content").filter(pk=question).first()
    if found is None:
        raise NotFound("The question was deleted before there was an answer.")
    return services.question_answer(question=found, step=progress.step)
