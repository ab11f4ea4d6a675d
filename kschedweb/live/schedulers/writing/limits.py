"""The rate limit of a client: a token bucket, as in client-go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# kube-scheduler's default clientConnection: calls per second, and calls at once.
QPS, BURST = 50.0, 100


class TokenBucket:
    """A limit of ``burst`` calls at once and ``qps`` calls per second in the long run, first come, first served.

    ``clock`` gives seconds that never go back. Raises ValueError for a limit that no call could ever pass.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("A limit needs more than 0 calls a second and a burst of at least 1 call.")
        self._qps, self._burst, self._clock = qps, float(burst), clock
        self._lock = threading.Lock()
        self._tokens, self._at = float(burst), clock()

    def take_token(self) -> float:
        """Take a token, perhaps a future one. Return the seconds to wait before using it."""
        with self._lock:
            now = self._clock()
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps)
            self._at = now
            # The balance may be negative: later callers wait longer, in the order in which they came.
            self._tokens -= 1.0
            return max(0.0, -self._tokens / self._qps)

    def wait_turn(self, stop: threading.Event) -> bool:
        """Wait for a token. Return False if ``stop`` was set first."""
        seconds = self.take_token()
        return not stop.is_set() if seconds <= 0 else not stop.wait(seconds)
