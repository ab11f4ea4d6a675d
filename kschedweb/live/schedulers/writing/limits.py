"""The rate limit of a client: the token bucket of client-go's clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

QPS, BURST = 50.0, 100  # kube-scheduler's default clientConnection


class TokenBucket:
    """``burst`` calls at once, ``qps`` calls a second in the long run, in the order they are asked for.

    ``clock`` gives seconds that never go back. Raises ValueError where nothing could ever pass.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError("A limit needs more than 0 calls a second and a burst of at least 1 call.")
        self._qps, self._burst, self._clock = qps, float(burst), clock
        self._lock = threading.Lock()
        self._tokens, self._at = float(burst), clock()

    def take_token(self) -> float:
        """Take a token, perhaps a future one; returns how many seconds to wait before using it."""
        with self._lock:
            now = self._clock()
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps)
            self._at = now
            self._tokens -= 1.0
            return max(0.0, -self._tokens / self._qps)

    def wait_turn(self, stop: threading.Event) -> bool:
        """Wait for a token; false if ``stop`` was set first."""
        seconds = self.take_token()
        return not stop.is_set() if seconds <= 0 else not stop.wait(seconds)
