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
class Answering:
    """How a kind of question is answered; ``allowed`` raises Http404 for people who may not read one.

    ``standing`` is what REST says beside the answer, which is kept, of what is true now.
    """

    answer: Callable[[Question, Step], Answer]
    allowed: Callable[[User, Question], object] = lambda user, question: None
    standing: Callable[[Snapshot, Revision, str], dict[str, Any]] | None = None


ANSWERING: dict[str, Answering] = {}


def register(kind: str, answering: Answering) -> None:
    """Say how questions of ``kind`` are answered."""
    ANSWERING[kind] = answering


def snapshot_of(question: Question) -> Snapshot:
    """The snapshot of a question; raises Unprocessable where it was deleted."""
    if question.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    return question.snapshot


def about(question: Question) -> tuple[Snapshot, Revision]:
    """The snapshot and the revision of a question; raises Unprocessable where one was deleted."""
    snapshot = snapshot_of(question)
    if question.revision is None:
        raise Unprocessable("The policy was deleted before there was an answer.")
    return snapshot, question.revision
