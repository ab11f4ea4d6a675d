"""Heavy pages take turns: a few are worked on at once in a process, and the others wait in the order they came.

Without turns each thread that computes slows all the others, ordinary pages included, and who comes next at a lock is
left to chance: of twenty people who ask at once some would wait for very long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Event, Lock
from typing import ParamSpec, TypeVar

from kschedweb.jobs.inquiries import connection_released

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Turns:
    """Lets ``at_once`` threads through, the others first come, first served."""

    def __init__(self, at_once: int) -> None:
        self._lock = Lock()
        self._free = at_once
        self._queue: deque[Event] = deque()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and pass it on afterwards."""
        self._take()
        try:
            yield
        finally:
            self._pass_on()

    def _take(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            called = Event()
            self._queue.append(called)
        connection_released()
        called.wait()

    def _pass_on(self) -> None:
        with self._lock:
            # A turn goes straight to the next in the queue, so that nobody who comes just now is quicker.
            if self._queue:
                self._queue.popleft().set()
            else:
                self._free += 1


# While one computes another one may wait for the database.
heavy = Turns(2)


def in_turn(view: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorate a view that computes much, before all else: who waits holds no connection to the database."""

    @wraps(view)
    def waiting(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        with heavy.taken():
            return view(*args, **kwargs)

    return waiting
