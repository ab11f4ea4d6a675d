"""The decisions of cluster-autoscaler when it looks at a cluster; nothing here waits or changes anything.

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
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_string_map
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation.autoscaling.context import LiveBudget, daemon_pod, raw_node
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.simulation.pods import make_replica
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

LEAST_WASTE, PRICE, PRIORITY = "least-waste", "price", "priority"
EXPANDERS = (LEAST_WASTE, PRICE, PRIORITY)
# Empty nodes that go at once, the default of ``--max-empty-bulk-delete``.
MOST_EMPTY = 10
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SYSTEM = "kube-system"
NO_GROUP, USED = "It is of no node group.", "Its utilisation is not below the threshold."


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """A group of nodes that are alike.

    An existing node belongs to the first group all of whose ``labels`` it has.
    """

    name: str
    allocatable: Mapping[str, str]
    max_size: int
    min_size: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    zone: str = ""
    # An hour; ``None`` if it is not known.
    price: float | None = None
    # For the priority expander: the highest comes first.
    priority: int = 0

    def matches_labels(self, labels: Mapping[str, str]) -> bool:
        return bool(self.labels) and all(labels.get(key) == value for key, value in self.labels.items())

    def template_node(self, name: str) -> Json:
        labels = {**self.labels, HOSTNAME: name} | ({ZONE: self.zone} if self.zone else {})
        has = {"pods": "110", **self.allocatable}
        return raw_node(name, labels, self.taints, has, has)


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """The node groups and settings of cluster-autoscaler; times in seconds."""

    groups: tuple[NodeGroup, ...]
    expander: str = LEAST_WASTE
    # From asking for a node until it joins.
    launch: float = 60.0
    # A node may be unneeded if its requested shares of CPU and memory are below this.
    threshold: float = 0.5
    # For how long a node must be unneeded before it goes.
    unneeded: float = 600.0
    # For how long nothing goes after nodes were asked for.
    after_add: float = 600.0

    def group_by_node(self, nodes: Iterable[Node]) -> dict[str, NodeGroup]:
        """Return the group of each node that belongs to one."""
        groups_by_node = {
            node.name: next((group for group in self.groups if group.matches_labels(node.labels)), None)
            for node in nodes
        }
        return {name: group for name, group in groups_by_node.items() if group is not None}

    def rank_key(self, option: ScaleUpOption) -> tuple[object, ...]:
        """Return the expander's sort key: it takes the option with the least one."""
        group = option.group
        if self.expander == PRICE:
            return option.price_per_pod, option.wasted, group.name
        if self.expander == PRIORITY:
            return -group.priority, option.wasted, group.name
        return *option.wasted, group.name


@dataclass(frozen=True, slots=True)
class ScaleUpOption:
    """More nodes of one group."""

    group: NodeGroup
    # The pods that each new node would get.
    pods: tuple[tuple[Pod, ...], ...]
    # Shares of CPU and memory of the new nodes that would stay free.
    wasted: tuple[float, float]

    @property
    def count(self) -> int:
        return len(self.pods)

    @property
    def helped_pods(self) -> list[Pod]:
        return [pod for node in self.pods for pod in node]

    @property
    def price_per_pod(self) -> float:
        price = float("inf") if self.group.price is None else self.group.price
        return price * self.count / len(self.helped_pods)


@dataclass(frozen=True, slots=True)
class ScaleUpAnalysis:
    """The answer to the pods that wait."""

    # Pods that fit on a node that exists or is on its way: pod -> node.
    placed: Mapping[str, str]
    # Pods without such a place.
    unplaced: list[Pod]
    # What helps the unplaced pods, the best option first.
    options: list[ScaleUpOption]


@dataclass(frozen=True, slots=True)
class ScaleDownVerdict:
    """The verdict on one node.

    A node is unneeded if nothing keeps it.
    """

    # The reason why it stays; "" if it is unneeded.
    why: str
    # pod -> node that it would go to.
    moves: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClusterLook:
    """A cluster at one moment."""

    node_groups: NodeGroups
    configuration: Configuration
    snapshot: Snapshot
    # the group of each node that is there or was requested
    nodes: Mapping[str, NodeGroup]
    sets: Sequence[Json]
    budgets: Sequence[LiveBudget]
    # all pods
    lives: Callable[[], Iterable[PodLife]]
    # the pods of a node that would have to go elsewhere
    on: Callable[[str], list[PodLife]]
    # nodes on their way out
    going: Collection[str] = ()
    # called between steps; may raise to end the look
    check: Callable[[], object] = lambda: None

    # Nodes for pods that wait.

    def analyze_scale_up(self, pods: Sequence[Pod], coming: Sequence[Json]) -> ScaleUpAnalysis:
        """Place the pods on existing and ``coming`` nodes, and work out what helps the rest."""
        scheduler, placed, unplaced = self.make_scheduler(coming), dict[str, str](), []
        for pod in pods:
            self.check()
            node = _place_pod(scheduler, pod)
            if node:
                placed[pod.key] = node
            else:
                unplaced.append(pod)
        options = [
            candidate
            for group in self.node_groups.groups
            if (candidate := self.compute_option(group, unplaced)) is not None
        ]
        return ScaleUpAnalysis(placed, unplaced, sorted(options, key=self.node_groups.rank_key))

    def size_headroom(self, group: NodeGroup) -> int:
        """Return how many more nodes the group may have."""
        return group.max_size - sum(node_group is group for node_group in self.nodes.values())

    def compute_option(self, group: NodeGroup, pods: Sequence[Pod]) -> ScaleUpOption | None:
        """Return how many nodes of the group would hold the pods; each is filled with pods that did not fit before.

        Once a pod is refused, pods like it are not tried on the same node.
        """
        room, unplaced, helped, free, whole = (
            self.size_headroom(group),
            list(pods),
            list[tuple[Pod, ...]](),
            [0, 0],
            [0, 0],
        )
        name = f"{group.name}-template"
        if not unplaced or room <= 0:
            return None
        scheduler = self.make_scheduler([group.template_node(name)])
        place = np.array([scheduler.snapshot.index[name]], dtype=np.intp)
        while unplaced and len(helped) < room:
            on, refused_pods, refused = list[Pod](), list[Pod](), set[Hashable]()
            for pod in unplaced:
                self.check()
                if pod.signature not in refused and _place_pod(scheduler, pod, place):
                    on.append(pod)
                else:
                    refused_pods.append(pod)
                    refused.add(pod.signature)
            if not on:
                break
            for number, (requested, has) in enumerate(requested_and_allocatable(scheduler.snapshot, name).values()):
                free[number] += has - requested
                whole[number] += has
            # The template node is emptied and filled again: the nodes of a group are alike.
            for pod in on:
                scheduler.snapshot.remove_pod(pod.key)
            helped.append(tuple(on))
            unplaced = refused_pods
        if not helped:
            return None
        shares = [unused / all_of if all_of else 0.0 for unused, all_of in zip(free, whole, strict=True)]
        return ScaleUpOption(group, tuple(helped), (shares[0], shares[1]))

    # Nodes that are not needed.

    def judge_node(self, name: str) -> ScaleDownVerdict:
        """Return whether a node is unneeded: where its pods would go, or why it stays."""
        self.check()
        lives = self.on(name)
        why = self._why_node_stays(name) or next(filter(None, map(self._why_pod_stays, lives)), "")
        return self._place_elsewhere(name, lives) if lives and not why else ScaleDownVerdict(why)

    def _why_node_stays(self, name: str) -> str:
        """Return why the node stays whatever runs on it; "" if nothing but its pods may keep it."""
        group, place = self.nodes.get(name), self.snapshot.index.get(name)
        if group is None:
            return NO_GROUP
        if place is None or name in self.going:
            return "It is not there yet, or on its way out."
        if not self.can_spare_node(group):
            return f"Its node group has its least number of nodes, {group.min_size}."
        if (
            get_string_map(get_mapping(self.snapshot.nodes[place].raw, "metadata"), "annotations").get(
                SCALE_DOWN_DISABLED
            )
            == "true"
        ):
            return f"It has the annotation {SCALE_DOWN_DISABLED}: true."
        return USED if compute_utilisation(self.snapshot, name) >= self.node_groups.threshold else ""

    def select_removable(self, due: Sequence[str]) -> list[str]:
        """Return those of the ``due`` nodes that go now: up to ten empty ones, or one with pods."""
        candidates = [name for name in due if not self.on(name)][:MOST_EMPTY] or due[:1]
        selected: list[str] = []
        for name in candidates:
            if self.can_spare_node(self.nodes[name], [*self.going, *selected]):
                selected.append(name)
        return selected

    def can_spare_node(self, group: NodeGroup, going: Collection[str] | None = None) -> bool:
        """Return true if the group may lose one more node."""
        excluded = self.going if going is None else going
        return (
            sum(node_group is group for name, node_group in self.nodes.items() if name not in excluded) > group.min_size
        )

    def _why_pod_stays(self, life: PodLife) -> str:
        """Return why the pod may not leave its node; "" if it may.

        It stays without a controller, with local data, or if it may not be evicted.
        """
        pod, annotations = life.pod, get_string_map(get_mapping(life.pod.raw, "metadata"), "annotations")
        meant = [budget for budget in self.budgets if budget.covers_pod(pod)]
        if annotations.get(SAFE) == "false":
            return f"Pod {pod.key} has the annotation {SAFE}: false."
        if tight := next((budget for budget in meant if not budget.disruptions_allowed(self.lives())), None):
            return f"PodDisruptionBudget {tight.namespace}/{tight.name} lets no pod go, and {pod.key} is of it."
        if annotations.get(SAFE) == "true":
            return ""
        if pod.controller is None:
            return f"Pod {pod.key} has no controller."
        if any(
            "emptyDir" in volume or "hostPath" in volume for volume in get_mapping(pod.raw, "spec").get("volumes") or ()
        ):
            return f"Pod {pod.key} has local data."
        return f"Pod {pod.key} is of {SYSTEM}, without a budget." if pod.namespace == SYSTEM and not meant else ""

    @cached_property
    def _drain_scheduler(self) -> Scheduler:
        """A scheduler over a copy of the cluster, on which one node at a time is emptied and filled again."""
        return Scheduler.from_configuration(self.snapshot.copy(), self.configuration)

    def _place_elsewhere(self, name: str, lives: Sequence[PodLife]) -> ScaleDownVerdict:
        """Find places for the node's pods on other nodes.

        The emptied node stays in the snapshot, as it does while it is drained, and counts for the spread of pods.
        """
        scheduler, moves = self._drain_scheduler, dict[str, str]()
        snapshot = scheduler.snapshot
        closed = [snapshot.index[node_name] for node_name in {name, *self.going} if node_name in snapshot.index]
        other_nodes = np.delete(np.arange(len(snapshot), dtype=np.intp), closed)
        # Every node is judged from the same start, so that the order of nodes does not matter.
        scheduler.advance_start(-scheduler.start)
        # Everything is taken back in reverse order when the block ends: the copy serves for all nodes.
        with ExitStack() as back:
            for pod in snapshot.pods.pods_on(snapshot.index[name]):
                back.enter_context(scheduler.without_pod(pod.key, keep_generated_claims=True))
            for life in lives:
                self.check()
                back.callback(snapshot.save_claims(life.pod))
                # Claims that were made for a pod are its own: cluster-autoscaler looks at them as they are.
                pod = life.pod.on("") if needs_claims(life.pod) else make_replica(life.pod, life.pod.name)
                node = _place_pod(scheduler, pod, other_nodes)
                if not node:
                    return ScaleDownVerdict(f"Pod {life.pod.key} has no place on another node.", moves)
                back.callback(snapshot.remove_pod, life.pod.key)
                moves[life.pod.key] = node
        return ScaleDownVerdict("", moves)

    def make_scheduler(self, more: Sequence[Json]) -> Scheduler:
        """Return a scheduler over the cluster as it is, with ``more`` nodes and their daemon pods."""
        world = SchedulerCache(self.snapshot.copy())
        for raw in more:
            world.set_node(Node.from_json(raw))
        snapshot: Snapshot = world.snapshot
        for raw in more:
            columns = daemons.make_snapshot([raw])
            for daemon_set in self.sets:
                for node, spec in daemons.list_node_specs(daemon_set, columns):
                    pod = Pod.from_json(daemon_pod(daemon_set, node, spec, snapshot.pod_state.pods.slots))
                    snapshot.add_pod(pod.on(node), snapshot.index[node])
        return Scheduler.from_configuration(snapshot, self.configuration)


def requested_and_allocatable(snapshot: Snapshot, node: str) -> dict[str, tuple[int, int]]:
    """Return what is requested of a node, and what it has, by resource."""
    place, amounts_by_name = snapshot.index[node], {}
    for name in (CPU, MEMORY):
        requested, has = (
            snapshot.resource_row(snapshot.requested, name),
            snapshot.resource_row(snapshot.allocatable, name),
        )
        amounts_by_name[name] = int(requested[place]), int(has[place])
    return amounts_by_name


def compute_utilisation(snapshot: Snapshot, node: str) -> float:
    """Return the larger of the requested shares of CPU and memory."""
    return max(requested / has if has else 0.0 for requested, has in requested_and_allocatable(snapshot, node).values())


def read_budgets(objects: Iterable[Json]) -> list[LiveBudget]:
    return [LiveBudget.from_json(raw) for raw in objects if raw.get("kind") == "PodDisruptionBudget"]


def filter_daemon_sets(objects: Iterable[Json]) -> list[Json]:
    return [raw for raw in objects if raw.get("kind") == "DaemonSet"]


def _place_pod(scheduler: Scheduler, pod: Pod, positions: NDArray[np.intp] | None = None) -> str:
    """Place the pod, at one of ``positions`` if given; returns its node, or "" if it fits nowhere."""
    if stays_at_drain(pod) or (positions is not None and not positions.size):
        return ""
    try:
        place = scheduler.find(pod, SearchRequest(allowed_nodes=positions)).node
    except CycleError:
        return ""
    if place:
        scheduler.nominator.delete_nominated_pod(pod.key)
        # As SchedulePod of cluster-autoscaler's PredicateSnapshot does: it reserves devices, and no volumes.
        if not pod.resource_claims:
            scheduler.snapshot.place_pod(pod, place)
        elif scheduler.reserve_pod(pod, place) is not None:
            return ""
    return place
