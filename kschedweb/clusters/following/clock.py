"""The time of a live run."""

from __future__ import annotations

import time


class SteadyClock:
    """Seconds of the epoch that never go back: the system's clock when it was made, and steady time since then."""

    def __init__(self) -> None:
        self._base = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._base + time.monotonic()
