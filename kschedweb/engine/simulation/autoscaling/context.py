"""The view that an autoscaler has of a simulation, and its means to act there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from math import ceil
from typing import Any

from kschedweb.engine.controllers import daemons
from kschedweb.engine.controllers.naming import draw_name
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.events import NodeChanges
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.values import dataclass

BY_API = "EvictionByEvictionAPI"
AT = Callable[[float], None]


LAUNCHED, REMOVED = "launched", "removed"


@dataclass(frozen=True, slots=True)
class AutoscalerAction:
    """An autoscaler's action on a node."""

    # ``LAUNCHED`` or ``REMOVED``.
    action: str
    node: str
    # The kind of node, or the reason.
    text: str


class AutoscalerSetup(ActorSetup):
    """An autoscaler of nodes."""

    def join(self, context: SimulationContext) -> Actor:
        return AutoscalerContext(self, context)

    @abstractmethod
    def start(self, context: AutoscalerContext) -> None:
        """Start the autoscaler in one simulation."""

    @abstractmethod
    def node_price(self, labels: Mapping[str, str]) -> float | None:
        """Return the price an hour of a node with these labels; ``None`` if it is not known."""


@dataclass(eq=False)
class AutoscalerContext(Actor):
    """An autoscaler's access to one simulation, in which it is the actor."""

    setup: AutoscalerSetup
    simulation: SimulationContext
    # Called when a pod was tried in vain.
    on_unschedulable: AT = lambda now: None
    # Called when a pod came to a node, or began to leave it.
    on_pod_moved: Callable[[PodLife, float], None] = lambda life, now: None
    # Pods that were tried in vain, by key.
    waiting: dict[str, PodLife] = field(default_factory=dict)

    is_watching = True

    def __post_init__(self) -> None:
        self.configuration, self.pods = self.simulation.configuration, self.simulation.pods
        self.schedule_background = self.simulation.schedule_background
        self.schedule_action = self.simulation.schedule_action
        self.report_action: Callable[[AutoscalerAction, float], None] = self.simulation.report

    def begin(self) -> None:
        self.setup.start(self)

    def on_unplaced(self, life: PodLife, now: float) -> None:
        self.waiting[life.pod.key] = life
        self.on_unschedulable(now)

    def on_moved(self, life: PodLife, now: float) -> None:
        self.waiting.pop(life.pod.key, None)
        self.on_pod_moved(life, now)

    def pending_pods(self) -> list[PodLife]:
        """Return the pods that were tried in vain and still wait, in the order of their first try."""
        for key, life in list(self.waiting.items()):
            if life.bound is not None or not self.pods.is_alive(life):
                del self.waiting[key]
        return list(self.waiting.values())

    def add_node(self, node: Json, sets: Iterable[Json], now: float) -> None:
        """Let a node join, with the pods of the DaemonSets ``sets``."""
        self.simulation.join_node(node, now)
        columns = daemons.make_snapshot([node])
        for raw in sets:
            for name, spec in daemons.list_node_specs(raw, columns):
                self.simulation.create_pod(daemon_pod(raw, name, spec, self.pods.lives), now)

    def delete_node(self, name: str, now: float) -> None:
        """Delete a node; the pods of DaemonSets on it end with it."""
        for life in [self.pods.lives.get(pod.key) for pod in self.pods.world.pods_on(name)]:
            if life is not None:
                self.pods.remove_pod(life, now)
        self.simulation.remove_node(name, now)

    def change_node(self, name: str, now: float, **changes: Any) -> None:
        """Change the node's object."""
        self.simulation.nodes.change_node(NodeChanges(now, name, **changes), now)

    def pods_to_move(self, node: str) -> list[PodLife]:
        """Return the node's pods that have to go elsewhere, without those that are leaving already."""
        return [life for life in self._drainable_pods(node) if life.leaves is None]

    def is_drained(self, node: str) -> bool:
        """Return true if no pod keeps the node from being deleted."""
        return not self._drainable_pods(node)

    def _drainable_pods(self, node: str) -> list[PodLife]:
        lives = (self.pods.lives.get(pod.key) for pod in self.pods.world.pods_on(node))
        return [life for life in lives if life is not None and not stays_at_drain(life.pod)]

    def evict_pod(self, life: PodLife, because: str, now: float) -> None:
        self.pods.evict_pod(life, because, now, BY_API)


@dataclass(frozen=True, slots=True)
class LiveBudget:
    """A PodDisruptionBudget over the pods of a simulation, as the disruption controller computes it."""

    namespace: str
    name: str
    selector: Selector
    min_available: object
    max_unavailable: object

    @classmethod
    def from_json(cls, raw: Json) -> LiveBudget:
        metadata, spec, selector = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), NOTHING
        # An invalid selector selects no pod.
        with suppress(SelectorError):
            selector = label_selector(spec.get("selector"), "spec.selector.")
        identity = str(metadata.get("namespace") or "default"), str(metadata.get("name"))
        return cls(*identity, selector, spec.get("minAvailable"), spec.get("maxUnavailable"))

    def covers_pod(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and not self.selector.is_empty and self.selector.matches(pod.labels)

    def disruptions_allowed(self, lives: Iterable[PodLife]) -> int:
        """Return how many of its pods may be evicted now."""
        healthy, desired = self.count_healthy(lives)
        return max(healthy - desired, 0)

    def count_healthy(self, lives: Iterable[PodLife]) -> tuple[int, int]:
        """Return how many of its pods are healthy, and how many should be."""
        meant = [life for life in lives if life.leaves is None and self.covers_pod(life.pod)]
        healthy = sum(life.bound is not None for life in meant)
        if self.max_unavailable is not None:
            desired = len(meant) - _resolve_count(self.max_unavailable, len(meant))
        else:
            desired = _resolve_count(self.min_available, len(meant)) if self.min_available is not None else 0
        return healthy, max(desired, 0)


def _resolve_count(value: object, total: int) -> int:
    text = str(value)
    number = text.removesuffix("%")
    if not number.isdecimal():
        return 0
    # Percentages are rounded up, as the disruption controller does.
    return ceil(int(number) * total / 100) if text.endswith("%") else int(number)


def daemon_pod(raw: Json, node: str, spec: Json, existing_keys: Container[str]) -> Json:
    """Return the pod of a DaemonSet for a node, as its controller makes it."""
    metadata = raw["metadata"]
    namespace, name = metadata.get("namespace") or "default", metadata["name"]
    template = get_mapping(get_mapping(get_mapping(raw, "spec"), "template", "spec."), "metadata")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": metadata.get("uid") or name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": draw_name(
                f"{name}-", f"{namespace}/{name}/{node}", lambda candidate: f"{namespace}/{candidate}" in existing_keys
            ),
            "namespace": namespace,
            "labels": dict(get_mapping(template, "labels")),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": spec,
    }


def raw_node(name: str, labels: Mapping[str, str], taints: Iterable[Json], capacity: Json, allocatable: Json) -> Json:
    """Return a node that is ready when it joins."""
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
