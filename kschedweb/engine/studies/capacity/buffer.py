"""Compute the buffer of a cluster: can it lose a zone, or its largest nodes?

The lost nodes are gone with their pods. Controllers make a new pod for each lost one of at least a priority, and
kube-scheduler places these on the other nodes, the highest priority first. It may evict pods of lower priority for
them. Evicted pods of at least that priority are placed anew, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from heapq import heapify, heappop, heappush
from itertools import count

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.controllers.claims import delete_claims
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import WITH_POST_FILTER
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

ZONE = "topology.kubernetes.io/zone"
LOST_ZONE, LOST_NODES = "zone", "nodes"
# The lowest priority: priorities are int32.
LOWEST_PRIORITY = -(1 << 31)
# Pods without a node that an answer names.
MOST_LISTED = 1_000
# Called before each pod; may raise to end the work.
Pulse = Callable[[], None]


@dataclass(frozen=True)
class Stranded:
    """A pod that finds no node; ``message`` is the scheduler's."""

    pod: str
    priority: int
    message: str


@dataclass(frozen=True)
class Loss:
    """The consequences of a loss of nodes."""

    # LOST_ZONE or LOST_NODES.
    kind: str
    # The zone; "" for the largest nodes.
    name: str
    # The lost nodes.
    nodes: tuple[str, ...]
    # Pods that have to be placed anew, and those of them that find a node.
    pods: int
    placed: int
    # Pods of lower priority on the lost nodes, which are not placed anew.
    lower: int
    # Pods without a controller, which nobody makes anew.
    bare: int
    # Pods of lower priority, or without a controller, that are evicted from other nodes.
    evicted: int
    # The first pods that find no node.
    stranded: tuple[Stranded, ...]

    @property
    def survived(self) -> bool:
        return self.placed == self.pods


@dataclass(frozen=True)
class Buffer:
    """The losses that were tried: zones in their order, then the largest nodes."""

    losses: tuple[Loss, ...]
    # The lowest priority that counts.
    priority: int
    # Nodes without a zone.
    unzoned: int

    @property
    def survives(self) -> bool:
        """True if every pod that counts finds a node after each of the losses."""
        return all(loss.survived for loss in self.losses)

    @property
    def worst_loss(self) -> Loss | None:
        """The loss that leaves most pods without a node; ``None`` if nothing was tried."""
        return max(self.losses, key=lambda loss: loss.pods - loss.placed, default=None)


def compute_buffer(
    snapshot: Snapshot,
    configuration: Configuration,
    *,
    zones: bool = True,
    largest: int = 0,
    priority: int = LOWEST_PRIORITY,
    registry: Mapping[str, PluginFactory] | None = None,
    pulse: Pulse | None = None,
) -> Buffer:
    """Lose each of the ``zones``, then the ``largest`` nodes together; pods of at least ``priority`` count.

    The largest nodes are those with most allocatable CPU, then memory, then requested CPU.
    """
    grouped: dict[str, list[str]] = {}
    for node in snapshot.nodes:
        grouped.setdefault(node.labels.get(ZONE, ""), []).append(node.name)
    unzoned = len(grouped.pop("", []))
    lost_groups = [(LOST_ZONE, name, tuple(grouped[name])) for name in sorted(grouped)] if zones else []
    if largest:
        lost_groups.append((LOST_NODES, "", largest_nodes(snapshot, largest)))
    losses = tuple(
        _simulate_loss(snapshot, configuration, lost_group, priority, registry, pulse) for lost_group in lost_groups
    )
    return Buffer(losses, priority, unzoned)


def largest_nodes(snapshot: Snapshot, count: int) -> tuple[str, ...]:
    """Return the names of the ``count`` largest nodes."""
    columns = [snapshot.resource_row(snapshot.allocatable, name) for name in (CPU, MEMORY)]
    columns.append(snapshot.resource_row(snapshot.requested, CPU))
    sizes = list(zip(*(column.tolist() for column in columns), strict=True))
    order = sorted(range(len(snapshot)), key=lambda place: (*(-size for size in sizes[place]), snapshot.names[place]))
    return tuple(snapshot.names[place] for place in order[:count])


def _simulate_loss(
    snapshot: Snapshot,
    configuration: Configuration,
    lost_group: tuple[str, str, tuple[str, ...]],
    priority: int,
    registry: Mapping[str, PluginFactory] | None,
    pulse: Pulse | None,
) -> Loss:
    kind, name, nodes = lost_group
    moving = [pod for node in nodes for pod in snapshot.pods.pods_on(snapshot.index[node]) if not stays_at_drain(pod)]
    controlled = [pod for pod in moving if pod.controller is not None]
    due = [pod.on("") for pod in controlled if pod.priority >= priority]
    world = SchedulerCache(snapshot.copy())
    # Claims of the lost pods go with them; their replacements get claims of their own.
    for pod in [pod for node in nodes for pod in world.remove_node(node)]:
        world.release_claims(pod)
        delete_claims(pod, world.cluster, world.claims)
    scheduler = Scheduler.from_configuration(world.snapshot, configuration, registry)
    outcome = _PodPlacer(scheduler, priority, pulse)
    outcome.run(due)
    bare = sum(pod.controller is None and pod.priority >= priority for pod in moving)
    lower = sum(pod.priority < priority for pod in moving)
    placed, stranded = len(outcome.placed), outcome.stranded
    pods = placed + len(stranded)
    return Loss(kind, name, nodes, pods, placed, lower, bare, outcome.evicted, tuple(stranded[:MOST_LISTED]))


@dataclass
class _PodPlacer:
    """Place pods anew, and evicted pods that count. ``evicted`` is the number of evicted pods that do not count."""

    scheduler: Scheduler
    priority: int
    pulse: Pulse | None
    placed: set[str] = field(default_factory=set)
    evicted: int = 0
    stranded: list[Stranded] = field(default_factory=list)

    def run(self, due: Sequence[Pod]) -> None:
        # Numbers keep the order of pods of equal priority, and keep the heap from comparing pods.
        numbers = count()
        waiting = [(-pod.priority, next(numbers), pod) for pod in due]
        heapify(waiting)
        while waiting:
            if self.pulse is not None:
                self.pulse()
            _, _, pod = heappop(waiting)
            for victim in self._place_pod(pod):
                heappush(waiting, (-victim.priority, next(numbers), victim))

    def _place_pod(self, pod: Pod) -> list[Pod]:
        """Place the pod or record that it is stranded; return evicted pods that have to be placed anew."""
        scheduler = self.scheduler
        pod, _ = scheduler.create_claims(pod)
        placement = scheduler.place_pod(pod, WITH_POST_FILTER)
        victims = [scheduler.evict_pod(key) for key in placement.victims]
        # Preemption only nominates a node; the second try takes it.
        if placement.victims or placement.frees:
            placement = scheduler.place_pod(pod)
        if placement.node:
            self.placed.add(pod.key)
        else:
            self.stranded.append(Stranded(pod.key, pod.priority, placement.message))
        requeued = [victim for victim in victims if victim.priority >= self.priority and victim.controller is not None]
        # A victim was perhaps placed before; it counts as placed only if it finds a node again.
        self.placed.difference_update(victim.key for victim in requeued)
        self.evicted += len(victims) - len(requeued)
        return requeued
