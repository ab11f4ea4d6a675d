"""Background tasks for questions about decisions."""

from __future__ import annotations

from kschedweb.decisions.inquiring import services
from kschedweb.decisions.models import Question
from kschedweb.jobs.answering import answer_task

answer = answer_task(
    "decisions.answer",
    Question,
    lambda question, step: services.question_answer(question=question, step=step),
)
