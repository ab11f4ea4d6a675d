"""The addition of an actor to a prepared scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class ActorPart:
    """An actor among the objects of a scenario, and what it makes of them."""

    # The objects with which a simulation begins.
    objects: list[Json]
    # None if the scenario has no such actor.
    setup: ActorSetup | None = None
    # What was left out or interpreted.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScenarioActor:
    """A kind of actor that a scenario may have."""

    name: str
    # Gets the objects, and what the document says at the actor's key, None if nothing. Raises ScenarioError.
    prepare: Callable[[Sequence[Json], Any], ActorPart]
