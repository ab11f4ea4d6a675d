"""Background tasks for questions about a migration."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.migration import services
from kschedweb.playground.migration.models import Question

answer = answer_task(
    "moves.answer",
    Question,
    lambda question, step: services.question_answer(question=question, step=step),
    related=("classic__policy", "profile__policy", "snapshot__cluster"),
)
