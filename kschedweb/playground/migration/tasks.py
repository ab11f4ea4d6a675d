"""Background tasks for questions about a migration."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import question_of_job
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.migration import services
from kschedweb.playground.migration.models import Question


@job_task(name="moves.answer", restartable=True)
def answer(progress: Progress, *, question: str) -> Json:
    """Answer the question with this id, unless it is answered already."""
    related = ("classic__policy", "profile__policy", "snapshot__cluster")
    row = question_of_job(Question, question, *related)
    return services.question_answer(question=row, step=progress.step)
