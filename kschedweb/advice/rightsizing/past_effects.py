"""Estimate what other requests and limits would have done to containers in the recorded past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import ContainerSize
    from kschedweb.engine.state.columns import Floats


class SizePast(NamedTuple):
    """The past of one container under its recommended size.

    Above the new request, CPU is available only if the node has some left; above the new limit it is throttled. Memory
    above the new limit means a kill.
    """

    size: ContainerSize
    # Hours in which the busiest pod used more CPU than the new request, and than the new limit.
    above_request: float
    throttled: float
    # Hours in which it used more memory than the new request.
    memory_above_request: float
    # How often its memory rose above the new limit.
    kills: int

    @property
    def is_harmed(self) -> bool:
        return self.throttled > 0 or self.kills > 0


def estimate_past(
    listed: Sequence[ContainerSize], cpu: tuple[Floats, Floats, int], memory: tuple[Floats, Floats, int]
) -> list[SizePast]:
    """Return an entry per container; ``cpu`` (cores) and ``memory`` (bytes) are times, [times, listed], step."""
    (_, cores, step), (_, memory_use, memory_step) = cpu, memory
    requests, limits = _scale_bounds(
        [size.cpu.target for size in listed], [size.cpu.new_limit for size in listed], 1000.0
    )
    memory_requests, memory_limits = _scale_bounds(
        [size.memory.target for size in listed], [size.memory.new_limit for size in listed], 1.0
    )
    hours_over = (
        hours_above(cores, requests, step),
        hours_above(cores, limits, step),
        hours_above(memory_use, memory_requests, memory_step),
    )
    killed = count_rises(memory_use, memory_limits)
    return [
        SizePast(
            size,
            float(hours_over[0][place]),
            float(hours_over[1][place]),
            float(hours_over[2][place]),
            int(killed[place]),
        )
        for place, size in enumerate(listed)
    ]


def _scale_bounds(requests: list[int], limits: list[int], unit: float) -> tuple[Floats, Floats]:
    upper = np.array(limits, dtype=np.float64)
    # No limit is an infinite one.
    return np.array(requests, dtype=np.float64) / unit, np.where(upper > 0, upper, np.inf) / unit


def hours_above(values: Floats, bound: Floats, step: int) -> Floats:
    """Return the hours in which ``values`` [times, n], each for ``step`` seconds, are above ``bound`` [n]."""
    hours: Floats = (values > bound).sum(axis=0) * (step / 3600)
    return hours


def count_rises(values: Floats, bound: Floats) -> Floats:
    """Count how often ``values`` rose above ``bound``: a sample above it after one that was not, or was unknown."""
    above = values > bound
    before = np.vstack([np.zeros((1, above.shape[1]), bool), above[:-1]]) if len(above) else above
    counts: Floats = (above & ~before).sum(axis=0)
    return counts
