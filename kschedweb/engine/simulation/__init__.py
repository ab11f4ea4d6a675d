"""A cluster and its scheduler over time, on a virtual clock."""

from kschedweb.engine.simulation.events import (
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
    PodIsEvicted,
    PodLeaves,
    SimulationEvent,
)
from kschedweb.engine.simulation.observer import Observer
from kschedweb.engine.simulation.pod_life import Departure
from kschedweb.engine.simulation.pods import make_replica
from kschedweb.engine.simulation.result import Bound, ClusterSample, Evicted, Failed, Pending, Rejected, Result
from kschedweb.engine.simulation.run import (
    Simulation,
    SimulationError,
    SimulationSettings,
    StartState,
    list_standard_actors,
)
from kschedweb.engine.simulation.scaling.events import ScalerComes, WorkloadLeaves, WorkloadScales

__all__ = [
    "Bound",
    "ClusterSample",
    "Departure",
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
    "PodIsEvicted",
    "PodLeaves",
    "Rejected",
    "Result",
    "ScalerComes",
    "Simulation",
    "SimulationError",
    "SimulationEvent",
    "SimulationSettings",
    "StartState",
    "WorkloadLeaves",
    "WorkloadScales",
    "list_standard_actors",
    "make_replica",
]
