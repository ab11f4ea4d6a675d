"""The nodes of a simulation, with the controllers that look after them."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.controllers.nodelifecycle import (
    CONTROLLED,
    KUBELET_CONDITIONS,
    READY,
    UNKNOWN,
    LifecycleTiming,
    NodeLifecycle,
    with_condition_taints,
    with_reported_statuses,
)
from kschedweb.engine.framework.events import NODE_ADD, NODE_DELETE, node_changes, read_conditions
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.simulation.events import NodeChanges
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.state.owners import stays_at_drain

TAINTED, TAINT_MANAGER, DRAINED = "a taint", "DeletionByTaintManager", "the node is drained"
EVICTED, EVICTION_API = "an eviction was asked for", "EvictionByEvictionAPI"


class SimulatedNodes:
    """The nodes, with controllers that work by ``timing``; with ``None`` no controller works."""

    def __init__(self, pods: Pods, timing: LifecycleTiming | None) -> None:
        self.pods, self.world = pods, pods.world
        self.lifecycle = NodeLifecycle(timing)
        self._controlled = timing is not None
        for node in list(self.world.nodes.values()):
            self._set_node(self._with_taints(node), 0.0)
            self._note_silence(node, 0.0)

    def _with_taints(self, node: Node) -> Node:
        return with_condition_taints(node) if self._controlled else node

    def add_node(self, node: Node, now: float) -> None:
        node = self._with_taints(node)
        self._set_node(node, now)
        self._note_silence(node, now)
        self.pods.queue.move_all_to_active_or_backoff(NODE_ADD, None, node, now)

    def _note_silence(self, node: Node, now: float) -> None:
        """Silence the kubelet of a node that comes with an unknown Ready."""
        if read_conditions(node).get(READY) == UNKNOWN:
            self.lifecycle.silence_node(node.name, now)

    def update_node(self, node: Node, now: float) -> None:
        """Replace the node's object."""
        old, node = self.world.nodes[node.name], self._with_taints(node)
        self._set_node(node, now)
        for event in node_changes(old, node):
            self.pods.queue.move_all_to_active_or_backoff(event, old, node, now)

    def _set_node(self, node: Node, now: float) -> None:
        if self.world.nodes.get(node.name) is not node:
            self.world.set_node(node)
        self.pods.observer.node_set(node, now)
        self.lifecycle.watch_node(node)
        self.pods.eviction.node_changed(node.name, node.taints, self.world.pods_on(node.name), now)

    def remove_node(self, name: str, now: float) -> None:
        node = self.world.nodes[name]
        self.lifecycle.forget_node(name)
        self.pods.eviction.node_gone(name)
        lost = self.world.remove_node(name)
        self.pods.observer.node_left(name, now)
        self.pods.queue.move_all_to_active_or_backoff(NODE_DELETE, node, None, now)
        self.pods.on_node_lost(lost, name, now)

    def change_node(self, event: NodeChanges, now: float) -> None:
        """Apply somebody's change of the node."""
        self.update_node(Node.from_json(apply_changes(self.world.nodes[event.node].raw, event)), now)

    def drain_node(self, name: str, now: float) -> None:
        self.change_node(NodeChanges(now, name, unschedulable=True), now)
        for pod in self.world.pods_on(name):
            life = self.pods.lives.get(pod.key)
            if life is not None and life.bound is not None and not stays_at_drain(pod):
                self.pods.evict_pod(life, DRAINED, now, EVICTION_API)

    def report_conditions(self, name: str, statuses: Mapping[str, str], now: float) -> None:
        """Set conditions of the node; any status that a kubelet reports means that the kubelet is heard of."""
        if statuses.get(READY) == UNKNOWN:
            self.lifecycle.silence_node(name, now)
        elif any(kind in statuses for kind in KUBELET_CONDITIONS):
            self.lifecycle.on_heartbeat(name)
        self.update_node(with_reported_statuses(self.world.nodes[name], statuses), now)
        if self.is_reachable(name):
            self.pods.on_node_reached(name, now)

    def is_reachable(self, name: str) -> bool:
        return not self.lifecycle.is_silent(name)

    @property
    def unknown_pods(self) -> int:
        """The number of pods on nodes whose Ready is Unknown, as after a long silence of the kubelet."""
        nodes = (self.world.nodes[name] for name in self.lifecycle.silent_nodes)
        return sum(len(self.world.pods_on(node.name)) for node in nodes if read_conditions(node).get(READY) == UNKNOWN)

    @property
    def at_rest(self) -> bool:
        """True if the controllers have nothing to do now or later, as things are."""
        return not self._controlled or (self.lifecycle.at_rest and self.pods.eviction.next_due() is None)

    def next_time(self, now: float) -> float | None:
        """Return when the controllers will next act by themselves; ``None`` for never."""
        if not self._controlled:
            return None
        times = [time for time in (self.lifecycle.next_time(now), self.pods.eviction.next_due()) if time is not None]
        return min(times, default=None)

    def pass_time(self, now: float) -> None:
        """Let the controllers do what is due by ``now``."""
        if not self._controlled:
            return
        # Health comes first: it sets the taints for which pods are evicted.
        if self.lifecycle.is_due(now):
            for node in self.lifecycle.monitor_node_health(self.world.nodes, now):
                self.update_node(node, now)
        for key in self.pods.eviction.take_due(now):
            life = self.pods.lives.get(key)
            if life is not None:
                self.pods.evict_pod(life, TAINTED, now, TAINT_MANAGER)


def apply_changes(raw: Json, event: NodeChanges) -> Json:
    """Return the node ``raw`` with somebody's changes."""
    metadata, spec, status = (dict(get_mapping(raw, part)) for part in ("metadata", "spec", "status"))
    if event.labels is not None:
        metadata["labels"] = _merge_labels(get_mapping(metadata, "labels", "metadata."), event.labels)
    if event.taints is not None:
        # The controllers set the taints of conditions again anyway.
        condition_taints = [taint for taint in get_objects(spec, "taints", "spec.") if taint.get("key") in CONTROLLED]
        spec["taints"] = [*condition_taints, *event.taints]
    if event.unschedulable is not None:
        spec["unschedulable"] = event.unschedulable
    if event.allocatable is not None:
        status["allocatable"] = {**get_mapping(status, "allocatable", "status."), **event.allocatable}
    return {**raw, "metadata": metadata, "spec": spec, "status": status}


def _merge_labels(labels: Json, changes: Mapping[str, str | None]) -> Json:
    return {key: value for key, value in {**labels, **changes}.items() if value is not None}
