"""The kinds of questions that jobs answer. Apps register theirs in ``ready``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.engine.json_types import Json
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

# A sentence; plain data, whose ``answer`` is what REST returns if that is not all of it; the part stored as bytes.
Answer = tuple[str, Json, bytes | None]


@dataclass(frozen=True)
class QuestionHandler:
    """The functions for one kind of question."""

    # Finds the answer, in a job.
    answer: Callable[[Question, Step], Answer]
    # Raises Http404 for people who may not read the question.
    allowed: Callable[[User, Question], object] = lambda user, question: None
    # Returns what REST adds to the stored answer about the present, such as waits for approval.
    current_status: Callable[[Snapshot, Revision, str], Json] | None = None


QUESTION_HANDLERS: dict[str, QuestionHandler] = {}


def register_handler(kind: str, handler: QuestionHandler) -> None:
    """Register the functions for questions of ``kind``."""
    QUESTION_HANDLERS[kind] = handler


def snapshot_of(question: Question) -> Snapshot:
    """Return the snapshot of a question. Raise Unprocessable if it was deleted."""
    if question.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    return question.snapshot


def snapshot_and_revision(question: Question) -> tuple[Snapshot, Revision]:
    """Return the snapshot and the revision of a question. Raise Unprocessable if one was deleted."""
    snapshot = snapshot_of(question)
    if question.revision is None:
        raise Unprocessable("The policy was deleted before there was an answer.")
    return snapshot, question.revision
