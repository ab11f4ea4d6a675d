"""Replay figures that were collected of a scenario's base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import numpy as np

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks, Figure, fill_gaps
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.parts import DAY, UsageSource
from kschedweb.engine.values import dataclass

# Seconds for which a figure counts without a newer one.
CARRIED = 900.0
# Seconds without figures that are a gap. Longer than the hour between rollups of old figures.
GAP = 4500.0
# Gaps that get a note of their own; the others are counted.
MOST_GAPS = 5


@dataclass(frozen=True, slots=True, eq=False)
class UseReplay:
    """Collected figures that are replayed during a run.

    A run that is longer than the window repeats its last whole days, so that times of day stay, or the whole window if
    that is shorter than a day.
    """

    # The figures by time.
    collected: CollectedWatermarks
    # Time of the base, where the window ends, in seconds of the epoch.
    now: float
    # Seconds of history before `now` that are replayed; with 0, figures of one time hold for the whole run.
    window: float

    def index_at(self, time: float) -> int:
        """Return the index of the newest collected time, ``time`` seconds into the run."""
        if self.window and time >= self.window:
            time = self.window - self.period + (time - self.window) % self.period
        begin = self.now - self.window
        return max(int(np.searchsorted(self.collected.times, begin + time, side="right")) - 1, 0)

    @property
    def period(self) -> float:
        """Seconds after which the figures repeat."""
        return self.window // DAY * DAY or self.window


def create_replay(use: UsageSource, collected: CollectedWatermarks | None, now: float) -> UseReplay:
    """Return the replay of ``collected`` figures for a base of the time ``now``.

    Raise PartError if ``use`` needs other figures.
    """
    if not use.history_seconds:
        if collected is None:
            raise PartError("no watermarks are known of this base: collect them, or choose none or a trace", "from")
        return UseReplay(collected, now, 0.0)
    if collected is None or len(collected.times) < 2:
        text = "no history of use is known of this base: collect watermarks of its cluster for a while and start from a"
        raise PartError(f"{text} new snapshot, or choose none, watermarks or a trace", "from")
    first, last = collected.times[[0, -1]].tolist()
    interval = float(np.median(np.diff(collected.times)))
    if now - last > CARRIED + interval or last > now:
        message = f"the history of this base ends at {_format_time(last)}, and its snapshot is of {_format_time(now)}"
        raise PartError(f"{message}: start from a snapshot of the time in which figures were collected", "from")
    if first - (now - use.history_seconds) > CARRIED + interval:
        earlier = format_duration(now - first)
        message = f"the history of this base begins at {_format_time(first)}, {earlier} before its snapshot"
        raise PartError(f"{message}: take a window of at most {format_duration((now - first) // 60 * 60)}", "window")
    return UseReplay(collected.fill_gaps(), now, use.history_seconds)


def list_notes(collected: CollectedWatermarks, history: UseReplay, end: float | None) -> Iterator[str]:
    """Yield notes on ``collected`` figures: gaps, and a run that is longer than they reach."""
    if history.window and end is None:
        window = format_duration(history.window)
        yield f"use: the run ends when all is quiet; for the whole history let run.until be {window}"
    elif history.window and end is not None and end > history.window:
        window, period = format_duration(history.window), format_duration(history.period)
        yield f"use: beyond {window} the run goes through the last {period} again"
    intervals = np.diff(collected.times)
    gaps = np.flatnonzero(intervals > max(GAP, 1.5 * float(np.median(intervals)))) if len(intervals) else intervals
    for place in gaps[:MOST_GAPS].astype(int).tolist():
        span, moment = format_duration(float(intervals[place])), _format_time(float(collected.times[place]))
        yield f"use: nothing was collected for {span} from {moment} on; the figures from before are held"
    if len(gaps) > MOST_GAPS:
        yield f"use: the same happened {len(gaps) - MOST_GAPS:,} further times"
    holes = {"node": _count_holes(collected.nodes), "workload": _count_holes(collected.workloads)}
    subjects = " and ".join(f"{count:,} {word}{'s' * (count > 1)}" for word, count in holes.items() if count)
    if subjects:
        yield f"use: figures of {subjects} are missing at times; those from before are held"


def format_duration(seconds: float) -> str:
    """Format a duration, such as ``24h``, ``1h30m`` or ``45s``."""
    hours, remainder = divmod(round(seconds), 3600)
    minutes, rest_seconds = divmod(remainder, 60)
    return (
        "".join(f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (rest_seconds, "s")) if number)
        or "0s"
    )


def _count_holes(figures: Mapping[Figure, Floats]) -> int:
    """Return the number of objects with a figure that is missing after it was known."""
    missing = [(np.isnan(values) & ~np.isnan(fill_gaps(values))).any(axis=0) for values in figures.values()]
    return int(np.any(missing, axis=0).sum()) if missing else 0


def _format_time(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M} UTC"
