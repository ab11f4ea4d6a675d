"""Background tasks for questions about capacity."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.capacity import services
from kschedweb.playground.capacity.models import Question

answer = answer_task(
    "capacity.answer",
    Question,
    lambda question, step: services.question_answer(question=question, step=step),
)
