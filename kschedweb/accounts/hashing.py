"""How passwords are hashed: as Django does it, but one at a time in a process.

A hash takes a core for a third of a second. Strangers may ask for as many as they like, and must not take every core.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth import hashers
from django.db import connection

from kschedweb.web.errors import TooManyRequests

PATIENCE = 5  # seconds that one waits for its turn
WAITING = 2  # requests that wait at most: each keeps one of the threads that answer pages
_core, _queue = threading.BoundedSemaphore(), threading.BoundedSemaphore(WAITING)


@contextmanager
def _hashing_turn() -> Iterator[None]:
    if not _core.acquire(blocking=False) and not _wait_for_core():
        raise TooManyRequests(
            "Too many people log in at this moment. Try again in a few seconds.", retry_after=PATIENCE
        )
    try:
        yield
    finally:
        _core.release()


def _wait_for_core() -> bool:
    """Whether the turn came in time."""
    if not _queue.acquire(blocking=False):
        return False
    try:
        if not connection.in_atomic_block:
            connection.close()  # who waits keeps none from those who work
        return _core.acquire(timeout=PATIENCE)
    finally:
        _queue.release()


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Its hashes are Django's: either reads those of the other."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with _hashing_turn():
            return super().encode(password, salt, iterations)
