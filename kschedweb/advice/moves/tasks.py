"""Background tasks for dry runs."""

from __future__ import annotations

from kschedweb.advice.moves import services
from kschedweb.advice.moves.models import Question
from kschedweb.jobs.answering import answer_task

answer = answer_task(
    "descheduling.answer",
    Question,
    lambda question, step: services.question_answer(question=question, step=step),
)
