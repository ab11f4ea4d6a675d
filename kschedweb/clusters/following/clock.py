"""The time of a live run."""

from __future__ import annotations

import time


class SteadyClock:
    """A clock in seconds of the epoch that never goes back: the system's time at creation, plus monotonic time since
    then.
    """

    def __init__(self) -> None:
        self._base = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._base + time.monotonic()
