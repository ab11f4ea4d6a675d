"""What plugins of a profile work with, and what a plugin says of itself to the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from random import Random
from typing import Any, Protocol, TypeVar

from kschedweb.engine.config.types import Struct
from kschedweb.engine.objects.json_access import Json
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
    """A plugin that cannot be made, or whose run ends with an error; the text is the descheduler's."""


class Evictor(Protocol):
    """Whether a pod may go at all, and whether it may go now."""

    def filter(self, pod: PodView) -> bool: ...

    def pre_eviction_filter(self, pod: PodView) -> bool: ...


class EvictingPlugin(Protocol):
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
class CycleReport:
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
    cluster: DeschedulerCluster
    room: Room
    evictor: PodEvictor
    metrics: Metrics
    outcome: CycleReport
    now: float
    chance: Random | None = None
    guard: Evictor = field(init=False)

    def passes_filter(self, pod: PodView) -> bool:
        """The filter of the profile's DefaultEvictor."""
        return self.guard.filter(pod)

    def passes_pre_eviction_filter(self, pod: PodView) -> bool:
        """Its filter before an eviction."""
        return self.guard.pre_eviction_filter(pod)

    def passes_filters(self, pod: PodView) -> bool:
        return self.passes_filter(pod) and self.passes_pre_eviction_filter(pod)

    def evict_pod(self, pod: PodView, plugin: str) -> None:
        """Evict the pod; raises EvictionRefused."""
        self.evictor.evict_pod(pod, plugin, self.profile)

    def evict_each(self, pods: Iterable[PodView], plugin: str) -> bool:
        """Evict pods of a node in turn, up to its limit; False once no pod of any node can go any more."""
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
        """Keep why a plugin does nothing."""
        self.outcome.notes.append(f"{self.profile}/{plugin}: {text}".removeprefix("/"))

    def add_classification(self, plugin: str, node: Json) -> None:
        """Keep how a plugin classes a node."""
        profile_entry = {"profile": self.profile} if self.profile else {}
        self.outcome.classes.append({**profile_entry, "plugin": plugin, **node})

    def walk_map(self, items: Iterable[Item]) -> list[Item]:
        """The items of a map in the order in which they are met."""
        shuffled = list(items)
        if self.chance is not None:
            self.chance.shuffle(shuffled)
        return shuffled
