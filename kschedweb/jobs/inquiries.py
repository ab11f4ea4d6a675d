"""Asking: answered at once where that is quick, else by a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from kschedweb.errors import Conflict
from kschedweb.jobs.models import ENDED

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.jobs.models import Inquiry

MOST_WAITING = 10  # inquiries of one kind and person that have no answer yet
Step = Callable[[str, int, int], None]


class NotNow(Exception):
    """It takes longer than a request may, or another one is being worked on."""


@contextmanager
def at_once(turn: Lock, seconds: float) -> Iterator[Step]:
    """Work in a request, one at a ``turn``; the step given raises NotNow once ``seconds`` are over."""
    if not turn.acquire(blocking=False):
        raise NotNow
    until = monotonic() + seconds

    def step(text: str, done: int, known: int) -> None:
        if monotonic() > until:
            raise NotNow

    try:
        yield step
    finally:
        turn.release()


def refuse_more(model: type[Inquiry], user: User | None, nouns: str) -> None:
    """Raise Conflict where ``user`` waits for the answers of many already; ``nouns`` is what people call them."""
    waiting = model._default_manager.filter(created_by=user, ended_at=None, job__isnull=False)
    if waiting.exclude(job__state__in=ENDED).count() >= MOST_WAITING:
        raise Conflict(f"{MOST_WAITING} of your {nouns} have no answer yet: wait for them, or cancel their jobs.")
