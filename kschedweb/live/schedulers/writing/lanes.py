"""Threads that share work first come, first served. Work on one key is done in order, never at the same time."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

logger = structlog.get_logger(__name__)

Work = Callable[[], None]


class Lanes:
    """A pool of ``count`` threads. A failure is logged, and the next work is done."""

    def __init__(self, count: int, name: str) -> None:
        # Keys that wait for a thread, each at most once.
        self._turns: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        # The work of each key that waits for a thread or has one.
        self._work: dict[str, deque[Work]] = {}
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def put(self, key: str, work: Work) -> None:
        """Do ``work`` after all work that was put under ``key`` before."""
        with self._lock:
            if (waiting := self._work.get(key)) is not None:
                waiting.append(work)
                return
            self._work[key] = deque((work,))
        self._turns.put(key)

    @property
    def waiting(self) -> int:
        """Return about how many keys wait for a thread."""
        return self._turns.qsize()

    def stop(self, seconds: float) -> None:
        """Finish the work at the head of each key for at most ``seconds``; later work of the same keys is dropped."""
        deadline = time.monotonic() + seconds
        for _ in self._threads:
            self._turns.put(None)
        for thread in self._threads:
            if thread.ident:
                thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        while (key := self._turns.get()) is not None:
            with self._lock:
                work = self._work[key][0]
            try:
                work()
            except Exception:
                logger.exception("live_write_failed")
            with self._lock:
                self._work[key].popleft()
                more = bool(self._work[key])
                if not more:
                    del self._work[key]
            # The key queues up again behind the others, so that one busy pod does not hold a thread.
            if more:
                self._turns.put(key)
