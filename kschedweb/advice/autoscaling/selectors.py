"""Reads questions that jobs answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404

from kschedweb.advice.autoscaling.models import Question
from kschedweb.jobs.inquiries import unpacked

if TYPE_CHECKING:
    from uuid import UUID

Json = dict[str, Any]


def question_get(question_id: UUID | str) -> Question:
    """One question; raises ``Http404`` if there is none."""
    related = Question.objects.select_related("job", "created_by", "snapshot__cluster", "revision__policy")
    found = related.defer("snapshot__content", "snapshot__resource_versions").filter(pk=question_id).first()
    if found is None:
        raise Http404("There is no such question.")
    return found


def answer_of(question: Question) -> Json | None:
    """The answer; ``None`` if there is none yet."""
    return None if question.content is None else unpacked(question.content)
