"""What other requests and limits would have done to containers in the recorded past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import Size
    from kschedweb.engine.state.columns import Floats


class Past(NamedTuple):
    """Of one container: hours in which its busiest pod used more than what it would request or be limited to.

    Above the new request CPU is had only where the node has some left; above the new limit it is throttled. Memory
    above the new limit is a kill: ``kills`` counts how often use went above it.
    """

    size: Size
    above_request: float
    throttled: float
    memory_above_request: float
    kills: int

    @property
    def harmed(self) -> bool:
        return self.throttled > 0 or self.kills > 0


def past(listed: Sequence[Size], cpu: tuple[Floats, Floats, int], memory: tuple[Floats, Floats, int]) -> list[Past]:
    """One entry for each of ``listed``; ``cpu`` (cores) and ``memory`` (bytes) are times, [times, listed], seconds."""
    (_, cores, step), (_, held, every) = cpu, memory
    requests, limits = _bounds([one.cpu.target for one in listed], [one.cpu.new_limit for one in listed], 1000.0)
    asked, most = _bounds([one.memory.target for one in listed], [one.memory.new_limit for one in listed], 1.0)
    over = hours(cores, requests, step), hours(cores, limits, step), hours(held, asked, every)
    killed = rises(held, most)
    return [
        Past(one, float(over[0][place]), float(over[1][place]), float(over[2][place]), int(killed[place]))
        for place, one in enumerate(listed)
    ]


def _bounds(requests: list[int], limits: list[int], unit: float) -> tuple[Floats, Floats]:
    most = np.array(limits, dtype=np.float64)
    return np.array(requests, dtype=np.float64) / unit, np.where(most > 0, most, np.inf) / unit


def hours(values: Floats, bound: Floats, step: int) -> Floats:
    """For how many hours ``values`` [times, n], each for ``step`` seconds, are above ``bound`` [n]."""
    found: Floats = (values > bound).sum(axis=0) * (step / 3600)
    return found


def rises(values: Floats, bound: Floats) -> Floats:
    """How often ``values`` went above ``bound``: a sample above it after one that was not; unknown ones are not."""
    above = values > bound
    before = np.vstack([np.zeros((1, above.shape[1]), bool), above[:-1]]) if len(above) else above
    found: Floats = (above & ~before).sum(axis=0)
    return found
