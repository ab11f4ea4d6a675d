"""Collected figures of the base of a scenario, and their replay in a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import numpy as np

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.collected import Collected, Figure, held
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.parts import DAY, UseOf
from kschedweb.engine.values import dataclass

CARRIED = 900.0  # seconds for which a figure counts without a newer one
GAP = 4500.0  # seconds; longer than the steps of hourly rollups, which are not gaps
MOST_GAPS = 5  # gaps that are listed one by one


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """``collected`` figures, replayed from ``window`` seconds before ``now`` (seconds of the epoch).

    With ``window`` 0, figures of one time only. A longer run repeats the last whole days, so that times of day stay, or
    the whole window if that is shorter than a day.
    """

    collected: Collected
    now: float
    window: float

    def place(self, time: float) -> int:
        """The index of the newest collected time, ``time`` seconds into the run."""
        if self.window and time >= self.window:
            time = self.window - self.period + (time - self.window) % self.period
        begin = self.now - self.window
        return max(int(np.searchsorted(self.collected.times, begin + time, side="right")) - 1, 0)

    @property
    def period(self) -> float:
        """Seconds after which the figures repeat."""
        return self.window // DAY * DAY or self.window


def played(use: UseOf, found: Collected | None, now: float) -> Played:
    """The replay of figures ``found`` for a base of the time ``now``; raises PartError if ``use`` needs others."""
    if not use.seconds:
        if found is None:
            raise PartError("no watermarks are known of this base: collect them, or choose none or a trace", "from")
        return Played(found, now, 0.0)
    if found is None or len(found.times) < 2:
        text = "no history of use is known of this base: collect watermarks of its cluster for a while and start from a"
        raise PartError(f"{text} new snapshot, or choose none, watermarks or a trace", "from")
    first, last = found.times[[0, -1]].tolist()
    apart = float(np.median(np.diff(found.times)))
    if now - last > CARRIED + apart or last > now:
        said = f"the history of this base ends at {_moment(last)}, and its snapshot is of {_moment(now)}"
        raise PartError(f"{said}: start from a snapshot of the time in which figures were collected", "from")
    if first - (now - use.seconds) > CARRIED + apart:
        said = f"the history of this base begins at {_moment(first)}, {spoken(now - first)} before its snapshot"
        raise PartError(f"{said}: take a window of at most {spoken((now - first) // 60 * 60)}", "window")
    return Played(found.held(), now, use.seconds)


def notes(found: Collected, history: Played, until: float | None) -> Iterator[str]:
    """Notes on the figures ``found``: gaps, and a run that is longer than they are."""
    if history.window and until is None:
        yield f"use: the run ends when all is quiet; for the whole history let run.until be {spoken(history.window)}"
    elif history.window and until is not None and until > history.window:
        yield f"use: beyond {spoken(history.window)} the run goes through the last {spoken(history.period)} again"
    apart = np.diff(found.times)
    gaps = np.flatnonzero(apart > max(GAP, 1.5 * float(np.median(apart)))) if len(apart) else apart
    for place in gaps[:MOST_GAPS].astype(int).tolist():
        span, moment = spoken(float(apart[place])), _moment(float(found.times[place]))
        yield f"use: nothing was collected for {span} from {moment} on; the figures from before are held"
    if len(gaps) > MOST_GAPS:
        yield f"use: the same happened {len(gaps) - MOST_GAPS:,} further times"
    holes = {"node": _holes(found.nodes), "workload": _holes(found.workloads)}
    who = " and ".join(f"{count:,} {word}{'s' * (count > 1)}" for word, count in holes.items() if count)
    if who:
        yield f"use: figures of {who} are missing at times; those from before are held"


def spoken(seconds: float) -> str:
    """A duration such as ``24h``, ``1h30m`` or ``45s``."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return "".join(f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if number) or "0s"


def _holes(figures: Mapping[Figure, Floats]) -> int:
    """The number of objects with a figure that is missing after it was known."""
    found = [(np.isnan(values) & ~np.isnan(held(values))).any(axis=0) for values in figures.values()]
    return int(np.any(found, axis=0).sum()) if found else 0


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M} UTC"
