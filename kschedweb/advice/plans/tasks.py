"""Background tasks for plans of moves."""

from __future__ import annotations

from kschedweb.advice.plans import offers, services
from kschedweb.advice.plans.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import question_of_job
from kschedweb.jobs.tasks import Progress, job_task


@job_task(name=services.KIND, restartable=True)
def answer(progress: Progress, *, question: str) -> Json:
    """Compute the plan of this question, unless there is one already."""
    return services.question_answer(question=question_of_job(Question, question), step=progress.step)


@job_task(name=offers.KIND, restartable=True)
def offer(progress: Progress, *, question: str) -> Json:
    """Find out which nodes could go, for the overview."""
    return services.question_answer(
        question=question_of_job(Question, question), step=progress.step, seconds=offers.SECONDS
    )
