"""Questions that are answered at once if that is quick, else by a job.

This module has what all packages of questions share; the questions and their answers are their own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.http import Http404
from django.utils import timezone

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


@transaction.atomic
def ask_job(inquiry: InquiryT, *, kind: str, title: str, refuse: Callable[[], None]) -> InquiryT:
    """Save the question ``inquiry`` with a job of this kind that answers it.

    ``refuse`` raises Conflict if the person waits for too many answers. No other question of theirs comes in between.
    """
    # The person's row is the lock that keeps their questions apart.
    if inquiry.created_by_id is not None:
        User.objects.select_for_update().get(pk=inquiry.created_by_id)
    refuse()
    inquiry.save()
    inquiry.job = job_start(kind, title=title, params={"question": str(inquiry.pk)}, user=inquiry.created_by)
    inquiry.save(update_fields=["job"])
    return inquiry


def save_answered(inquiry: InquiryT, **values: Any) -> InquiryT:
    """Save the question ``inquiry`` with an answer that was found at once."""
    for name, value in values.items():
        setattr(inquiry, name, value)
    inquiry.ended_at = timezone.now()
    inquiry.save()
    return inquiry


def answer_store(question: Inquiry, **values: Any) -> None:
    """Store the answer, unless another process was first. ``question`` then has what is stored."""
    rows = type(question)._default_manager.filter(pk=question.pk)
    rows.filter(ended_at=None).update(**values, ended_at=timezone.now())
    question.refresh_from_db(fields=[name for name in values if name not in LARGE])


def question_of_job(model: type[InquiryT], question: str, *related: str, missing: str) -> InquiryT:
    """Return the question that a job is to answer. Raises NotFound with ``missing``. ``related`` is read along."""
    rows = model._default_manager.select_related(*related)
    if any(name.startswith("snapshot") for name in related):
        rows = rows.defer("snapshot__content")
    inquiry: InquiryT | None = rows.filter(pk=question).first()
    if inquiry is None:
        raise NotFound(missing)
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


def refuse_second(model: type[Inquiry], user: User | None, noun: str) -> None:
    """Raise Conflict if ``user`` waits for another answer about ``noun``."""
    running = list_unanswered(model, user).first()
    if running is not None:
        message = f"Another question of yours about {noun} is being worked on, by job {running.job_id}"
        raise Conflict(f"{message}: wait for its answer, or have the job cancelled.")


def refuse_more(model: type[Inquiry], user: User | None, nouns: str) -> None:
    """Raise Conflict if ``user`` waits for many answers already; ``nouns`` is the word for them."""
    if list_unanswered(model, user).count() >= MOST_WAITING:
        raise Conflict(f"{MOST_WAITING} of your {nouns} have no answer yet: wait for them, or cancel their jobs.")
