"""Read questions about decisions that jobs answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q
from django.http import Http404
from django.utils.translation import get_language

from kschedweb.decisions import redaction
from kschedweb.decisions.inquiring.handlers import QUESTION_HANDLERS
from kschedweb.decisions.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import unpack_answer
from kschedweb.jobs.models import ENDED

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.models import User


def question_get(user: User, question_id: UUID | str) -> Question:
    """Return one question. Raise ``Http404`` if there is none, or ``user`` may not read it."""
    related = Question.objects.select_related("job", "created_by", "snapshot__cluster", "revision__policy")
    question = related.defer("snapshot__content", "snapshot__resource_versions").filter(pk=question_id).first()
    if question is None:
        raise Http404("There is no such question.")
    QUESTION_HANDLERS[question.kind].allowed(user, question)
    redaction.question_seen(question)
    return question


def find_same_question(key: str) -> Question | None:
    """Return the question with this key that has an answer, or a job that may still find one; else None."""
    alive = Q(ended_at__isnull=False) | (Q(job__isnull=False) & ~Q(job__state__in=ENDED))
    return Question.objects.filter(alive, key=key).select_related("job").first()


def answer_of(question: Question) -> Json | None:
    """Return the answer, in the reader's language if it was stored in that; None if there is none yet."""
    if question.content is None:
        return None
    content: Json = unpack_answer(question.content)
    return redaction.redact_content(question, content | content.pop("languages", {}).get(get_language(), {}))
