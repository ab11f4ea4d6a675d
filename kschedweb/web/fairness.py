"""Shares the threads that answer requests among people, so that nobody has all of them.

A page that computes for seconds slows down the requests of others. If one person had all threads, nobody else would get
even a page that takes no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from cachetools import LRUCache
from django.conf import settings
from django.utils.functional import SimpleLazyObject

if TYPE_CHECKING:
    from django.http import HttpRequest

Result = TypeVar("Result")
# Cookies and keys of tokens.
REMEMBERED = 10_000


@dataclass(slots=True)
class PersonQueue(Generic[Result]):
    """The work of one person: how much is running, and what waits for it to end."""

    running: int = 0
    waiting: deque[tuple[Future[Result], Callable[[], Result]]] = field(default_factory=deque)


class FairThreads(Generic[Result]):
    """Threads of which a person has at most ``limit`` at a time. Further work of theirs waits without a thread."""

    def __init__(self, threads: Executor, limit: int) -> None:
        self._threads, self._limit = threads, limit
        # Only people with running work have an entry.
        self._lines: dict[str, PersonQueue[Result]] = {}
        self._lock = Lock()

    def submit(self, person: str, future: Future[Result], work: Callable[[], Result]) -> None:
        """Do ``work`` when it is the turn of ``person``. ``future`` gets its result."""
        with self._lock:
            line = self._lines.setdefault(person, PersonQueue())
            if line.running == self._limit:
                line.waiting.append((future, work))
                return
            line.running += 1
        self._threads.submit(self._run_work, person, future, work)

    def _run_work(self, person: str, future: Future[Result], work: Callable[[], Result]) -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
        with self._lock:
            line = self._lines[person]
            if not line.waiting:
                line.running -= 1
                if not line.running:
                    del self._lines[person]
                return
            # The slot passes on to the person's next work, so the count of running work stays the same.
            following = line.waiting.popleft()
        self._threads.submit(self._run_work, person, *following)


class Callers:
    """Identifies callers without reading the database: by the cookie or the token's key.

    Once a proof was answered, its person is known. From then on all sessions and tokens of a person are one caller.
    """

    def __init__(self) -> None:
        self._people: LRUCache[str, str] = LRUCache(REMEMBERED)
        self._lock = Lock()

    def caller_of(self, request: HttpRequest) -> str:
        """Return a text that is equal for all requests of a caller. Each request of a stranger has its own."""
        proof = _proof_of_caller(request) or f"stranger {id(request)}"
        with self._lock:
            return self._people.get(proof, proof)

    def remember_caller(self, request: HttpRequest) -> None:
        """Remember the person of the proof that an answered ``request`` brought."""
        proof, user = _proof_of_caller(request), request.__dict__.get("user")
        if isinstance(user, SimpleLazyObject):
            # None if nothing has asked for the user.
            user = request.__dict__.get("_cached_user")
        if proof and user is not None and user.is_authenticated:
            with self._lock:
                self._people[proof] = f"user {user.pk}"


def _proof_of_caller(request: HttpRequest) -> str:
    return request.headers.get("Authorization") or request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
