"""Hashes passwords as Django does, but one at a time in a process.

A hash takes a core for a third of a second. Strangers may ask for as many as they like, and must not take every core.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth import hashers
from django.db import connection

from kschedweb.web.errors import TooManyRequests

# Seconds to wait for a turn.
PATIENCE = 5
# Requests that may wait: each keeps one of the threads that answer pages.
WAITING = 2
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
    """Wait for the turn. Returns whether it came in time."""
    if not _queue.acquire(blocking=False):
        return False
    try:
        if not connection.in_atomic_block:
            # A waiting request must not keep a connection from those that work.
            connection.close()
        return _core.acquire(timeout=PATIENCE)
    finally:
        _queue.release()


class PBKDF2PasswordHasher(hashers.PBKDF2PasswordHasher):
    """Django's hasher, limited to one hash at a time. The hashes are the same."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with _hashing_turn():
            return super().encode(password, salt, iterations)
