"""The access of actors to a simulation, and what a scenario has of an actor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.agenda import Action
from kschedweb.engine.simulation.nodes import SimulatedNodes
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.values import dataclass


class PodCreator(Protocol):
    """Lets a raw pod arrive; a ``replaced`` one gets a replacement when it is evicted."""

    def __call__(self, raw: Json, now: float, *, replaced: bool = False) -> None: ...


@dataclass(frozen=True, eq=False)
class SimulationContext:
    """The access of actors to one simulation."""

    configuration: Configuration
    # Names of the API server's admission plugins that are on.
    admission: frozenset[str]
    pods: Pods
    nodes: SimulatedNodes
    # Lets a node (raw) join at a time.
    join_node: Callable[[Json, float], None]
    # Deletes the node of that name.
    remove_node: Callable[[str, float], None]
    create_pod: PodCreator

    def schedule_background(self, time: float, action: Action) -> None:
        """Do something later that a simulation does not wait for before it ends."""
        self.pods.agenda.schedule_action(time, action, looks=True)

    def schedule_action(self, time: float, action: Action) -> None:
        """Do something later that the simulation waits for."""
        self.pods.agenda.schedule_action(time, action)

    def report(self, report: object, now: float) -> None:
        """Tell the observer what the actor did."""
        self.pods.observer.reported(report, now)


class ActorSetup(ABC):
    """An actor of a scenario; one serves for any number of simulations."""

    @abstractmethod
    def join(self, context: SimulationContext) -> Actor:
        """Return the actor of one simulation, which hears of the cluster's pods and of all events after this."""
