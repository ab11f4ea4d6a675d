"""The scalers of workloads, and the events that they bring to a simulation."""

from __future__ import annotations

from kschedweb.engine.controllers.autoscaling.cron import Cron
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler
from kschedweb.engine.simulation.events import SimulationEvent
from kschedweb.engine.simulation.scaling.fleet import WorkloadTemplate
from kschedweb.engine.simulation.scaling.load import Load
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Scaler:
    """A workload's autoscaler, or its cron entries."""

    kind: WorkloadTemplate
    autoscaler: Autoscaler | None = None
    # (expression, schedule, replicas)
    entries: tuple[tuple[str, Cron, int], ...] = ()
    # The load that its pods share; ``None`` for what its present pods would use.
    load: Load | None = None


@dataclass(frozen=True, slots=True)
class ScalerComes(SimulationEvent):
    """A scaler begins to scale a workload."""

    scaler: Scaler


@dataclass(frozen=True, slots=True)
class WorkloadScales(SimulationEvent):
    """Somebody scales by hand a workload that has a scaler."""

    workload: str
    replicas: int


@dataclass(frozen=True, slots=True)
class WorkloadLeaves(SimulationEvent):
    """Somebody deletes a workload that has a scaler, with its pods."""

    workload: str
