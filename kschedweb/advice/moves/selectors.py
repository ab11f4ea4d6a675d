"""Read dry runs that jobs answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from django.db.models import F

from kschedweb.advice.moves.models import Question
from kschedweb.jobs import inquiries

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.advice.moves.requests import DryRunRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.json_types import Json
    from kschedweb.policies.models import Revision


def question_get(question_id: UUID | str) -> Question:
    """Return one question. Raise ``Http404`` if there is none."""
    return inquiries.question_seen(Question, question_id)


def stored_answer(snapshot: Snapshot, revision: Revision, dry_run_request: DryRunRequest) -> Json | None:
    """Return the stored answer to this request under the present prices, if a job has given it; else None."""
    rows = Question.objects.filter(snapshot=snapshot, revision=revision)
    rows = rows.exclude(snapshot__cluster__prices__changed_at__gt=F("created_at"))
    question = inquiries.find_answered(rows, asdict(dry_run_request))
    answer: Json | None = None if question is None else question.read_answer()
    return answer
