"""The kinds of questions that jobs answer. Apps register theirs in ``ready``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

# A sentence; plain data, of which ``answer`` is what REST says if that is not all of it; what is kept as bytes.
Answer = tuple[str, dict[str, Any], bytes | None]


@dataclass(frozen=True)
class QuestionHandler:
    """How a kind of question is answered; ``allowed`` raises Http404 for people who may not read one.

    ``current_status`` is what REST says beside the answer, which is kept, of what is true now.
    """

    answer: Callable[[Question, Step], Answer]
    allowed: Callable[[User, Question], object] = lambda user, question: None
    current_status: Callable[[Snapshot, Revision, str], dict[str, Any]] | None = None


QUESTION_HANDLERS: dict[str, QuestionHandler] = {}


def register_handler(kind: str, handler: QuestionHandler) -> None:
    """Say how questions of ``kind`` are answered."""
    QUESTION_HANDLERS[kind] = handler


def snapshot_of(question: Question) -> Snapshot:
    """The snapshot of a question; raises Unprocessable where it was deleted."""
    if question.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    return question.snapshot


def snapshot_and_revision(question: Question) -> tuple[Snapshot, Revision]:
    """The snapshot and the revision of a question; raises Unprocessable where one was deleted."""
    snapshot = snapshot_of(question)
    if question.revision is None:
        raise Unprocessable("The policy was deleted before there was an answer.")
    return snapshot, question.revision
