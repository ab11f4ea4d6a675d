"""What plugins of a profile work with, and what a plugin says of itself to the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from random import Random
from typing import Any, Protocol, TypeVar

from kschedweb.engine.config.types import Struct
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import Args
from kschedweb.engine.rebalancing.cluster import Cluster
from kschedweb.engine.rebalancing.evicting import EvictionRefused, NodeLimitReached, PodEvictor, TotalLimitReached
from kschedweb.engine.rebalancing.fitting import Room
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.pods import PodView
from kschedweb.engine.values import dataclass

Item = TypeVar("Item")
DESCHEDULE, BALANCE, FILTER = "deschedule", "balance", "filter"


class PluginError(Exception):
    """A plugin that cannot be made, or whose run ends with an error; the text is the descheduler's."""


class Evictor(Protocol):
    """Whether a pod may go at all, and whether it may go now."""

    def filter(self, pod: PodView) -> bool: ...

    def pre_eviction_filter(self, pod: PodView) -> bool: ...


class Runs(Protocol):
    """A plugin that evicts pods of the ready nodes; raises PluginError."""

    def run(self, nodes: Sequence[Node]) -> None: ...


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """``faults`` says what is wrong with decoded arguments, ``fill`` puts defaults into them.

    ``point`` is the extension point it stands at: FILTER for what makes an Evictor, else ``make`` gives what Runs.
    """

    name: str
    point: str
    args: Struct
    make: Callable[[Args, Handle], Any]
    faults: Callable[[Args], list[str]]
    fill: Callable[[Args], None] = lambda args: None


@dataclass(slots=True)
class Outcome:
    """What a cycle did, and why plugins did nothing. Classes of nodes are in the form of the command line."""

    classes: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plugin_errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Handle:
    """``now`` is in seconds of the epoch. ``chance`` decides where the original walks a map; without it the order is
    that in which things were put in.
    """

    profile: str
    cluster: Cluster
    room: Room
    evictor: PodEvictor
    metrics: Metrics
    outcome: Outcome
    now: float
    chance: Random | None = None
    guard: Evictor = field(init=False)

    def may_go(self, pod: PodView) -> bool:
        """The filter of the profile's DefaultEvictor."""
        return self.guard.filter(pod)

    def goes_now(self, pod: PodView) -> bool:
        """Its filter before an eviction."""
        return self.guard.pre_eviction_filter(pod)

    def both(self, pod: PodView) -> bool:
        return self.may_go(pod) and self.goes_now(pod)

    def evict(self, pod: PodView, plugin: str) -> None:
        """Evict the pod; raises EvictionRefused."""
        self.evictor.evict(pod, plugin, self.profile)

    def evict_each(self, pods: Iterable[PodView], plugin: str) -> bool:
        """Evict pods of a node in turn, up to its limit; False once no pod of any node can go any more."""
        for pod in pods:
            try:
                self.evict(pod, plugin)
            except NodeLimitReached:
                break
            except TotalLimitReached:
                return False
            except EvictionRefused:
                continue
        return True

    def note(self, plugin: str, text: str) -> None:
        """Keep why a plugin does nothing."""
        self.outcome.notes.append(f"{self.profile}/{plugin}: {text}".removeprefix("/"))

    def tell(self, plugin: str, node: Json) -> None:
        """Keep how a plugin classes a node."""
        named = {"profile": self.profile} if self.profile else {}
        self.outcome.classes.append({**named, "plugin": plugin, **node})

    def walked(self, items: Iterable[Item]) -> list[Item]:
        """The items of a map in the order in which they are met."""
        found = list(items)
        if self.chance is not None:
            self.chance.shuffle(found)
        return found
