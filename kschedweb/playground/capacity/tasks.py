"""Background tasks for questions about capacity."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import question_of_job
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.capacity import services
from kschedweb.playground.capacity.models import Question


@job_task(name="capacity.answer", restartable=True)
def answer(progress: Progress, *, question: str) -> Json:
    """Answer the question with this id, unless it is answered already."""
    return services.question_answer(question=question_of_job(Question, question), step=progress.step)
