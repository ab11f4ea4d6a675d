"""The sandbox's own time: it follows real time as the object Clock says, and goes on after a restart."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.clock_validation import NAME, SLOWEST, clock_problems
from kschedweb.engine.sandbox.resources import CLOCK
from kschedweb.engine.sandbox.store import StoreChange
from kschedweb.engine.values import dataclass

# Real seconds.
SAVED_EVERY = 10.0
# Real seconds that count at most between two looks: a stopped process has no past to make up for.
LONGEST_GAP = 30.0


@dataclass(frozen=True, slots=True)
class ClockPace:
    """A pace of the sandbox's time. Times are seconds of the epoch."""

    # Real time from which on it holds.
    at: float
    # The sandbox's time at that moment.
    time: float
    # Seconds of the sandbox in a real second; 0 while time stands still.
    speed: float

    def time_at(self, now: float) -> float:
        return self.time + max(0.0, now - self.at) * self.speed

    def real_time_at(self, time: float) -> float:
        """Return the real time at which the sandbox's time is ``time``; infinite if it never is."""
        if time <= self.time:
            return self.at
        return self.at + (time - self.time) / self.speed if self.speed else math.inf


class Clock:
    """Follows the object Clock. Without one, time passes as fast as real time."""

    def __init__(self, objects: ApiObjects) -> None:
        self._objects = objects
        now = objects.clock()
        raw = self._clock_object
        self.pace = ClockPace(now, now, SLOWEST) if raw is None else _restore_pace(raw, now)
        self._looked = self._saved = now
        if raw is not None and not (raw.get("status") or {}).get("time"):
            # A Clock without a time in its status has never been saved: it is due at once.
            self._saved = -math.inf

    @property
    def _clock_object(self) -> Json | None:
        return self._objects.store.get(CLOCK, "", NAME)

    @property
    def happenings_enabled(self) -> bool:
        """True if things happen by themselves."""
        return (self._clock_object or {}).get("spec", {}).get("happenings", True) is not False

    def on_change(self, change: StoreChange) -> None:
        """Follow a changed pace from now on."""
        if change.resource is not CLOCK or change.key[1] != NAME:
            return
        speed = SLOWEST if change.new is None else _read_speed(change.new)
        if speed != self.pace.speed or change.old is None:
            now = self._objects.clock()
            self.pace = ClockPace(now, self.pace.time_at(now), speed)
            self._saved = -math.inf

    def advance_to(self, now: float) -> float:
        """Return the sandbox's time at ``now``; call it again by ``next_save``."""
        gap = now - self._looked
        if gap > LONGEST_GAP:
            self.pace = ClockPace(now, self.pace.time_at(self._looked + LONGEST_GAP), self.pace.speed)
        self._looked = now
        return self.pace.time_at(now)

    @property
    def next_save(self) -> float:
        """The real time at which to save the sandbox's time; infinite while it stands still."""
        unsaved = self._saved == -math.inf
        return self._saved + SAVED_EVERY if self.pace.speed or unsaved else math.inf

    def save_time(self, now: float) -> None:
        """Save the time that a restart goes on from."""
        raw = self._clock_object
        self._saved = now
        if raw is not None:
            status = {
                "time": micro_time(self.pace.time_at(now)),
                "observedAt": micro_time(now),
                "speed": self.pace.speed,
                "observedGeneration": raw["metadata"].get("generation", 1),
            }
            self._objects.change_object(CLOCK, raw, status={**(raw.get("status") or {}), **status})


def micro_time(at: float) -> str:
    """Format seconds of the epoch as metav1.MicroTime."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: Any) -> float | None:
    """Read what ``micro_time`` writes, and times without a fraction; returns ``None`` for anything else."""
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def _read_speed(raw: Json) -> float:
    spec = raw.get("spec") or {}
    if any(clock_problems(raw)):
        return SLOWEST
    return 0.0 if spec.get("paused") else float(spec.get("speed", SLOWEST))


def _restore_pace(raw: Json, now: float) -> ClockPace:
    """Go on from the saved time, with the time that may have passed since it was saved.

    Time did not pass while the process was stopped.
    """
    status = raw.get("status") or {}
    time, at = parse_time(status.get("time")), parse_time(status.get("observedAt"))
    if time is None or at is None:
        return ClockPace(now, now, _read_speed(raw))
    unsaved = min(max(0.0, now - at), SAVED_EVERY) * float(status.get("speed") or 0.0)
    return ClockPace(now, time + unsaved, _read_speed(raw))
