"""Stops work that takes longer than whoever asked for it waits, at its next checkpoint.

The engine passes a checkpoint before each piece of work that may take long, where all that it keeps for later is whole.
A command line and a live scheduler set no limit: they wait for as long as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from threading import Condition, RLock
from time import monotonic

LOOK_EVERY = 0.25  # seconds after which one that waits for others looks at its own limits


class WorkStopped(Exception):
    """The work ended at a checkpoint."""


class DeadlineExceeded(WorkStopped):
    """It takes longer than whoever asked waits."""


class WorkAbandoned(WorkStopped):
    """Nobody waits for it any more."""


class Patience:
    """Time limit of a caller: ``seconds`` from when their work begins, or until they leave."""

    def __init__(self, seconds: float = inf, error: type[Exception] = WorkAbandoned) -> None:
        self._seconds, self._until, self._left, self._error = seconds, inf, False, error

    def start(self) -> None:
        """Count from now on."""
        self._until = monotonic() + self._seconds

    def abandon(self) -> None:
        """Have the work raise the error for those who left; any thread may call it."""
        self._left = True

    def check(self) -> None:
        """Raise the error for those who left, or NotNow once the time is over."""
        if self._left:
            raise self._error
        if monotonic() > self._until:
            raise DeadlineExceeded


_limits: ContextVar[tuple[Patience, ...]] = ContextVar("limits", default=())


@contextmanager
def limit_by(patience: Patience) -> Iterator[None]:
    """Have checkpoints look at ``patience`` meanwhile, beside the limits that are set already."""
    patience.start()
    token = _limits.set((*_limits.get(), patience))
    try:
        yield
    finally:
        _limits.reset(token)


def checkpoint() -> None:
    """Raise Stopped where nobody waits for what is being worked out."""
    for patience in _limits.get():
        patience.check()


@contextmanager
def hold_lock(lock: RLock) -> Iterator[None]:
    """Hold ``lock``; raises Stopped where it is not to be had for as long as somebody waits."""
    while not lock.acquire(timeout=LOOK_EVERY):
        checkpoint()
    try:
        yield
    finally:
        lock.release()


def wait_for(condition: Condition, predicate: Callable[[], bool]) -> None:
    """Wait until ``predicate``; raises Stopped where that takes longer than somebody waits."""
    while not condition.wait_for(predicate, LOOK_EVERY):
        checkpoint()
