"""The figures of a live run: pods per second, latencies, their course over the last minutes, the last error."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.engine.live import QueueDepths

# Seconds over which the rate is averaged.
RATE_OVER = 10.0
# Latencies of which the quantiles are computed: the last ones.
LATENCIES = 1000
# Seconds between entries of the history, and entries that are held: a quarter of an hour.
HISTORY_EVERY, HISTORY = 5.0, 180


class RunFigures:
    """Figures written by the run's own thread and read by its host."""

    def __init__(self) -> None:
        self.bound = 0
        self.error, self.error_at = "", 0.0
        self.history: deque[list[float | None]] = deque(maxlen=HISTORY)
        self._bound_at: deque[float] = deque(maxlen=100_000)
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._answers: deque[float] = deque(maxlen=LATENCIES)
        self._lock = threading.Lock()

    def pod_bound(self, latency: float | None, now: float, waited: float | None = None) -> None:
        """Count a bound pod. ``latency`` excludes the seconds ``waited`` for people, None if none were asked."""
        with self._lock:
            self.bound += 1
            self._bound_at.append(now)
            if latency is not None:
                self._latencies.append(latency)
            if waited is not None:
                self._answers.append(waited)

    def note_failure(self, error: str, now: float) -> None:
        self.error, self.error_at = error[:500], now

    def rate(self, now: float) -> float:
        """Return the pods bound per second over the last seconds."""
        with self._lock:
            while self._bound_at and self._bound_at[0] < now - RATE_OVER:
                self._bound_at.popleft()
            return len(self._bound_at) / RATE_OVER

    def latency(self) -> dict[str, float]:
        """Return quantiles of the seconds from creation to binding; waits for people count apart, as ``people``."""
        with self._lock:
            latencies, answers = sorted(self._latencies), sorted(self._answers)
        figures = {"p50": quantile(latencies, 0.5), "p99": quantile(latencies, 0.99)} if latencies else {}
        return figures | ({"people": quantile(answers, 0.5)} if answers else {})

    def remember_figures(self, depths: QueueDepths, now: float) -> None:
        """Add the present figures to the history, every few seconds."""
        if self.history and now - (self.history[-1][0] or 0.0) < HISTORY_EVERY:
            return
        queues = (depths.active, depths.backoff, depths.unschedulable, depths.gated, depths.waiting)
        self.history.append([round(now, 1), *queues, self.rate(now), self.latency().get("p50")])


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile ``share`` of the ``ordered`` values, which is always one of them."""
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)


def depths_of(depths: QueueDepths) -> dict[str, int]:
    """Return the depths as plain data, by name."""
    return {name: getattr(depths, name) for name in depths.__slots__}
