"""Asking: answered at once where that is quick, else by a job."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from django.db import connection

from kschedweb.jobs.models import ENDED
from kschedweb.web.errors import Conflict

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.jobs.models import Inquiry

# What a request may work on: bytes of a cluster's objects to be read, and seconds.
AT_ONCE_SIZE, AT_ONCE_SECONDS = 12_000_000, 3.0
MOST_WAITING = 10  # inquiries of one kind and person that have no answer yet
Step = Callable[[str, int, int], None]


class NotNow(Exception):
    """It takes longer than a request may, or another one is being worked on."""


class Busy(NotNow):
    """Another one is being worked on."""


@contextmanager
def at_once(turn: Lock, seconds: float) -> Iterator[Step]:
    """Work in a request, one at a ``turn``, or raise Busy; the step given raises NotNow once ``seconds`` are over."""
    if not turn.acquire(blocking=False):
        raise Busy
    connection_released()
    try:
        yield deadline(seconds)
    finally:
        turn.release()


def deadline(seconds: float = AT_ONCE_SECONDS) -> Step:
    """A step that raises NotNow once ``seconds`` are over."""
    until = monotonic() + seconds

    def step(text: str, done: int, known: int) -> None:
        if monotonic() > until:
            raise NotNow

    return step


def connection_released() -> None:
    """Give this thread's connection back: what computes for seconds needs none, and others do."""
    if not connection.in_atomic_block:
        connection.close()


def packed(answer: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """``answer`` as it is stored; ``default`` makes plain data of anything else that is in it."""
    return gzip.compress(json.dumps(answer, default=default).encode(), 6, mtime=0)


def unpacked(content: bytes | memoryview[int]) -> Any:
    """The reverse of ``packed``; also of what a database returns."""
    return json.loads(gzip.decompress(bytes(content)))


def unanswered(model: type[Inquiry], user: User | None) -> QuerySet[Any]:
    """The inquiries of ``user`` that a job works on, or will."""
    asked = model._default_manager.filter(created_by=user, ended_at=None, job__isnull=False)
    return asked.exclude(job__state__in=ENDED)


def refuse_second(model: type[Inquiry], user: User | None, noun: str) -> None:
    """Raise Conflict where ``user`` waits for another answer about ``noun``."""
    running = unanswered(model, user).first()
    if running is not None:
        said = f"Another question of yours about {noun} is being worked on, by job {running.job_id}"
        raise Conflict(f"{said}: wait for its answer, or have the job cancelled.")


def refuse_more(model: type[Inquiry], user: User | None, nouns: str) -> None:
    """Raise Conflict where ``user`` waits for the answers of many already; ``nouns`` is what people call them."""
    if unanswered(model, user).count() >= MOST_WAITING:
        raise Conflict(f"{MOST_WAITING} of your {nouns} have no answer yet: wait for them, or cancel their jobs.")
