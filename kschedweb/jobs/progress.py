"""How long a step still takes, from the speed at which it has gone so far, and how far the bar of its job is."""

from __future__ import annotations

import math

SETTLES = 5.0  # seconds after which an older speed counts for little more than a third
EARLY = 1.0  # seconds in which a speed says nothing yet


STEP = 0.8  # of what is left of the bar that a step takes: nobody knows how many follow


class Bar:
    """How far a job of several steps is, from 0 to 1: never less than before, and never full before the job ends."""

    def __init__(self) -> None:
        self._from = self._reached = 0.0

    def begin_step(self) -> None:
        """A step begins where the one before it ended."""
        self._from = self._reached

    def reach(self, completed: int, total: int) -> float:
        share = min(completed / total, 1.0) if total else 0.0
        self._reached = max(self._reached, self._from + STEP * share * (1.0 - self._from))
        return self._reached


class Estimate:
    """Of one step. The speed is smoothed, so that what is left neither jumps nor keeps to a speed that is gone."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._seen, self._done = 0.0, 0
        self._speed: float | None = None

    def seconds_left(self, now: float, completed: int, total: int) -> float | None:
        """Seconds to ``total`` if ``completed`` is reached at ``now`` (of any clock); ``None``: nobody knows."""
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
