"""A pod of a simulation, from when it arrives to when it is gone."""

from __future__ import annotations

from enum import IntEnum

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass


class Departure(IntEnum):
    """Why a pod left its node: it ended or was deleted, was evicted, made room for another, or lost its node.

    Or its kubelet let it fail, or it was collected, since its node never was there.
    """

    ENDED = 1
    EVICTED = 2
    PREEMPTED = 3
    NODE_GONE = 4
    FAILED = 5
    COLLECTED = 6


@dataclass(slots=True, eq=False)
class Life:
    """``template`` is the pod as it arrived, ``pod`` as it is now. ``leaves`` is set once it is terminating."""

    template: Pod
    pod: Pod
    arrived: float
    duration: float | None = None
    replaced: bool = False
    bound: float | None = None
    leaves: float | None = None
    attempts: int = 0
    message: str = ""
    heirs: int = 0  # how many pods took its place before, one after the other
    why: Departure = Departure.ENDED  # of its departure, once it is terminating
    because: str = ""
    ready: float | None = None  # when it is ready, if that is not when it was bound

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds that it would still run, at the time it leaves."""
        if self.duration is None or self.bound is None or self.leaves is None:
            return self.duration
        return max(0.0, self.duration - (self.leaves - self.bound))
