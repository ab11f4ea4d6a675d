"""Background tasks for tried changes."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.trying import services
from kschedweb.playground.trying.models import TriedChange

answer = answer_task(
    "trying.answer",
    TriedChange,
    lambda tried_change, step: services.change_answer(tried_change=tried_change, step=step),
    related=("snapshot__cluster", "revision__scenario"),
    parameter="tried",
    missing="The change was deleted before there was an answer.",
)
