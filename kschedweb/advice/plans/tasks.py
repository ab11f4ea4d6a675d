"""Background tasks for plans of moves."""

from __future__ import annotations

from kschedweb.advice.plans import offers, services
from kschedweb.advice.plans.models import Question
from kschedweb.jobs.answering import answer_task

answer = answer_task(
    services.KIND, Question, lambda question, step: services.question_answer(question=question, step=step)
)
# Which nodes could go, for the overview.
offer = answer_task(
    offers.KIND,
    Question,
    lambda question, step: services.question_answer(question=question, step=step, seconds=offers.SECONDS),
)
