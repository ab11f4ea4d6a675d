"""Estimates how long a step still takes, from its speed so far, and how full the bar of its job is."""

from __future__ import annotations

import math

# Seconds after which an older speed counts for little more than a third (1/e).
SETTLES = 5.0
# Seconds in which a speed says nothing yet.
EARLY = 1.0


# The share of the rest of the bar that a step takes, since nobody knows how many steps follow.
STEP = 0.8


class Bar:
    """The progress of a job of several steps, from 0 to 1. It never falls, and is never full before the job ends."""

    def __init__(self) -> None:
        self._from = self._reached = 0.0

    def begin_step(self) -> None:
        """Begin a step where the one before it ended."""
        self._from = self._reached

    def reach(self, completed: int, total: int) -> float:
        share = min(completed / total, 1.0) if total else 0.0
        self._reached = max(self._reached, self._from + STEP * share * (1.0 - self._from))
        return self._reached


class Estimate:
    """The estimate of one step. The speed is smoothed, so that the rest neither jumps nor sticks to an old speed."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._seen, self._done = 0.0, 0
        self._speed: float | None = None

    def seconds_left(self, now: float, completed: int, total: int) -> float | None:
        """Return the seconds to ``total`` if ``completed`` is reached at ``now`` (of any clock); ``None`` if
        unknown.
        """
        if self._begun is None or completed < self._done:
            self._begun, self._seen, self._done, self._speed = now, now, completed, None
            return None
        passed = now - self._seen
        if passed > 0.0:
            speed = (completed - self._done) / passed
            decay = 0.0 if self._speed is None else math.exp(-passed / SETTLES)
            self._speed = decay * (self._speed or 0.0) + (1.0 - decay) * speed
            self._seen, self._done = now, completed
        if not self._speed or total <= 0 or now - self._begun < EARLY:
            return None
        return max(total - completed, 0) / self._speed
