"""Read dry runs that jobs answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.advice.moves.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.jobs import inquiries

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.models import User


def question_get(question_id: UUID | str) -> Question:
    """Return one question. Raise ``Http404`` if there is none."""
    return inquiries.question_seen(Question, question_id)


def answer_of(question: Question) -> Json | None:
    """Return the answer, None if there is none yet."""
    return None if question.content is None else inquiries.unpack_answer(question.content)


def find_unanswered(user: User) -> Question | None:
    """Return the question of ``user`` whose job is running or queued."""
    return inquiries.list_unanswered(Question, user).first()
