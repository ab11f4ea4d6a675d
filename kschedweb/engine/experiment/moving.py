"""Move pods while a recording is replayed: the planner of moves runs again and again with what is known by then."""

from __future__ import annotations

import math
from dataclasses import field

from kschedweb.engine.config import Configuration
from kschedweb.engine.planning.evictable import Evictable
from kschedweb.engine.planning.plan import plan_moves
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.simulation import Simulation
from kschedweb.engine.values import dataclass

HOUR = 3600.0
# Seconds from one plan to the next: as often as nodes are measured.
DEFAULT_INTERVAL = 300.0
REASON = "planned move"


class MovingError(ValueError):
    """Moves that cannot be made; the message says which value is wrong, and why."""


@dataclass(frozen=True, slots=True)
class Moving:
    """Settings of moves. The objective is a small skew."""

    # Percent of the running pods that are moved in any hour at most.
    percent: float
    # Seconds from one plan to the next.
    interval: float = DEFAULT_INTERVAL
    # Points of skew that are good enough.
    at_most: float = 0.0

    def check_interval(self, interval: float) -> None:
        """Raise MovingError if the settings do not fit nodes that are measured each ``interval`` seconds."""
        if not 0.0 <= self.percent <= 100.0:
            raise MovingError("--moves-an-hour: must be from 0 to 100 percent")
        if not self.interval >= interval or self.interval % interval:
            raise MovingError(f"--moves-every: must be a multiple of the {interval:g} s after which nodes are measured")


@dataclass(slots=True)
class Mover:
    """Move pods of a simulation."""

    moving: Moving
    configuration: Configuration
    # Seconds of all moves so far.
    times: list[float] = field(default_factory=list)
    # Time and target of the last planned move of each pod.
    planned: dict[str, tuple[float, str]] = field(default_factory=dict)
    _rules: Evictable | None = None

    def plan_and_evict(self, simulation: Simulation) -> None:
        """Plan with what is known now, and evict the pods of the first wave."""
        now, loop = simulation.now, simulation.loop
        if self._rules is None:
            self._rules = Evictable(loop.scheduler.frameworks)
        allowed = self.count_allowed(simulation)
        if allowed <= 0:
            return
        snapshot = simulation.world.snapshot
        snapshot.now = now
        move_plan = plan_moves(
            snapshot,
            self.configuration,
            Skew(self.moving.at_most, by_pods=True),
            max_moves=allowed,
            start=loop.scheduler.start,
            rules=self._rules,
        )
        # Later waves depend on where the first one lands, so they are planned again.
        for move in move_plan.waves[0] if move_plan.waves else ():
            simulation.schedule_eviction(move.pod, REASON)
            self.times.append(now)
            self.planned[move.pod] = now, move.target

    def count_allowed(self, simulation: Simulation) -> int:
        """Return the number of pods that may be moved now."""
        running = sum(life.bound is not None and life.leaves is None for life in simulation.pods.lives.values())
        recent = sum(time > simulation.now - HOUR for time in self.times)
        return math.floor(self.moving.percent / 100.0 * running) - recent
