"""A cluster and its scheduler over time, on a virtual clock."""

from kschedweb.engine.simulation.events import (
    Event,
    NodeChanges,
    NodeConditions,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PermitAllows,
    PermitRejects,
    PodArrives,
    PodChanges,
    PodGroupArrives,
    PodGroupChanges,
    PodGroupLeaves,
    PodLeaves,
    ScalerComes,
    WorkloadLeaves,
    WorkloadScales,
)
from kschedweb.engine.simulation.life import Departure
from kschedweb.engine.simulation.observer import Observer
from kschedweb.engine.simulation.pods import replica
from kschedweb.engine.simulation.result import Bound, Evicted, Failed, Pending, Rejected, Result, Sample
from kschedweb.engine.simulation.run import Settings, Simulation, SimulationError, Start

__all__ = [
    "Bound",
    "Departure",
    "Event",
    "Evicted",
    "Failed",
    "NodeChanges",
    "NodeConditions",
    "NodeDrains",
    "NodeFallsSilent",
    "NodeJoins",
    "NodeLeaves",
    "NodeReports",
    "Observer",
    "Pending",
    "PermitAllows",
    "PermitRejects",
    "PodArrives",
    "PodChanges",
    "PodGroupArrives",
    "PodGroupChanges",
    "PodGroupLeaves",
    "PodLeaves",
    "Rejected",
    "Result",
    "Sample",
    "ScalerComes",
    "Settings",
    "Simulation",
    "SimulationError",
    "Start",
    "WorkloadLeaves",
    "WorkloadScales",
    "replica",
]
