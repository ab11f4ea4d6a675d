"""What an autoscaler sees of a simulation, and what it can do there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from math import ceil

from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers import daemons
from kschedweb.engine.controllers.naming import draw_name
from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.events import NodeChanges
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.nodes import Nodes
from kschedweb.engine.simulation.observer import Deed
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.values import dataclass

BY_API = "EvictionByEvictionAPI"
AT = Callable[[float], None]


class AutoscalerSetup(ABC):
    """An autoscaler as a scenario has it; the same for any number of simulations."""

    @abstractmethod
    def begin(self, hands: Hands) -> None:
        """Let it work in one simulation."""

    @abstractmethod
    def price(self, labels: Mapping[str, str]) -> float | None:
        """What a node with these labels costs an hour; ``None`` where that is not known."""


@dataclass(eq=False)
class Hands:
    """``join``, ``gone`` and ``arrive`` let a node come, go, and a pod arrive. ``waiting`` are pods without a node.

    ``heard`` is called when a pod was tried in vain; ``touched`` when a pod came to a node, or began to leave it.
    """

    configuration: Configuration
    pods: Pods
    nodes: Nodes
    join: Callable[[Json, float], None]
    gone: Callable[[str, float], None]
    arrive: Callable[[Json, float], None]
    heard: AT = lambda now: None
    touched: Callable[[Life, float], None] = lambda life, now: None
    waiting: dict[str, Life] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pods.unplaced, self.pods.moved = self._waits, self._moves

    def _waits(self, life: Life, now: float) -> None:
        self.waiting[life.pod.key] = life
        self.heard(now)

    def _moves(self, life: Life, now: float) -> None:
        self.waiting.pop(life.pod.key, None)
        self.touched(life, now)

    def pending(self) -> list[Life]:
        """The pods that were tried in vain and still wait, in the order in which they were tried first."""
        for key, life in list(self.waiting.items()):
            if life.bound is not None or not self.pods.alive(life):
                del self.waiting[key]
        return list(self.waiting.values())

    def at(self, time: float, action: AT) -> None:
        """Do something later that is of no account for whether the simulation has come to rest."""
        self.pods.agenda.add(time, action, looks=True)

    def after(self, time: float, action: AT) -> None:
        """Do something later that the simulation waits for."""
        self.pods.agenda.add(time, action)

    def add(self, node: Json, sets: Iterable[Json], now: float) -> None:
        """A node joins, and the DaemonSets ``sets`` put their pods on it."""
        self.join(node, now)
        columns = daemons.snapshot([node])
        for raw in sets:
            for name, spec in daemons.specs(raw, columns):
                self.arrive(daemon_pod(raw, name, spec, self.pods.lives), now)

    def leave(self, name: str, now: float) -> None:
        """A node is deleted; the pods of DaemonSets that are left on it end with it."""
        for life in [self.pods.lives.get(pod.key) for pod in self.pods.world.pods(name)]:
            if life is not None:
                self.pods.gone(life, now)
        self.gone(name, now)

    def change(self, name: str, now: float, **changes: object) -> None:
        """Write a node."""
        self.nodes.change(NodeChanges(now, name, **changes), now)  # type: ignore[arg-type]

    def on(self, node: str) -> list[Life]:
        """The pods on a node that would have to go elsewhere, without those that are on their way out."""
        return [life for life in self._on(node) if life.leaves is None]

    def empty(self, node: str) -> bool:
        """Whether no pod is left that keeps the node from being deleted."""
        return not self._on(node)

    def _on(self, node: str) -> list[Life]:
        lives = (self.pods.lives.get(pod.key) for pod in self.pods.world.pods(node))
        return [life for life in lives if life is not None and not stays_at_drain(life.pod)]

    def evict(self, life: Life, because: str, now: float) -> None:
        self.pods.evict(life, because, now, BY_API)

    def tell(self, deed: Deed, now: float) -> None:
        self.pods.observer.autoscaled(deed, now)


@dataclass(frozen=True, slots=True)
class LiveBudget:
    """A PodDisruptionBudget, by the pods that there are: as the disruption controller reckons it."""

    namespace: str
    name: str
    selector: Selector
    least: object
    most: object

    @classmethod
    def read(cls, raw: Json) -> LiveBudget:
        metadata, spec, selector = mapping(raw, "metadata"), mapping(raw, "spec"), NOTHING
        with suppress(SelectorError):  # which means no pod
            selector = label_selector(spec.get("selector"), "spec.selector.")
        named = str(metadata.get("namespace") or "default"), str(metadata.get("name"))
        return cls(*named, selector, spec.get("minAvailable"), spec.get("maxUnavailable"))

    def means(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and not self.selector.empty and self.selector.matches(pod.labels)

    def allowed(self, lives: Iterable[Life]) -> int:
        """How many of its pods may be evicted now."""
        healthy, wanted = self.counts(lives)
        return max(healthy - wanted, 0)

    def counts(self, lives: Iterable[Life]) -> tuple[int, int]:
        """How many of its pods are healthy, and how many should be."""
        meant = [life for life in lives if life.leaves is None and self.means(life.pod)]
        healthy = sum(life.bound is not None for life in meant)
        if self.most is not None:
            wanted = len(meant) - _share(self.most, len(meant))
        else:
            wanted = _share(self.least, len(meant)) if self.least is not None else 0
        return healthy, max(wanted, 0)


def _share(said: object, of: int) -> int:
    text = str(said)
    number = text.removesuffix("%")
    if not number.isdecimal():
        return 0
    return ceil(int(number) * of / 100) if text.endswith("%") else int(number)


def daemon_pod(raw: Json, node: str, spec: Json, taken: Container[str]) -> Json:
    """The pod of a DaemonSet for a node, as its controller makes it."""
    metadata = raw["metadata"]
    namespace, name = metadata.get("namespace") or "default", metadata["name"]
    template = mapping(mapping(mapping(raw, "spec"), "template", "spec."), "metadata")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": metadata.get("uid") or name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": draw_name(f"{name}-", f"{namespace}/{name}/{node}", lambda own: f"{namespace}/{own}" in taken),
            "namespace": namespace,
            "labels": dict(mapping(template, "labels")),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": spec,
    }


def raw_node(name: str, labels: Mapping[str, str], taints: Iterable[Json], capacity: Json, allocatable: Json) -> Json:
    """A node that is ready when it joins."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"providerID": f"none:///{name}", "taints": list(taints)},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
