"""Background tasks for dry runs."""

from __future__ import annotations

from kschedweb.advice.moves import services
from kschedweb.advice.moves.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import question_of_job
from kschedweb.jobs.tasks import Progress, job_task


@job_task(name="descheduling.answer", restartable=True)
def answer(progress: Progress, *, question: str) -> Json:
    """Answer the question with this id, unless it is answered already."""
    return services.question_answer(question=question_of_job(Question, question), step=progress.step)
