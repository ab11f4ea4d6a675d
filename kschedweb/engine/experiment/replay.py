"""Run one policy over one workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.experiment.moving import Mover, Moving
from kschedweb.engine.experiment.workload import HOUR, ExperimentWorkload
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import Simulation, SimulationSettings, list_standard_actors
from kschedweb.engine.simulation.use_balance import UseBalance, compute_skews, measure_balance
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

# Gets the simulated seconds that have passed.
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class ReplayResult:
    """The result of a replay."""

    balance: UseBalance
    # Seconds from one measurement to the next.
    interval: float
    # One-hour CPU watermark in percent after each interval: float64[intervals, nodes].
    levels: Floats
    # Pods, those of them that were placed, and failed tries.
    pods: int
    placed: int
    tries_in_vain: int
    # Seconds of moves; None if no pods were to be moved.
    moves: list[float] | None = None

    @property
    def skew(self) -> Floats:
        """Highest less lowest node after each interval, in points."""
        return compute_skews(self.levels)

    def to_dict(self) -> Json:
        placed = {"pods": self.pods, "placed": self.placed, "triesInVain": self.tries_in_vain}
        moved = {"moves": len(self.moves)} if self.moves is not None else {}
        return {**self.balance.to_dict(), **placed, **moved}


def replay_workload(
    workload: ExperimentWorkload,
    configuration: Configuration,
    *,
    registry: Mapping[str, PluginFactory] | None = None,
    progress: Progress | None = None,
    moving: Moving | None = None,
) -> ReplayResult:
    """Let the pods of ``workload`` come and go under ``configuration``; ``registry`` is as for Scheduler.

    ``progress`` is called each simulated hour, and may raise to end the run. With ``moving``, pods are moved meanwhile.
    Raise SimulationError.
    """
    use = workload.create_use()
    mover = Mover(moving, configuration) if moving is not None and moving.percent else None
    settings = SimulationSettings(cycle=0.001, sample=HOUR, controllers=False)
    # A controller replaces a pod that is moved.
    events = [replace(event, replaced=True) for event in workload.events] if mover else workload.events
    simulation = Simulation(
        workload.objects, configuration, events, settings, list_standard_actors(use), registry=registry
    )
    # Amounts wrap around silently, as int64 does in kube-scheduler.
    with np.errstate(over="ignore"):
        for end in _list_stops(workload.seconds, HOUR if mover is None else mover.moving.interval):
            simulation.run(end)
            if mover is not None:
                mover.plan_and_evict(simulation)
            if progress is not None and (end % HOUR == 0.0 or end == workload.seconds):
                progress(end)
    result = simulation.result
    return ReplayResult(
        measure_balance(use, workload.setup.since),
        workload.setup.interval,
        use.compute_levels(),
        len(workload.events),
        len(result.bound),
        len(result.rejected),
        mover.times if mover is not None else None if moving is None else [],
    )


def _list_stops(seconds: float, interval: float) -> list[float]:
    """Return each multiple of ``interval`` before the end, and the end."""
    stops: list[float] = np.append(np.arange(interval, seconds, interval), seconds).tolist()
    return stops
