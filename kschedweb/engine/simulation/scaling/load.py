"""The load of a workload: what all of its pods together would use, in cores."""

from __future__ import annotations

import math
from bisect import bisect_right

from kschedweb.engine.values import dataclass

DAY = 86400.0


def daily_swing(peak: float, low: float, time: float) -> float:
    """The share of the highest at ``time``: 1 at ``peak`` (seconds after midnight), ``low`` twelve hours away."""
    return low + (1.0 - low) * (1.0 + math.cos((time - peak) * (2.0 * math.pi / DAY))) / 2.0


@dataclass(frozen=True, slots=True)
class Load:
    """``cores`` hold from ``times`` (seconds, ascending) on; each day they swing down to the share ``low``."""

    times: tuple[float, ...]
    cores: tuple[float, ...]
    low: float = 1.0
    peak: float = 0.0

    def cores_at(self, time: float) -> float:
        """Cores at ``time``; none before the first of the times."""
        place = bisect_right(self.times, time) - 1
        return self.cores[place] * daily_swing(self.peak, self.low, time) if place >= 0 else 0.0


@dataclass(frozen=True, slots=True)
class Share:
    """What the pods of a workload use: ``load`` together, or what ``pods`` of its pods would use.

    A pod uses at most ``max_cores`` cores.
    """

    load: Load | None
    pods: int
    max_cores: float = math.inf
