"""cluster-autoscaler in its usual configuration, at work in a simulation.

Written after its documentation (the FAQ of kubernetes/autoscaler), and not compared with its code. Each ten seconds it
looks for pods that wait: of each node group it reckons how many nodes they need, and the expander picks one group. When
none is needed, nodes whose requests are below the threshold and whose pods fit elsewhere count as unneeded; after ten
minutes they go, empty ones up to ten at once, others one by one. Nothing goes within ten minutes after nodes were asked
for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kschedweb.engine.controllers import daemons
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json, mapping, string_map
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation.autoscaling.hands import AutoscalerSetup, Hands, LiveBudget, daemon_pod, raw_node
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.observer import LAUNCHED, REMOVED, Deed
from kschedweb.engine.simulation.pods import replica
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.world import World

LEAST_WASTE, PRICE, PRIORITY = "least-waste", "price", "priority"
EXPANDERS = (LEAST_WASTE, PRICE, PRIORITY)
SCAN, DRAINING = 10.0, 1.0
MOST_EMPTY = 10  # nodes that go at once
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
KEPT = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
LEAVING = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
SYSTEM = "kube-system"
UNNEEDED = "cluster-autoscaler removes {}"


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


@dataclass(frozen=True, eq=False)
class GroupsSetup(AutoscalerSetup):
    """Seconds. A node whose requests are below ``threshold`` of CPU and memory may be unneeded."""

    groups: tuple[NodeGroup, ...]
    objects: Sequence[Json]
    expander: str = LEAST_WASTE
    launch: float = 60.0
    threshold: float = 0.5
    unneeded: float = 600.0
    after_add: float = 600.0

    def begin(self, hands: Hands) -> None:
        _Loop(self, hands)

    def price(self, labels: Mapping[str, str]) -> float | None:
        return next((one.price for one in self.groups if one.holds(labels)), None)


@dataclass(frozen=True, slots=True)
class _Option:
    """``count`` more nodes of a group help ``pods`` pods; ``wasted`` shares of their CPU and memory stay free."""

    group: NodeGroup
    count: int
    pods: int
    wasted: tuple[float, float]


@dataclass(eq=False)
class _Loop:
    """The loop of one simulation. ``_nodes`` has the group of each node that is there or was asked for."""

    setup: GroupsSetup
    hands: Hands
    _nodes: dict[str, NodeGroup] = field(default_factory=dict)
    _coming: dict[str, Json] = field(default_factory=dict)
    _idle: dict[str, float] = field(default_factory=dict)  # since when a node is unneeded
    _going: set[str] = field(default_factory=set)
    _made: int = 0
    _added: float = float("-inf")

    def __post_init__(self) -> None:
        self._sets = [raw for raw in self.setup.objects if raw.get("kind") == "DaemonSet"]
        budgets = (raw for raw in self.setup.objects if raw.get("kind") == "PodDisruptionBudget")
        self._budgets = [LiveBudget.read(raw) for raw in budgets]
        for node in self.hands.pods.world.nodes.values():
            group = next((one for one in self.setup.groups if one.holds(node.labels)), None)
            if group is not None:
                self._nodes[node.name] = group
        self.hands.at(SCAN, self._scan)

    def _scan(self, now: float) -> None:
        self.hands.at(now + SCAN, self._scan)
        waiting = self.hands.pending()
        if waiting and self._scale_up([life.pod for life in waiting], now):
            return
        self._scale_down(now)

    # Nodes for pods that wait.

    def _scale_up(self, pods: list[Pod], now: float) -> bool:
        """Ask for nodes of one group; whether there are any for which there is a use."""
        scheduler = self._scheduler([*self._coming.values()])
        left = [pod for pod in pods if not _placed(scheduler, pod)]
        options = [found for group in self.setup.groups if (found := self._option(group, left)) is not None]
        if not options:
            return False
        best = min(options, key=self._rank)
        for _ in range(best.count):
            self._launch(best.group, f"for {best.pods} pods", now)
        return True

    def _option(self, group: NodeGroup, pods: list[Pod]) -> _Option | None:
        """How many nodes of the group would hold the pods, one node more at a time."""
        room = group.most - sum(one is group for one in self._nodes.values())
        left, count, helped, free, whole = list(pods), 0, 0, [0.0, 0.0], [0.0, 0.0]
        while left and count < room:
            raw = group.node(f"{group.name}-template-{count}")
            scheduler = self._scheduler([raw])
            name = raw["metadata"]["name"]
            on = [pod for pod in left if _placed(scheduler, pod, name)]
            if not on:
                break
            place = scheduler.snapshot.index[name]
            for number, resource in enumerate((CPU, MEMORY)):
                has = int(scheduler.snapshot.amounts(scheduler.snapshot.allocatable, resource)[place])
                free[number] += has - int(scheduler.snapshot.amounts(scheduler.snapshot.requested, resource)[place])
                whole[number] += has
            left = [pod for pod in left if pod not in on]
            count, helped = count + 1, helped + len(on)
        if not count:
            return None
        shares = [rest / all_of or 0.0 if all_of else 0.0 for rest, all_of in zip(free, whole, strict=True)]
        return _Option(group, count, helped, (shares[0], shares[1]))

    def _rank(self, option: _Option) -> tuple[object, ...]:
        """What the expander takes is the least."""
        group = option.group
        if self.setup.expander == PRICE:
            cost = (float("inf") if group.price is None else group.price) * option.count
            return cost / option.pods, option.wasted, group.name
        if self.setup.expander == PRIORITY:
            return -group.priority, option.wasted, group.name
        return *option.wasted, group.name

    def _launch(self, group: NodeGroup, what: str, now: float) -> None:
        self._made += 1
        name = f"{group.name}-{self._made}"
        self._added, self._nodes[name], self._coming[name] = now, group, group.node(name)
        self.hands.after(now + self.setup.launch, lambda time: self._join(name, time))
        price = "" if group.price is None else f", {group.price:g} an hour"
        self.hands.tell(Deed(LAUNCHED, name, f"of node group {group.name}{price}, {what}"), now)

    def _join(self, name: str, now: float) -> None:
        self.hands.add(self._coming.pop(name), self._sets, now)

    # Nodes that are not needed.

    def _scale_down(self, now: float) -> None:
        if now - self._added < self.setup.after_add:
            self._idle.clear()
            return
        unneeded = [name for name in self._nodes if self._unneeded(name)]
        self._idle = {name: self._idle.get(name, now) for name in unneeded}
        due = [name for name, since in self._idle.items() if now - since >= self.setup.unneeded]
        empty = [name for name in due if not self.hands.on(name)][:MOST_EMPTY]
        for name in empty or due[:1]:
            if not self._spare(self._nodes[name]):
                continue
            self._going.add(name)
            del self._idle[name]
            taints = mapping(self.hands.pods.world.nodes[name].raw, "spec").get("taints") or ()
            self.hands.change(name, now, taints=(*taints, LEAVING))
            self._drain(name, now)

    def _spare(self, group: NodeGroup) -> bool:
        """Whether the group may lose one more node."""
        kept = sum(one is group for name, one in self._nodes.items() if name not in self._going)
        return kept > group.least

    def _unneeded(self, name: str) -> bool:
        node = self.hands.pods.world.nodes.get(name)
        if node is None or name in self._going or not self._spare(self._nodes[name]):
            return False
        if string_map(mapping(node.raw, "metadata"), "annotations").get(KEPT) == "true":
            return False
        if self._used(node) >= self.setup.threshold:
            return False
        lives = self.hands.on(name)
        return all(map(self._may_move, lives)) and (not lives or self._fit_elsewhere(name, lives))

    def _used(self, node: Node) -> float:
        snapshot = self.hands.pods.world.snapshot
        place, shares = snapshot.index[node.name], []
        for name in (CPU, MEMORY):
            has = int(snapshot.amounts(snapshot.allocatable, name)[place])
            shares.append(int(snapshot.amounts(snapshot.requested, name)[place]) / has if has else 0.0)
        return max(shares)

    def _may_move(self, life: Life) -> bool:
        """Whether nothing keeps the pod on its node: it has a controller and no local data, and may be evicted."""
        pod, annotations = life.pod, string_map(mapping(life.pod.raw, "metadata"), "annotations")
        meant = [one for one in self._budgets if one.means(pod)]
        if annotations.get(SAFE) == "false" or not all(one.allowed(self.hands.pods.lives.values()) for one in meant):
            return False
        if annotations.get(SAFE) == "true":
            return True
        volumes = mapping(pod.raw, "spec").get("volumes") or ()
        local = any("emptyDir" in one or "hostPath" in one for one in volumes)
        return pod.controller is not None and not local and (pod.namespace != SYSTEM or bool(meant))

    def _fit_elsewhere(self, name: str, lives: list[Life]) -> bool:
        scheduler = self._scheduler([], without={name, *self._going})
        return all(_placed(scheduler, replica(life.pod, life.pod.name)) for life in lives)

    def _drain(self, name: str, now: float) -> None:
        if name not in self.hands.pods.world.nodes:
            del self._nodes[name]
            return
        for life in self.hands.on(name):
            if all(one.allowed(self.hands.pods.lives.values()) for one in self._budgets if one.means(life.pod)):
                self.hands.evict(life, UNNEEDED.format(name), now)
        if not self.hands.empty(name):
            self.hands.after(now + DRAINING, lambda time: self._drain(name, time))
            return
        del self._nodes[name]
        self._going.discard(name)
        self.hands.leave(name, now)
        self.hands.tell(Deed(REMOVED, name, "unneeded"), now)

    def _scheduler(self, more: Sequence[Json], without: frozenset[str] | set[str] = frozenset()) -> Scheduler:
        """A scheduler over the cluster as it is, with more nodes and their daemons, and without some."""
        world = World(self.hands.pods.world.snapshot.copy())
        for name in without:
            if name in world.nodes:
                world.remove_node(name)
        for raw in more:
            world.set_node(Node.read(raw))
        snapshot: Snapshot = world.snapshot
        for raw in more:
            columns = daemons.snapshot([raw])
            for of in self._sets:
                for node, spec in daemons.specs(of, columns):
                    pod = Pod.read(daemon_pod(of, node, spec))
                    snapshot.add_pod(pod.on(node), snapshot.index[node])
        return Scheduler.of(snapshot, self.hands.configuration)


def _placed(scheduler: Scheduler, pod: Pod, node: str = "") -> bool:
    """Whether the pod finds a place, at ``node`` if one is named; it is put there."""
    if stays_at_drain(pod):
        return False
    try:
        if node and not scheduler.verdict(pod, node).ok:
            return False
        place = node or scheduler.find(pod).node
    except CycleError:
        return False
    if place:
        scheduler.nominator.remove(pod.key)
        scheduler.bind(pod, place)
    return bool(place)
