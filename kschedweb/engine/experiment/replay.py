"""One policy over one workload: the simulation, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.experiment.workload import HOUR, Workload
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.simulation import Settings, Simulation
from kschedweb.engine.simulation.measures import Balance, balance, skews
from kschedweb.engine.state.columns import Floats

Progress = Callable[[float], None]  # told the simulated seconds that have passed


@dataclass(frozen=True, slots=True, eq=False)
class ReplayResult:
    """``levels`` is the one-hour CPU watermark in percent after each interval: float64[intervals, nodes]."""

    balance: Balance
    interval: float
    levels: Floats
    pods: int
    placed: int
    tries_in_vain: int

    @property
    def skew(self) -> Floats:
        """Highest less lowest node after each interval, in points."""
        return skews(self.levels)

    def to_dict(self) -> dict[str, Any]:
        placed = {"pods": self.pods, "placed": self.placed, "triesInVain": self.tries_in_vain}
        return {**self.balance.to_dict(), **placed}


def replay(
    workload: Workload,
    configuration: Configuration,
    *,
    registry: Mapping[str, Factory] | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Let the pods of ``workload`` come and go under ``configuration``; ``registry`` is as for Scheduler.

    ``progress`` is called each simulated hour; what it raises ends the run. Raises SimulationError.
    """
    use = workload.use()
    settings = Settings(cycle=0.001, sample=HOUR, controllers=False)
    simulation = Simulation(workload.objects, configuration, workload.events, settings, registry=registry, use=use)
    with np.errstate(over="ignore"):  # amounts wrap around without a word, as they do in kube-scheduler
        for end in np.append(np.arange(HOUR, workload.seconds, HOUR), workload.seconds).tolist():
            simulation.run(end)
            if progress is not None:
                progress(end)
    result = simulation.result
    return ReplayResult(
        balance(use, workload.setup.since),
        workload.setup.interval,
        use.levels(),
        len(workload.events),
        len(result.bound),
        len(result.rejected),
    )
