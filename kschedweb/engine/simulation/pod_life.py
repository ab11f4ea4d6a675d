"""A pod of a simulation, from its arrival until it is gone."""

from __future__ import annotations

from enum import IntEnum

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass


class Departure(IntEnum):
    """The reason why a pod left its node."""

    # It ended by itself, or was deleted.
    ENDED = 1
    EVICTED = 2
    # It made room for another pod.
    PREEMPTED = 3
    NODE_GONE = 4
    # Its kubelet let it fail.
    FAILED = 5
    # It was collected, since its node never existed.
    COLLECTED = 6


@dataclass(slots=True, eq=False)
class PodLife:
    """A pod in time. Times are seconds."""

    # The pod as it arrived.
    template: Pod
    # The pod as it is now.
    pod: Pod
    arrived: float
    # Seconds from its binding to its end; ``None`` for no end.
    duration: float | None = None
    # True if a controller replaces it when it is evicted.
    replaced: bool = False
    bound: float | None = None
    # When it leaves its node; set once it is terminating.
    leaves: float | None = None
    attempts: int = 0
    # The last thing that was said about it, as by the scheduler.
    message: str = ""
    # Number of pods that took its place before, one after the other.
    heirs: int = 0
    # The reason of its departure, once it is terminating.
    why: Departure = Departure.ENDED
    # The same in words.
    because: str = ""
    # When it is ready, if that is not when it was bound.
    ready: float | None = None

    @property
    def remaining_seconds(self) -> float | None:
        """The seconds for which it would still run when it leaves."""
        if self.duration is None or self.bound is None or self.leaves is None:
            return self.duration
        return max(0.0, self.duration - (self.leaves - self.bound))
