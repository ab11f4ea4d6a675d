"""How passwords are hashed: as Django does it, but one at a time in a process.

A hash takes a core for a third of a second. Strangers may ask for as many as they like, and must not take every core.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth import hashers
from django.db import connection

from kschedweb.errors import TooManyRequests

PATIENCE = 5  # seconds that one waits for its turn
_core = threading.BoundedSemaphore()


@contextmanager
def _turn() -> Iterator[None]:
    if not _core.acquire(blocking=False):
        # Those who wait keep no connection from those who work.
        if not connection.in_atomic_block:
            connection.close()
        if not _core.acquire(timeout=PATIENCE):
            raise TooManyRequests(
                "Too many people log in at this moment. Try again in a few seconds.", retry_after=PATIENCE
            )
    try:
        yield
    finally:
        _core.release()


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Its hashes are Django's: either reads those of the other."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with _turn():
            return super().encode(password, salt, iterations)
