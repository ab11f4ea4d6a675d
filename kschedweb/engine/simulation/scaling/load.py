"""The load of a workload: the cores that all of its pods together would use."""

from __future__ import annotations

import math
from bisect import bisect_right

from kschedweb.engine.values import dataclass

DAY = 86400.0


def daily_swing(peak: float, low: float, time: float) -> float:
    """Return the share of the highest load at ``time``.

    It is 1 at ``peak`` (seconds after midnight), and ``low`` twelve hours away.
    """
    return low + (1.0 - low) * (1.0 + math.cos((time - peak) * (2.0 * math.pi / DAY))) / 2.0


@dataclass(frozen=True, slots=True)
class Load:
    """A load over time."""

    # Seconds, ascending: from each on the load has the cores at the same position.
    times: tuple[float, ...]
    cores: tuple[float, ...]
    # The share to which the load swings down each day.
    low: float = 1.0
    # Time of the highest load, in seconds after midnight.
    peak: float = 0.0

    def cores_at(self, time: float) -> float:
        """Return the cores at ``time``; none before the first of the times."""
        place = bisect_right(self.times, time) - 1
        return self.cores[place] * daily_swing(self.peak, self.low, time) if place >= 0 else 0.0


@dataclass(frozen=True, slots=True)
class Share:
    """The load that the pods of a workload share."""

    # Their load together; ``None`` for what ``pods`` of its pods would use.
    load: Load | None
    pods: int
    # The most that one pod uses.
    max_cores: float = math.inf
