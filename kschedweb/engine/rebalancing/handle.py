"""The handle that plugins of a profile work with, and their entries in the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from random import Random
from typing import Any, Protocol, TypeVar

from kschedweb.engine.config.types import Struct
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.rebalancing.arguments import Args
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster
from kschedweb.engine.rebalancing.evictions import EvictionRefused, NodeLimitReached, PodEvictor, TotalLimitReached
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.node_fit import Room
from kschedweb.engine.rebalancing.pods import PodView
from kschedweb.engine.values import dataclass

Item = TypeVar("Item")
DESCHEDULE, BALANCE, FILTER = "deschedule", "balance", "filter"


class PluginError(Exception):
    """A plugin cannot be built, or its run ends with an error; the text is the descheduler's."""


class Evictor(Protocol):
    """The filters of a profile: may a pod be evicted at all, and may it be evicted now."""

    def filter(self, pod: PodView) -> bool: ...

    def pre_eviction_filter(self, pod: PodView) -> bool: ...


class EvictingPlugin(Protocol):
    """A plugin that evicts pods of the ready nodes; its run may raise PluginError."""

    def run(self, nodes: Sequence[Node]) -> None: ...


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """A plugin of the registry."""

    name: str
    # Its extension point: DESCHEDULE or BALANCE, or FILTER for an Evictor.
    point: str
    # The type of its arguments.
    args: Struct
    # Builds an Evictor for FILTER, else an EvictingPlugin.
    make: Callable[[Args, Handle], Any]
    # Returns the faults of decoded arguments.
    faults: Callable[[Args], list[str]]
    # Writes defaults into the arguments.
    fill: Callable[[Args], None] = lambda args: None


@dataclass(slots=True)
class CycleReport:
    """Reports of plugins in one cycle."""

    # Classes of nodes, in the form of the command line.
    classes: list[Json] = field(default_factory=list)
    # Why plugins did nothing.
    notes: list[str] = field(default_factory=list)
    plugin_errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Handle:
    """The handle that a profile gives to its plugins."""

    profile: str
    cluster: DeschedulerCluster
    room: Room
    evictor: PodEvictor
    metrics: Metrics
    outcome: CycleReport
    # Seconds of the epoch.
    now: float
    # Decides the order where the original walks a map; None keeps the order of insertion.
    chance: Random | None = None
    # The profile's DefaultEvictor, set once it is built.
    guard: Evictor = field(init=False)

    def passes_filter(self, pod: PodView) -> bool:
        """Return True if the profile's DefaultEvictor lets the pod pass."""
        return self.guard.filter(pod)

    def passes_pre_eviction_filter(self, pod: PodView) -> bool:
        """Return True if its filter before an eviction lets the pod pass."""
        return self.guard.pre_eviction_filter(pod)

    def passes_filters(self, pod: PodView) -> bool:
        return self.passes_filter(pod) and self.passes_pre_eviction_filter(pod)

    def evict_pod(self, pod: PodView, plugin: str) -> None:
        """Evict the pod; raise EvictionRefused."""
        self.evictor.evict_pod(pod, plugin, self.profile)

    def evict_each(self, pods: Iterable[PodView], plugin: str) -> bool:
        """Evict pods of a node in turn, up to its limit; return False at the limit of the cycle."""
        for pod in pods:
            try:
                self.evict_pod(pod, plugin)
            except NodeLimitReached:
                break
            except TotalLimitReached:
                return False
            except EvictionRefused:
                continue
        return True

    def add_note(self, plugin: str, text: str) -> None:
        """Record why a plugin does nothing."""
        self.outcome.notes.append(f"{self.profile}/{plugin}: {text}".removeprefix("/"))

    def add_classification(self, plugin: str, node: Json) -> None:
        """Record the class that a plugin gives to a node."""
        profile_entry = {"profile": self.profile} if self.profile else {}
        self.outcome.classes.append({**profile_entry, "plugin": plugin, **node})

    def walk_map(self, items: Iterable[Item]) -> list[Item]:
        """Return the items of a map in the order of one walk, which is random in Go."""
        shuffled = list(items)
        if self.chance is not None:
            self.chance.shuffle(shuffled)
        return shuffled
