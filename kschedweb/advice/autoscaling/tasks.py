"""Background tasks for questions about autoscaling."""

from __future__ import annotations

from kschedweb.advice.autoscaling import services
from kschedweb.advice.autoscaling.models import Question
from kschedweb.jobs.answering import answer_task

answer = answer_task(
    "autoscaling.answer",
    Question,
    lambda question, step: services.question_answer(question=question, step=step),
)
