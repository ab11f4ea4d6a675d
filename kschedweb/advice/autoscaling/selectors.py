"""Read questions that jobs answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.advice.autoscaling.models import Question
from kschedweb.jobs import inquiries

if TYPE_CHECKING:
    from uuid import UUID


def question_get(question_id: UUID | str) -> Question:
    """Return one question. Raise ``Http404`` if there is none."""
    return inquiries.question_seen(Question, question_id)
