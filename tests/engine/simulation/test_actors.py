"""An actor of any kind: it changes pods that come, keeps them out, acts by its own events, and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    Observer,
    PodArrives,
    PodLeaves,
    Simulation,
    SimulationEvent,
    list_standard_actors,
)
from kschedweb.engine.simulation.actors import Actor, Handler
from kschedweb.engine.simulation.agenda import Action
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.values import dataclass
from tests.engine.builders import node, pod


@dataclass(frozen=True, slots=True)
class DoorOpens(SimulationEvent):
    """The door lets everybody in."""


@dataclass(frozen=True)
class Entered:
    pod: str


@dataclass(eq=False)
class Door(Actor):
    """Keeps pods out until it opens, names each, and lists those that are there."""

    context: SimulationContext
    waiting: dict[str, Action] = field(default_factory=dict)
    inside: set[str] = field(default_factory=set)
    is_open: bool = False

    @property
    def handlers(self) -> Mapping[type[SimulationEvent], Handler]:
        return {DoorOpens: lambda event: self._open}

    def _open(self, now: float) -> None:
        self.is_open = True
        for let_in in self.waiting.values():
            let_in(now)

    def admit_object(self, raw: Json) -> Json:
        return {**raw, "metadata": {**raw["metadata"], "labels": {"door": "front"}}}

    def hold_pod(self, pod: Pod, let_in: Action, now: float, *, checked: bool) -> bool:
        if not self.is_open:
            self.waiting[pod.key] = let_in
        return not self.is_open

    def withdraw_pod(self, key: str) -> bool:
        return self.waiting.pop(key, None) is not None

    def on_pod_added(self, life: PodLife, now: float) -> None:
        self.inside.add(life.pod.key)
        self.context.report(Entered(life.pod.key), now)

    def on_pod_removed(self, life: PodLife, now: float) -> None:
        self.inside.discard(life.pod.key)

    def list_notes(self) -> list[str]:
        return ["the door is open" if self.is_open else "the door is closed"]


class DoorSetup(ActorSetup):
    def join(self, context: SimulationContext) -> Door:
        return Door(context)


class Reports(Observer):
    def __init__(self) -> None:
        self.heard: list[tuple[object, float]] = []

    def reported(self, report: object, now: float) -> None:
        self.heard.append((report, now))


def test_an_actor_acts_by_what_it_registers() -> None:
    configuration, reports = load(None).configuration, Reports()
    assert configuration is not None
    events = [
        PodArrives(1.0, pod("a"), duration=10.0),
        PodArrives(2.0, pod("b")),
        PodArrives(3.0, pod("c")),
        PodLeaves(4.0, "default/c"),
        DoorOpens(60.0),
    ]
    actors = [*list_standard_actors(), DoorSetup()]
    simulation = Simulation([node("n")], configuration, events, None, actors, observer=reports)
    result = simulation.run(100.0)
    assert [(binding.pod, int(binding.time)) for binding in result.bound] == [("default/a", 60), ("default/b", 60)]
    door = simulation.find_actor(Door)
    assert door is not None
    assert door.inside == {"default/b"}
    assert simulation.pods.lives["default/b"].pod.labels == {"door": "front"}
    assert reports.heard == [(Entered("default/a"), 60.0), (Entered("default/b"), 60.0)]
    assert [note for actor in simulation.actors for note in actor.list_notes()] == ["the door is open"]
