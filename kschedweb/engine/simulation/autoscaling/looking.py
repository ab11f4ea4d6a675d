"""What cluster-autoscaler decides when it looks at a cluster; nothing here waits or changes anything.

Written after its documentation (the FAQ of kubernetes/autoscaler), and not compared with its code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers import daemons
from kschedweb.engine.controllers.claims import needs_claims
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json, mapping, string_map
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation.autoscaling.hands import LiveBudget, daemon_pod, raw_node
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.pods import replica
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.world import World
from kschedweb.engine.values import dataclass

LEAST_WASTE, PRICE, PRIORITY = "least-waste", "price", "priority"
EXPANDERS = (LEAST_WASTE, PRICE, PRIORITY)
MOST_EMPTY = 10  # nodes that go at once
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
KEPT = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SYSTEM = "kube-system"
NO_GROUP, USED = "It is of no node group.", "Its utilisation is not below the threshold."


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """From ``least`` to ``most`` nodes that are alike. ``price`` an hour; the highest ``priority`` comes first.

    Nodes of the beginning belong to the first group all of whose ``labels`` they have.
    """

    name: str
    allocatable: Mapping[str, str]
    most: int
    least: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    zone: str = ""
    price: float | None = None
    priority: int = 0

    def holds(self, labels: Mapping[str, str]) -> bool:
        return bool(self.labels) and all(labels.get(key) == value for key, value in self.labels.items())

    def node(self, name: str) -> Json:
        labels = {**self.labels, HOSTNAME: name} | ({ZONE: self.zone} if self.zone else {})
        has = {"pods": "110", **self.allocatable}
        return raw_node(name, labels, self.taints, has, has)


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """What cluster-autoscaler is told; times in seconds.

    A node whose requests are below ``threshold`` of CPU and memory may be unneeded.
    """

    groups: tuple[NodeGroup, ...]
    expander: str = LEAST_WASTE
    launch: float = 60.0
    threshold: float = 0.5
    unneeded: float = 600.0
    after_add: float = 600.0

    def of(self, nodes: Iterable[Node]) -> dict[str, NodeGroup]:
        """The group of each node that is of one."""
        found = {node.name: next((one for one in self.groups if one.holds(node.labels)), None) for node in nodes}
        return {name: group for name, group in found.items() if group is not None}

    def rank(self, option: Option) -> tuple[object, ...]:
        """What the expander takes is the least."""
        group = option.group
        if self.expander == PRICE:
            return option.price_per_pod, option.wasted, group.name
        if self.expander == PRIORITY:
            return -group.priority, option.wasted, group.name
        return *option.wasted, group.name


@dataclass(frozen=True, slots=True)
class Option:
    """More nodes of a group, each with the ``pods`` it helps; ``wasted`` shares of their CPU and memory stay free."""

    group: NodeGroup
    pods: tuple[tuple[Pod, ...], ...]
    wasted: tuple[float, float]

    @property
    def count(self) -> int:
        return len(self.pods)

    @property
    def helped(self) -> list[Pod]:
        return [pod for node in self.pods for pod in node]

    @property
    def price_per_pod(self) -> float:
        price = float("inf") if self.group.price is None else self.group.price
        return price * self.count / len(self.helped)


@dataclass(frozen=True, slots=True)
class Growth:
    """``placed`` pods have a place at a node that is there or on its way, ``left`` have none; the best option first."""

    placed: Mapping[str, str]  # pod -> node
    left: list[Pod]
    options: list[Option]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``why`` a node stays, "" where it is unneeded; ``moves`` says where its pods would go."""

    why: str
    moves: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """A cluster at one moment. ``nodes`` has the group of each node that is there or was asked for, ``going`` those on
    their way out. ``lives`` are all pods, ``on`` those of a node that would have to go elsewhere. ``check`` is called
    between steps, and may raise to end the look."""

    told: NodeGroups
    configuration: Configuration
    snapshot: Snapshot
    nodes: Mapping[str, NodeGroup]
    sets: Sequence[Json]
    budgets: Sequence[LiveBudget]
    lives: Callable[[], Iterable[Life]]
    on: Callable[[str], list[Life]]
    going: Collection[str] = ()
    check: Callable[[], object] = lambda: None

    # Nodes for pods that wait.

    def growth(self, pods: Sequence[Pod], coming: Sequence[Json]) -> Growth:
        """What helps the pods for which there is no place, with the nodes that are ``coming``."""
        scheduler, placed, left = self.scheduler(coming), dict[str, str](), []
        for pod in pods:
            self.check()
            node = _placed(scheduler, pod)
            if node:
                placed[pod.key] = node
            else:
                left.append(pod)
        options = [found for group in self.told.groups if (found := self.option(group, left)) is not None]
        return Growth(placed, left, sorted(options, key=self.told.rank))

    def room(self, group: NodeGroup) -> int:
        """How many nodes more the group may have."""
        return group.most - sum(one is group for one in self.nodes.values())

    def option(self, group: NodeGroup, pods: Sequence[Pod]) -> Option | None:
        """How many nodes of the group would hold the pods: each is filled with pods that the ones before it left.

        Once a pod is refused, pods like it are not tried on the same node.
        """
        room, left, helped, free, whole = self.room(group), list(pods), list[tuple[Pod, ...]](), [0, 0], [0, 0]
        name = f"{group.name}-template"
        if not left or room <= 0:
            return None
        scheduler = self.scheduler([group.node(name)])
        place = np.array([scheduler.snapshot.index[name]], dtype=np.intp)
        while left and len(helped) < room:
            on, others, refused = list[Pod](), list[Pod](), set[Hashable]()
            for pod in left:
                self.check()
                if pod.signature not in refused and _placed(scheduler, pod, place):
                    on.append(pod)
                else:
                    others.append(pod)
                    refused.add(pod.signature)
            if not on:
                break
            for number, (requested, has) in enumerate(used(scheduler.snapshot, name).values()):
                free[number] += has - requested
                whole[number] += has
            for pod in on:
                scheduler.snapshot.remove_pod(pod.key)
            helped.append(tuple(on))
            left = others
        if not helped:
            return None
        shares = [rest / all_of if all_of else 0.0 for rest, all_of in zip(free, whole, strict=True)]
        return Option(group, tuple(helped), (shares[0], shares[1]))

    # Nodes that are not needed.

    def verdict(self, name: str) -> Verdict:
        """Whether a node is unneeded, and where its pods would go, or why it stays."""
        self.check()
        lives = self.on(name)
        why = self._stays(name) or next(filter(None, map(self._keeps, lives)), "")
        return self._elsewhere(name, lives) if lives and not why else Verdict(why)

    def _stays(self, name: str) -> str:
        """Why the node stays whatever is on it."""
        group, place = self.nodes.get(name), self.snapshot.index.get(name)
        if group is None:
            return NO_GROUP
        if place is None or name in self.going:
            return "It is not there yet, or on its way out."
        if not self.spare(group):
            return f"Its node group has its least number of nodes, {group.least}."
        if string_map(mapping(self.snapshot.nodes[place].raw, "metadata"), "annotations").get(KEPT) == "true":
            return f"It has the annotation {KEPT}: true."
        return USED if utilisation(self.snapshot, name) >= self.told.threshold else ""

    def first(self, due: Sequence[str]) -> list[str]:
        """Of nodes that were unneeded for long enough those that go now: up to ten empty ones, or one with pods."""
        gone = [name for name in due if not self.on(name)][:MOST_EMPTY] or due[:1]
        found: list[str] = []
        for name in gone:
            if self.spare(self.nodes[name], [*self.going, *found]):
                found.append(name)
        return found

    def spare(self, group: NodeGroup, going: Collection[str] | None = None) -> bool:
        """Whether the group may lose one more node."""
        without = self.going if going is None else going
        return sum(one is group for name, one in self.nodes.items() if name not in without) > group.least

    def _keeps(self, life: Life) -> str:
        """Why the pod may not leave its node: it has no controller or local data, or may not be evicted."""
        pod, annotations = life.pod, string_map(mapping(life.pod.raw, "metadata"), "annotations")
        meant = [one for one in self.budgets if one.means(pod)]
        if annotations.get(SAFE) == "false":
            return f"Pod {pod.key} has the annotation {SAFE}: false."
        if tight := next((one for one in meant if not one.allowed(self.lives())), None):
            return f"PodDisruptionBudget {tight.namespace}/{tight.name} lets no pod go, and {pod.key} is of it."
        if annotations.get(SAFE) == "true":
            return ""
        if pod.controller is None:
            return f"Pod {pod.key} has no controller."
        if any("emptyDir" in one or "hostPath" in one for one in mapping(pod.raw, "spec").get("volumes") or ()):
            return f"Pod {pod.key} has local data."
        return f"Pod {pod.key} is of {SYSTEM}, without a budget." if pod.namespace == SYSTEM and not meant else ""

    @cached_property
    def _emptying(self) -> Scheduler:
        """A scheduler over a copy of the cluster, on which one node at a time is emptied and filled again."""
        return Scheduler.of(self.snapshot.copy(), self.configuration)

    def _elsewhere(self, name: str, lives: Sequence[Life]) -> Verdict:
        """Where the node's pods would go. It stays meanwhile without pods, as it does while it is drained, and counts
        for the spread of pods."""
        scheduler, moves = self._emptying, dict[str, str]()
        snapshot = scheduler.snapshot
        closed = [snapshot.index[one] for one in {name, *self.going} if one in snapshot.index]
        others = np.delete(np.arange(len(snapshot), dtype=np.intp), closed)
        scheduler.advance(-scheduler.start)
        with ExitStack() as back:
            for pod in snapshot.pods.on(snapshot.index[name]):
                back.enter_context(scheduler.without(pod.key, keep_made_claims=True))
            for life in lives:
                self.check()
                back.callback(snapshot.save_claims(life.pod))
                # Claims that were made for a pod are its own: cluster-autoscaler looks at them as they are.
                pod = life.pod.on("") if needs_claims(life.pod) else replica(life.pod, life.pod.name)
                node = _placed(scheduler, pod, others)
                if not node:
                    return Verdict(f"Pod {life.pod.key} has no place on another node.", moves)
                back.callback(snapshot.remove_pod, life.pod.key)
                moves[life.pod.key] = node
        return Verdict("", moves)

    def scheduler(self, more: Sequence[Json]) -> Scheduler:
        """A scheduler over the cluster as it is, with more nodes and their daemons."""
        world = World(self.snapshot.copy())
        for raw in more:
            world.set_node(Node.read(raw))
        snapshot: Snapshot = world.snapshot
        for raw in more:
            columns = daemons.snapshot([raw])
            for of in self.sets:
                for node, spec in daemons.specs(of, columns):
                    pod = Pod.read(daemon_pod(of, node, spec, snapshot.pod_state.pods.slots))
                    snapshot.add_pod(pod.on(node), snapshot.index[node])
        return Scheduler.of(snapshot, self.configuration)


def used(snapshot: Snapshot, node: str) -> dict[str, tuple[int, int]]:
    """By resource: what is requested of a node, and what it has."""
    place, found = snapshot.index[node], {}
    for name in (CPU, MEMORY):
        requested, has = snapshot.amounts(snapshot.requested, name), snapshot.amounts(snapshot.allocatable, name)
        found[name] = int(requested[place]), int(has[place])
    return found


def utilisation(snapshot: Snapshot, node: str) -> float:
    """The larger of the shares of CPU and memory that are requested."""
    return max(requested / has if has else 0.0 for requested, has in used(snapshot, node).values())


def budgets_of(objects: Iterable[Json]) -> list[LiveBudget]:
    return [LiveBudget.read(raw) for raw in objects if raw.get("kind") == "PodDisruptionBudget"]


def sets_of(objects: Iterable[Json]) -> list[Json]:
    return [raw for raw in objects if raw.get("kind") == "DaemonSet"]


def _placed(scheduler: Scheduler, pod: Pod, within: NDArray[np.intp] | None = None) -> str:
    """The node at which the pod finds a place, "" if none; of those ``within``, if any are named. It is put there."""
    if stays_at_drain(pod) or (within is not None and not within.size):
        return ""
    try:
        place = scheduler.find(pod, SearchRequest(within=within)).node
    except CycleError:
        return ""
    if place:
        scheduler.nominator.remove(pod.key)
        # As SchedulePod of cluster-autoscaler's PredicateSnapshot does: it reserves devices, and no volumes.
        if not pod.resource_claims:
            scheduler.snapshot.place_pod(pod, place)
        elif scheduler.reserve(pod, place) is not None:
            return ""
    return place
