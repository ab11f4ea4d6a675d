"""A cluster and its scheduler over time, on a virtual clock."""

from kschedweb.engine.simulation.events import (
    Event,
    NodeChanges,
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
)
from kschedweb.engine.simulation.life import Departure
from kschedweb.engine.simulation.observer import Observer
from kschedweb.engine.simulation.pods import replica
from kschedweb.engine.simulation.result import Bound, Evicted, Pending, Rejected, Result, Sample
from kschedweb.engine.simulation.run import Settings, Simulation, SimulationError, Start

__all__ = [
    "Bound",
    "Departure",
    "Event",
    "Evicted",
    "NodeChanges",
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
    "Settings",
    "Simulation",
    "SimulationError",
    "Start",
    "replica",
]
