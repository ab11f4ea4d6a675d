"""Questions that are answered at once if that is quick, else by a job.

This module has what all packages of questions share; the questions and their answers are their own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.http import Http404
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.accounts.models import User
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded, Patience, limit_by
from kschedweb.jobs.models import ENDED, Inquiry
from kschedweb.jobs.services import job_start
from kschedweb.web.errors import Conflict, NotFound

if TYPE_CHECKING:
    from django.db.models import QuerySet

InquiryT = TypeVar("InquiryT", bound=Inquiry)

# The limits of work within a request: bytes of a cluster's objects, and seconds.
AT_ONCE_SIZE, AT_ONCE_SECONDS = 12_000_000, 3.0
# Nodes of the largest cluster whose pages answer a question that nobody asked yet.
MOST_OPENED_NODES = 200
# Read along with a question about a snapshot under a revision.
RELATED = ("snapshot__cluster", "revision__policy")
# Fields of an answer that are read only when it is shown.
LARGE = ("content", "columns")
# Unanswered inquiries of one kind and person.
MOST_WAITING = 10
Step = Callable[[str, int, int], None]


class Busy(DeadlineExceeded):
    """Another one is being worked on."""


class Turn:
    """Work on questions of one kind within requests of a process, one at a time."""

    def __init__(self) -> None:
        self._lock = Lock()

    @contextmanager
    def take(self, size: int = 0, seconds: float | None = None) -> Iterator[Step]:
        """Give a step that raises DeadlineExceeded after ``seconds``, by default AT_ONCE_SECONDS.

        Raises Busy, and DeadlineExceeded if objects of ``size`` bytes would take too long to read.
        """
        refuse_large(size)
        limit = AT_ONCE_SECONDS if seconds is None else seconds
        if not self._lock.acquire(blocking=False):
            raise Busy
        connection_released()
        try:
            with limit_by(Patience(limit)):
                yield deadline_step(limit)
        finally:
            self._lock.release()


def refuse_large(size: int) -> None:
    """Raise DeadlineExceeded if a request has no time to read objects of ``size`` bytes."""
    if size > AT_ONCE_SIZE:
        raise DeadlineExceeded


def may_open_answered(nodes: int) -> bool:
    """Say whether the page of a question may open with an answer about a cluster of ``nodes`` nodes."""
    return 0 < nodes <= MOST_OPENED_NODES


def deadline_step(seconds: float = AT_ONCE_SECONDS) -> Step:
    """Return a step that raises DeadlineExceeded after ``seconds``."""
    deadline = monotonic() + seconds

    def check_deadline(text: str, completed: int, total: int) -> None:
        if monotonic() > deadline:
            raise DeadlineExceeded

    return check_deadline


def connection_released() -> None:
    """Return this thread's connection: computing for seconds needs none, and others do."""
    if not connection.in_atomic_block:
        connection.close()


@dataclass(frozen=True)
class InquiryKind(Generic[InquiryT]):
    """A kind of question: its rows, who answers them, and what jobs and people are told."""

    model: type[InquiryT]
    # The name of the task that answers.
    task: str
    # Finds the answer: the values of the fields that it fills.
    find: Callable[[InquiryT, Step], Json]
    # What a person has too many of, or one of too many if they may wait for one answer only.
    nouns: str
    single: bool = False
    # The verb of the audit trail; "" for none.
    verb: str = ""
    # Read along with a question in a job.
    related: tuple[str, ...] = RELATED
    # What the task's parameter and the job's result call the question, and what the result says of the answer.
    parameter: str = "question"
    result: str = "question"
    tell: Callable[[InquiryT], Json] = lambda question: {"answer": getattr(question, "sentence", "")}
    missing: str = "The question was deleted before there was an answer."

    def refuse(self, user: User | None) -> None:
        """Raise Conflict if ``user`` waits for too many answers already. The site's own questions have no limit."""
        if user is None:
            return
        unanswered = list_unanswered(self.model, user)
        if self.single and (running := unanswered.first()) is not None:
            message = f"Another question of yours about {self.nouns} is being worked on, by job {running.job_id}"
            raise Conflict(f"{message}: wait for its answer, or have the job cancelled.")
        if not self.single and unanswered.count() >= MOST_WAITING:
            message = f"{MOST_WAITING} of your {self.nouns} have no answer yet"
            raise Conflict(f"{message}: wait for them, or cancel their jobs.")

    @transaction.atomic
    def ask(self, question: InquiryT, title: str, subject: str, *, private: bool = False) -> InquiryT:
        """Save a question with a job called ``title`` that answers it; the audit trail names its ``subject``.

        Raises Conflict if the person waits for too many answers. No other question of theirs comes in between.
        """
        user = question.created_by
        # The person's row is the lock that keeps their questions apart.
        if user is not None:
            User.objects.select_for_update().get(pk=user.pk)
        self.refuse(user)
        params = {self.parameter: str(question.pk)}
        question.job = job_start(self.task, title=title, params=params, user=user, private=private)
        return self._save(question, subject)

    @transaction.atomic
    def save_answered(self, question: InquiryT, subject: str, values: Json, **details: Any) -> InquiryT:
        """Save a question with the ``values`` of an answer that was found at once."""
        for name, value in values.items():
            setattr(question, name, value)
        question.ended_at = timezone.now()
        return self._save(question, subject, **details)

    def answer(self, question: InquiryT, step: Step) -> Json:
        """Find and store the answer unless it is there already. Return the result of the job."""
        if question.ended_at is None:
            values = self.find(question, step)
            # An answer that another process stored meanwhile stays.
            rows = self.model._default_manager.filter(pk=question.pk)
            rows.filter(ended_at=None).update(**values, ended_at=timezone.now())
            question.refresh_from_db(fields=["ended_at", *(name for name in values if name not in LARGE)])
        return {self.result: str(question.pk), **self.tell(question)}

    def _save(self, question: InquiryT, subject: str, **details: Any) -> InquiryT:
        question.save(force_insert=True)
        if self.verb:
            audit.record(question.created_by, self.verb, question, subject, **details)
        return question


def question_of_job(kind: InquiryKind[InquiryT], question: str) -> InquiryT:
    """Return the question that a job is to answer. Raises NotFound."""
    rows = kind.model._default_manager.select_related(*kind.related)
    if any(name.startswith("snapshot") for name in kind.related):
        rows = rows.defer("snapshot__content")
    inquiry: InquiryT | None = rows.filter(pk=question).first()
    if inquiry is None:
        raise NotFound(kind.missing)
    return inquiry


def question_seen(model: type[InquiryT], question: UUID | str, noun: str = "question") -> InquiryT:
    """Return a question to show. Raises Http404."""
    rows = model._default_manager.select_related("job", "created_by", *RELATED)
    inquiry: InquiryT | None = (
        rows.defer("snapshot__content", "snapshot__resource_versions").filter(pk=question).first()
    )
    if inquiry is None:
        raise Http404(f"There is no such {noun}.")
    return inquiry


def pack_answer(answer: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Return ``answer`` as it is stored; ``default`` makes plain data of other objects in it."""
    # Without a time of modification, equal answers have equal bytes.
    return gzip.compress(json.dumps(answer, default=default).encode(), 6, mtime=0)


def unpack_answer(content: bytes | memoryview[int]) -> Any:
    """Reverse ``pack_answer``, also for what a database returns."""
    return json.loads(gzip.decompress(bytes(content)))


def find_unanswered(model: type[InquiryT], user: User | None) -> InquiryT | None:
    """Return an inquiry of ``user`` that a job works on, or will."""
    inquiry: InquiryT | None = list_unanswered(model, user).first()
    return inquiry


def list_unanswered(model: type[Inquiry], user: User | None) -> QuerySet[Any]:
    """Return the inquiries of ``user`` that a job works on, or will."""
    inquiries = model._default_manager.filter(created_by=user, ended_at=None, job__isnull=False)
    return inquiries.exclude(job__state__in=ENDED)


def find_answered(inquiries: QuerySet[InquiryT], asked: Json) -> InquiryT | None:
    """Return the first of ``inquiries`` that asked the same and has its answer; else None."""
    return inquiries.filter(asked=asked, ended_at__isnull=False).exclude(content=None).first()
