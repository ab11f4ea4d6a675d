"""Karpenter at work in a simulation: nodes for pods that wait, and consolidation, by its own rules.

Simplified: a command of consolidation is carried out at once, not validated after 15 seconds; a node costs and takes
what its offering says; nothing drifts, expires or is interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import inf

from kschedweb.engine.autoscaling.cluster.guards import Guard
from kschedweb.engine.autoscaling.cluster.nodes import CONSOLIDATABLE, INITIALIZED_CONDITION, ClaimView, NodeView
from kschedweb.engine.autoscaling.cluster.pods import DISRUPTED, Asking, PodView, read_pod
from kschedweb.engine.autoscaling.cluster.world import Objects, World
from kschedweb.engine.autoscaling.disruption.consolidating import Command
from kschedweb.engine.autoscaling.disruption.methods import Consolidation
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.offers.amounts import Milli
from kschedweb.engine.autoscaling.offers.instancetypes import InstanceType, Offering
from kschedweb.engine.autoscaling.offers.labels import (
    ARCH,
    CAPACITY_TYPE,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    OS,
    REGISTERED,
)
from kschedweb.engine.autoscaling.provisioning.answering import taint_json
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.autoscaling.provisioning.solving import Proposal, Solver
from kschedweb.engine.controllers.autoscaling import cron
from kschedweb.engine.controllers.naming import letters
from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.simulation.autoscaling.hands import AutoscalerSetup, Hands, LiveBudget, raw_node
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.observer import LAUNCHED, REMOVED, Deed
from kschedweb.engine.values import dataclass

IDLE, LONGEST = 1.0, 10.0
"""How long no pod comes before a batch ends, and how long a batch lasts at most."""
POLL, AGAIN, DRAINING = 10.0, 300.0, 1.0
"""Seconds between looks for nodes that can go; after which one is taken although nothing changed; between evictions."""
BEGINNING = cron.MONDAY.timestamp()
"""What Karpenter takes for the time at the beginning (seconds of the epoch)."""
STORED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "Namespace", "DaemonSet")
CONSOLIDATED = "Karpenter consolidates {}: {}"


@dataclass(frozen=True, eq=False)
class KarpenterSetup(AutoscalerSetup):
    """Karpenter among ``objects``. A node joins ``launch`` seconds after it is asked for, and loses its startup taints
    ``startup`` seconds later."""

    karpenter: Karpenter
    objects: Sequence[Json]
    launch: float = 60.0
    startup: float = 10.0

    def begin(self, hands: Hands) -> None:
        _Loops(self, hands)

    def price(self, labels: Mapping[str, str]) -> float | None:
        sold = self._types.get(labels.get(INSTANCE_TYPE, ""))
        return sold.price(labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")) if sold else None

    @cached_property
    def _types(self) -> dict[str, InstanceType]:
        return {one.name: one for one in self.karpenter.types}

    def of(self, kind: str) -> list[Json]:
        return [raw for raw in self.objects if raw.get("kind") == kind]


@dataclass(eq=False)
class _Machine:
    """A node that Karpenter owns. ``initialized`` once it joined and its startup taints are gone."""

    claim: ClaimView
    node: Json
    event: float
    initialized: bool = False
    going: str = ""  # why, once it is on its way out
    awaits: str = ""  # the node that must be there before its pods are evicted


@dataclass(eq=False)
class _Loops:
    """The two loops of one simulation."""

    setup: KarpenterSetup
    hands: Hands
    _machines: dict[str, _Machine] = field(default_factory=dict)
    _asked: dict[int, Asking] = field(default_factory=dict)
    _views: dict[Life, PodView] = field(default_factory=dict)
    _nodes: dict[str, tuple[Node, NodeView]] = field(default_factory=dict)
    _static: Objects = field(default_factory=Objects)
    _batch: tuple[float, float] | None = None  # when it began, and when its last pod came
    _made: int = 0
    _changes: int = 0
    _tried: tuple[int, frozenset[str]] = (-1, frozenset())
    _looked: tuple[int, frozenset[str], float] = (-1, frozenset(), 0.0)

    def __post_init__(self) -> None:
        self._sets, self._pools = self.setup.of("DaemonSet"), {one.name: one for one in self.setup.karpenter.pools}
        self._budgets = [(raw, LiveBudget.read(raw)) for raw in self.setup.of("PodDisruptionBudget")]
        for raw in self.setup.objects:
            if raw.get("kind") in STORED:
                self._static.take(raw)
        for node in self.hands.pods.world.nodes.values():
            if node.labels.get(NODEPOOL):
                self._machines[node.name] = _Machine(_claim_of(node), node.raw, -inf, initialized=True)
        self.hands.heard, self.hands.touched = self._heard, self._touched
        self.hands.at(POLL, self._poll)

    # What happens.

    def _heard(self, now: float) -> None:
        """A pod found no node: a batch of pods begins, or goes on."""
        if self._batch is None:
            self._batch = now, now
            self.hands.after(now + IDLE, self._end_batch)
        else:
            self._batch = self._batch[0], now

    def _end_batch(self, now: float) -> None:
        assert self._batch is not None
        began, last = self._batch
        end = min(last + IDLE, began + LONGEST)
        if now < end:
            self.hands.after(end, self._end_batch)
            return
        self._batch = None
        self._provision(now)

    def _touched(self, life: Life, now: float) -> None:
        """A pod came to its node, or leaves it."""
        self._changes += 1
        machine = self._machines.get(life.pod.node_name)
        if machine is not None and not self._view(life).daemon:
            machine.event = now

    # Nodes for pods that wait.

    def _worth_trying(self) -> bool:
        """Whether pods wait that might fare otherwise than when they were tried last."""
        waiting = frozenset(life.pod.key for life in self.hands.pending())
        return bool(waiting) and (self._changes, waiting) != self._tried

    def _provision(self, now: float) -> None:
        if not self._worth_trying():
            return
        self._tried = self._changes, frozenset(self.hands.waiting)
        world = self._world(now)
        ground = Ground(world)
        pods = [*ground.pending, *world.leaving_pods]
        if not pods or not world.usable:
            return
        for proposal in Solver(ground, pods).solve().new:
            self._launch(proposal, f"for {len(proposal.node.pods)} pods", now)

    def _launch(self, proposal: Proposal, what: str, now: float) -> str:
        """Ask for the cheapest offer; the name of the node, "" where there is none."""
        template = proposal.node.template
        offers = template.catalogue.offers(proposal.types, proposal.node.requirements)
        if not offers:
            return ""
        (type_name, offering), pool = offers[0], template.pool
        sold = template.catalogue.by_name[type_name]
        self._made += 1
        name = f"{pool.name}-{letters(f'{pool.name}/{self._made}', 5)}"
        labels = {**pool.all_labels, **_chosen(proposal), **_labels(sold, offering), HOSTNAME: name}
        taints = [*pool.taints, *pool.startup_taints]
        capacity, allocatable = _written(sold.capacity), _written(sold.allocatable)
        node = raw_node(name, labels, map(taint_json, taints), capacity, allocatable)
        claim = ClaimView(
            name=name,
            provider_id=f"none:///{name}",
            labels=labels,
            annotations={},
            taints=pool.taints,
            startup_taints=pool.startup_taints,
            capacity=sold.capacity,
            allocatable=sold.allocatable,
            conditions={},
            terminating=False,
            created=BEGINNING + now,
            expire_after=None,
            last_pod_event=None,
        )
        self._machines[name] = _Machine(claim, node, now)
        self.hands.after(now + self.setup.launch, lambda time: self._join(name, time))
        where = f"{sold.name} in {offering.zone}, {offering.capacity_type}, {offering.price:g} an hour"
        self.hands.tell(Deed(LAUNCHED, name, f"{where}, {what}"), now)
        return name

    def _join(self, name: str, now: float) -> None:
        machine = self._machines[name]
        node, later = machine.node, bool(machine.claim.startup_taints)
        labels = {**node["metadata"]["labels"], REGISTERED: "true"} | ({} if later else {INITIALIZED: "true"})
        machine.initialized = not later
        machine.event = now
        self.hands.add({**node, "metadata": {**node["metadata"], "labels": labels}}, self._sets, now)
        self._changes += 1
        if later:
            self.hands.after(now + self.setup.startup, lambda time: self._initialize(name, time))

    def _initialize(self, name: str, now: float) -> None:
        """The startup taints go."""
        if (machine := self._machines.get(name)) is not None and name in self.hands.pods.world.nodes:
            taints = tuple(map(taint_json, machine.claim.taints))
            self.hands.change(name, now, taints=taints, labels={INITIALIZED: "true"})
            machine.initialized = True
            self._changes += 1

    # Nodes that can go.

    def _poll(self, now: float) -> None:
        self.hands.at(now + POLL, self._poll)
        if self._batch is None and self._worth_trying():
            self._heard(now)  # pods that wait are looked at again
        ready = frozenset(name for name, machine in self._machines.items() if self._consolidatable(machine, now))
        changes, before, looked = self._looked
        if not ready or (changes == self._changes and before == ready and now - looked < AGAIN):
            return
        self._looked = self._changes, ready, now
        found = Consolidation(Ground(self._world(now))).look().command
        if found is not None:
            self._start(found[0].reason, found[1], now)

    def _consolidatable(self, machine: _Machine, now: float) -> bool:
        pool = self._pools.get(machine.claim.labels[NODEPOOL])
        if pool is None or pool.consolidate_after is None or not machine.initialized or machine.going:
            return False
        return now - machine.event >= pool.consolidate_after

    def _start(self, reason: str, command: Command, now: float) -> None:
        """Keep new pods off the nodes that go; their pods are evicted once the node in their place is there."""
        self._changes += 1
        names = [one.name for one in command.candidates]
        awaits = ""
        if command.replacement is not None:
            awaits = self._launch(command.replacement, f"in the place of {', '.join(names)}", now)
        for name in names:
            machine = self._machines[name]
            machine.going, machine.awaits = f"{reason}: {command.decision}", awaits
            machine.claim = replace(machine.claim, terminating=True)
            taints = (taint for taint in self.hands.pods.world.nodes[name].taints if taint.key not in CONTROLLED)
            self.hands.change(name, now, taints=(*map(taint_json, taints), taint_json(DISRUPTED)))
            self.hands.after(now, lambda time, name=name: self._drain(name, time))  # type: ignore[misc]

    def _drain(self, name: str, now: float) -> None:
        """Evict what budgets let go, again and again, until the node can be deleted."""
        machine = self._machines[name]
        if name not in self.hands.pods.world.nodes:
            del self._machines[name]
            return
        awaited = self._machines.get(machine.awaits)
        if awaited is not None and not awaited.initialized:
            self.hands.after(now + DRAINING, lambda time: self._drain(name, time))
            return
        for life in self.hands.on(name):
            meant = [budget for _, budget in self._budgets if budget.means(life.pod)]
            if len(meant) <= 1 and all(one.allowed(self.hands.pods.lives.values()) for one in meant):
                self.hands.evict(life, CONSOLIDATED.format(name, machine.going), now)
        if not self.hands.empty(name):
            self.hands.after(now + DRAINING, lambda time: self._drain(name, time))
            return
        del self._machines[name]
        self._changes += 1
        self.hands.leave(name, now)
        self.hands.tell(Deed(REMOVED, name, machine.going), now)

    # The cluster as Karpenter sees it.

    def _world(self, now: float) -> World:
        lives, world = self.hands.pods.lives, self.hands.pods.world
        waiting = {life.pod.key for life in self.hands.pending()}
        guards = [self._guard(raw, budget) for raw, budget in self._budgets]
        self._views = {life: view for life, view in self._views.items() if lives.get(life.pod.key) is life}
        found = Objects(
            nodes={name: self._node(node) for name, node in world.nodes.items()},
            claims=[self._claim(machine, now) for machine in self._machines.values()],
            pods=[self._placed(life, life.pod.key in waiting) for life in lives.values()],
            sets=self._static.sets,
            guards=guards,
            storage=self._static.storage.follow(world.cluster.storage),
            namespaces=self._static.namespaces,
        )
        return self.setup.karpenter.world(found, BEGINNING + now)

    def _guard(self, raw: Json, budget: LiveBudget) -> Guard:
        return replace(Guard.read(raw), allowed=budget.allowed(self.hands.pods.lives.values()))

    def _claim(self, machine: _Machine, now: float) -> ClaimView:
        if not machine.initialized:
            return machine.claim
        since = BEGINNING + machine.event
        conditions: dict[str, tuple[str, float | None]] = {INITIALIZED_CONDITION: ("True", since)}
        if self._consolidatable(machine, now):
            conditions[CONSOLIDATABLE] = "True", None
        return replace(machine.claim, conditions=conditions, last_pod_event=since)

    def _node(self, node: Node) -> NodeView:
        known = self._nodes.get(node.name)
        if known is None or known[0] is not node:
            known = self._nodes[node.name] = node, replace(NodeView.read(node.raw), taints=node.taints)
        return known[1]

    def _view(self, life: Life) -> PodView:
        if life not in self._views:
            self._views[life] = read_pod(life.template.raw, self._asked)
        return self._views[life]

    def _placed(self, life: Life, waits: bool) -> PodView:
        bound = life.bound is not None
        return replace(
            self._view(life),
            node=life.pod.node_name if bound else "",
            phase="Running" if bound else "Pending",
            terminating=life.leaves is not None,
            failed_to_schedule=waits,
            nominated=bool(life.pod.nominated_node),
            created=BEGINNING + life.arrived,
            started=BEGINNING + life.bound if life.bound is not None else None,
        )


def _claim_of(node: Node) -> ClaimView:
    """The NodeClaim of a node that is there at the beginning."""
    seen = NodeView.read(node.raw)
    return ClaimView(
        name=node.name,
        provider_id=seen.provider_id,
        labels=seen.labels,
        annotations=seen.annotations,
        taints=seen.taints,
        startup_taints=(),
        capacity=seen.capacity,
        allocatable=seen.allocatable,
        conditions={},
        terminating=False,
        created=BEGINNING,
        expire_after=None,
        last_pod_event=None,
    )


def _chosen(proposal: Proposal) -> dict[str, str]:
    """The labels that the requirements leave no choice about."""
    wanted = proposal.node.requirements
    single = (one for one in wanted.values() if not one.complement and len(one.values) == 1 and one.key != HOSTNAME)
    return {one.key: next(iter(one.values)) for one in single if one.key not in (REGISTERED, INITIALIZED)}


def _labels(sold: InstanceType, offering: Offering) -> dict[str, str]:
    own = {key: next(iter(sold.requirements[key].values)) for key in (ARCH, OS) if key in sold.requirements}
    more = {INSTANCE_TYPE: sold.name, ZONE: offering.zone, CAPACITY_TYPE: offering.capacity_type}
    return {**sold.labels, **own, **more}


def _written(amounts: Milli) -> Json:
    """Amounts as quantities."""
    return {name: str(amount // 1000) if amount % 1000 == 0 else f"{amount}m" for name, amount in amounts.items()}
