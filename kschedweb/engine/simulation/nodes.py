"""The nodes of a simulation: what happens to them, and what the controllers make of it."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.controllers.nodelifecycle import (
    CONTROLLED,
    KUBELET_CONDITIONS,
    READY,
    UNKNOWN,
    LifecycleTiming,
    NodeLifecycle,
    reported,
    with_condition_taints,
)
from kschedweb.engine.framework.events import NODE_ADD, NODE_DELETE, conditions, node_changes
from kschedweb.engine.objects.access import Json, mapping, objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.simulation.events import NodeChanges
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.state.owners import stays_at_drain

TAINTED, TAINT_MANAGER, DRAINED = "a taint", "DeletionByTaintManager", "the node is drained"
EVICTED, EVICTION_API = "an eviction was asked for", "EvictionByEvictionAPI"


class Nodes:
    """``timing`` is how the controllers work; where it is ``None``, none do."""

    def __init__(self, pods: Pods, timing: LifecycleTiming | None) -> None:
        self.pods, self.world = pods, pods.world
        self.lifecycle = NodeLifecycle(timing)
        self._controlled = timing is not None
        for node in list(self.world.nodes.values()):
            self._set(self._tainted(node), 0.0)
            self._listen(node, 0.0)

    def _tainted(self, node: Node) -> Node:
        return with_condition_taints(node) if self._controlled else node

    def join(self, node: Node, now: float) -> None:
        node = self._tainted(node)
        self._set(node, now)
        self._listen(node, now)
        self.pods.queue.move(NODE_ADD, None, node, now)

    def _listen(self, node: Node, now: float) -> None:
        """A node whose Ready is not known when it comes has a kubelet that is silent."""
        if conditions(node).get(READY) == UNKNOWN:
            self.lifecycle.silence(node.name, now)

    def update(self, node: Node, now: float) -> None:
        """The node's object changed."""
        old, node = self.world.nodes[node.name], self._tainted(node)
        self._set(node, now)
        for event in node_changes(old, node):
            self.pods.queue.move(event, old, node, now)

    def _set(self, node: Node, now: float) -> None:
        if self.world.nodes.get(node.name) is not node:
            self.world.set_node(node)
        self.pods.observer.node_set(node, now)
        self.lifecycle.watch(node)
        self.pods.eviction.node_changed(node.name, node.taints, self.world.pods(node.name), now)

    def leave(self, name: str, now: float) -> None:
        node = self.world.nodes[name]
        self.lifecycle.forget(name)
        self.pods.eviction.node_gone(name)
        lost = self.world.remove_node(name)
        self.pods.observer.node_left(name, now)
        self.pods.queue.move(NODE_DELETE, node, None, now)
        self.pods.lost(lost, name, now)

    def change(self, event: NodeChanges, now: float) -> None:
        """Somebody wrote the node."""
        self.update(Node.read(written(self.world.nodes[event.node].raw, event)), now)

    def drain(self, name: str, now: float) -> None:
        self.change(NodeChanges(now, name, unschedulable=True), now)
        for pod in self.world.pods(name):
            life = self.pods.lives.get(pod.key)
            if life is not None and life.bound is not None and not stays_at_drain(pod):
                self.pods.evict(life, DRAINED, now, EVICTION_API)

    def report(self, name: str, statuses: Mapping[str, str], now: float) -> None:
        """The node's conditions have these ``statuses``; but for those that no kubelet reports it is heard of."""
        if statuses.get(READY) == UNKNOWN:
            self.lifecycle.silence(name, now)
        elif any(kind in statuses for kind in KUBELET_CONDITIONS):
            self.lifecycle.heard(name)
        self.update(reported(self.world.nodes[name], statuses), now)
        if self.reachable(name):
            self.pods.reached(name, now)

    def reachable(self, name: str) -> bool:
        return not self.lifecycle.is_silent(name)

    @property
    def unknown_pods(self) -> int:
        """How many pods are on nodes whose Ready is not known, as after their kubelet was silent for long."""
        nodes = (self.world.nodes[name] for name in self.lifecycle.silent)
        return sum(len(self.world.pods(node.name)) for node in nodes if conditions(node).get(READY) == UNKNOWN)

    @property
    def at_rest(self) -> bool:
        """Whether the controllers have nothing to do now or later, as things are."""
        return not self._controlled or (self.lifecycle.at_rest and self.pods.eviction.next_due() is None)

    def next_time(self, now: float) -> float | None:
        """When the controllers will do something by themselves; ``None`` for never."""
        if not self._controlled:
            return None
        times = [time for time in (self.lifecycle.next_time(now), self.pods.eviction.next_due()) if time is not None]
        return min(times, default=None)

    def pass_time(self, now: float) -> None:
        """Let the controllers do what is due by ``now``."""
        if not self._controlled:
            return
        if self.lifecycle.due(now):
            for node in self.lifecycle.monitor(self.world.nodes, now):
                self.update(node, now)
        for key in self.pods.eviction.take_due(now):
            life = self.pods.lives.get(key)
            if life is not None:
                self.pods.evict(life, TAINTED, now, TAINT_MANAGER)


def written(raw: Json, event: NodeChanges) -> Json:
    """The node ``raw`` after somebody wrote it."""
    metadata, spec, status = (dict(mapping(raw, part)) for part in ("metadata", "spec", "status"))
    if event.labels is not None:
        metadata["labels"] = _merged(mapping(metadata, "labels", "metadata."), event.labels)
    if event.taints is not None:
        kept = [taint for taint in objects(spec, "taints", "spec.") if taint.get("key") in CONTROLLED]
        spec["taints"] = [*kept, *event.taints]
    if event.unschedulable is not None:
        spec["unschedulable"] = event.unschedulable
    if event.allocatable is not None:
        status["allocatable"] = {**mapping(status, "allocatable", "status."), **event.allocatable}
    return {**raw, "metadata": metadata, "spec": spec, "status": status}


def _merged(labels: Json, changes: Mapping[str, str | None]) -> Json:
    return {key: value for key, value in {**labels, **changes}.items() if value is not None}
