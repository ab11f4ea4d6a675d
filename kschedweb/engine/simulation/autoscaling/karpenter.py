"""Karpenter at work in a simulation: nodes for pods that wait, and consolidation, by its own rules.

Simplified: a consolidation command is carried out at once, not validated after 15 seconds; a node costs and takes what
its offering says; nothing drifts, expires or is interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import inf

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState, KarpenterObjects
from kschedweb.engine.autoscaling.cluster.pdb_limits import PdbLimit
from kschedweb.engine.autoscaling.cluster.pods import DISRUPTED, PodData, PodView, read_pod
from kschedweb.engine.autoscaling.cluster.state_nodes import CONSOLIDATABLE, INITIALIZED_CONDITION, ClaimView, NodeView
from kschedweb.engine.autoscaling.disruption.consolidation import Command
from kschedweb.engine.autoscaling.disruption.methods import Consolidation
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.offers.amounts import Milli
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType, Offering
from kschedweb.engine.autoscaling.offers.labels import (
    ARCH,
    CAPACITY_TYPE,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    OS,
    REGISTERED,
)
from kschedweb.engine.autoscaling.provisioning.output import taint_json
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.autoscaling.provisioning.solver import Proposal, Solver
from kschedweb.engine.controllers.autoscaling import cron
from kschedweb.engine.controllers.naming import draw_letters
from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.simulation.autoscaling.context import (
    LAUNCHED,
    REMOVED,
    AutoscalerAction,
    AutoscalerContext,
    AutoscalerSetup,
    LiveBudget,
    raw_node,
)
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.values import dataclass

# Seconds without a new pod after which a batch ends, and the longest duration of a batch: the defaults of Karpenter's
# batch idle and batch max duration.
IDLE, LONGEST = 1.0, 10.0
# Seconds between looks for nodes that can go, until one is taken although nothing changed, and between evictions.
POLL, RECHECK, DRAINING = 10.0, 300.0, 1.0
# The time that Karpenter reads at the beginning, in seconds of the epoch.
BEGINNING = cron.MONDAY.timestamp()
STORED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "Namespace", "DaemonSet")
CONSOLIDATED = "Karpenter consolidates {}: {}"


@dataclass(frozen=True, eq=False)
class KarpenterSetup(AutoscalerSetup):
    """Karpenter among the ``objects`` of a scenario."""

    karpenter: Karpenter
    objects: Sequence[Json]
    # Seconds from asking for a node until it joins.
    launch: float = 60.0
    # Seconds until a joined node loses its startup taints.
    startup: float = 10.0

    def start(self, context: AutoscalerContext) -> None:
        _KarpenterLoops(self, context)

    def node_price(self, labels: Mapping[str, str]) -> float | None:
        sold = self._types_by_name.get(labels.get(INSTANCE_TYPE, ""))
        return sold.find_price(labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")) if sold else None

    @cached_property
    def _types_by_name(self) -> dict[str, InstanceType]:
        return {instance_type.name: instance_type for instance_type in self.karpenter.types}

    def list_kind(self, kind: str) -> list[Json]:
        return [raw for raw in self.objects if raw.get("kind") == kind]


@dataclass(eq=False)
class _Machine:
    """A node that Karpenter owns."""

    claim: ClaimView
    node: Json
    # When a pod last came to it or left it, in seconds; its joining counts, too.
    event: float
    # True once it has joined and its startup taints are gone.
    initialized: bool = False
    # Why it is on its way out; "" while it is not.
    going: str = ""
    # The node that must be initialized before this one's pods are evicted.
    awaits: str = ""


@dataclass(eq=False)
class _KarpenterLoops:
    """The provisioning and consolidation loops of one simulation."""

    setup: KarpenterSetup
    context: AutoscalerContext
    # By name, with those that were asked for and have not joined.
    _machines: dict[str, _Machine] = field(default_factory=dict)
    # Caches: pods are read once for each template, and views of pods and nodes are kept.
    _askings: dict[int, PodData] = field(default_factory=dict)
    _views: dict[PodLife, PodView] = field(default_factory=dict)
    _nodes: dict[str, tuple[Node, NodeView]] = field(default_factory=dict)
    _static: KarpenterObjects = field(default_factory=KarpenterObjects)
    # When the batch began, and when its last pod came.
    _batch: tuple[float, float] | None = None
    _launch_count: int = 0
    # Counts changes of the cluster: nothing is worked out again while it stays the same.
    _changes: int = 0
    # Changes and waiting pods at the last provisioning.
    _last_provisioning: tuple[int, frozenset[str]] = (-1, frozenset())
    # Changes, candidates and time of the last consolidation.
    _last_consolidation: tuple[int, frozenset[str], float] = (-1, frozenset(), 0.0)

    def __post_init__(self) -> None:
        self._sets, self._pools = (
            self.setup.list_kind("DaemonSet"),
            {pool.name: pool for pool in self.setup.karpenter.pools},
        )
        self._budgets = [(raw, LiveBudget.from_json(raw)) for raw in self.setup.list_kind("PodDisruptionBudget")]
        for raw in self.setup.objects:
            if raw.get("kind") in STORED:
                self._static.add_object(raw)
        for node in self.context.pods.world.nodes.values():
            if node.labels.get(NODEPOOL):
                self._machines[node.name] = _Machine(_make_claim_view(node), node.raw, -inf, initialized=True)
        self.context.on_unschedulable, self.context.on_pod_moved = self._on_unschedulable, self._on_pod_moved
        self.context.schedule_background(POLL, self._poll_consolidation)

    # What happens.

    def _on_unschedulable(self, now: float) -> None:
        """Start a batch of pods, or prolong it: a pod found no node."""
        if self._batch is None:
            self._batch = now, now
            self.context.schedule_action(now + IDLE, self._end_batch)
        else:
            self._batch = self._batch[0], now

    def _end_batch(self, now: float) -> None:
        assert self._batch is not None
        first, last = self._batch
        end = min(last + IDLE, first + LONGEST)
        if now < end:
            self.context.schedule_action(end, self._end_batch)
            return
        self._batch = None
        self._provision_nodes(now)

    def _on_pod_moved(self, life: PodLife, now: float) -> None:
        """Note that a pod came to its node, or leaves it."""
        self._changes += 1
        machine = self._machines.get(life.pod.node_name)
        # Karpenter's `consolidateAfter` does not count pods of DaemonSets.
        if machine is not None and not self._pod_view(life).daemon:
            machine.event = now

    # Nodes for pods that wait.

    def _should_provision(self) -> bool:
        """Return true if pods wait that may fare otherwise than at the last provisioning."""
        waiting = frozenset(life.pod.key for life in self.context.pending_pods())
        return bool(waiting) and (self._changes, waiting) != self._last_provisioning

    def _provision_nodes(self, now: float) -> None:
        if not self._should_provision():
            return
        self._last_provisioning = self._changes, frozenset(self.context.waiting)
        world = self._build_world(now)
        scheduling_context = SchedulingContext(world)
        pods = [*scheduling_context.pending_pods, *world.leaving_pods]
        if not pods or not world.usable_pools:
            return
        # Nodes that exist already get their pods from the scheduler: only new ones are asked for.
        for proposal in Solver(scheduling_context, pods).solve().new:
            self._launch_node(proposal, f"for {len(proposal.node.pods)} pods", now)

    def _launch_node(self, proposal: Proposal, purpose: str, now: float) -> str:
        """Ask for the cheapest offer; returns the name of the node, or "" if there is no offer."""
        template = proposal.node.template
        offers = template.catalogue.list_offers(proposal.types, proposal.node.requirements)
        if not offers:
            return ""
        (type_name, offering), pool = offers[0], template.pool
        sold = template.catalogue.by_name[type_name]
        self._launch_count += 1
        name = f"{pool.name}-{draw_letters(f'{pool.name}/{self._launch_count}', 5)}"
        labels = {
            **pool.all_labels,
            **_single_value_labels(proposal),
            **_offering_labels(sold, offering),
            HOSTNAME: name,
        }
        taints = [*pool.taints, *pool.startup_taints]
        capacity, allocatable = _format_quantities(sold.capacity), _format_quantities(sold.allocatable)
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
        self.context.schedule_action(now + self.setup.launch, lambda time: self._join_node(name, time))
        offering_text = f"{sold.name} in {offering.zone}, {offering.capacity_type}, {offering.price:g} an hour"
        self.context.report_action(AutoscalerAction(LAUNCHED, name, f"{offering_text}, {purpose}"), now)
        return name

    def _join_node(self, name: str, now: float) -> None:
        machine = self._machines[name]
        node, later = machine.node, bool(machine.claim.startup_taints)
        labels = {**node["metadata"]["labels"], REGISTERED: "true"} | ({} if later else {INITIALIZED: "true"})
        machine.initialized = not later
        machine.event = now
        self.context.add_node({**node, "metadata": {**node["metadata"], "labels": labels}}, self._sets, now)
        self._changes += 1
        if later:
            self.context.schedule_action(now + self.setup.startup, lambda time: self._initialize_node(name, time))

    def _initialize_node(self, name: str, now: float) -> None:
        """Take the startup taints away."""
        if (machine := self._machines.get(name)) is not None and name in self.context.pods.world.nodes:
            taints = tuple(map(taint_json, machine.claim.taints))
            self.context.change_node(name, now, taints=taints, labels={INITIALIZED: "true"})
            machine.initialized = True
            self._changes += 1

    # Nodes that can go.

    def _poll_consolidation(self, now: float) -> None:
        self.context.schedule_background(now + POLL, self._poll_consolidation)
        if self._batch is None and self._should_provision():
            # Pods that wait are looked at again when the cluster has changed.
            self._on_unschedulable(now)
        ready = frozenset(name for name, machine in self._machines.items() if self._is_consolidatable(machine, now))
        changes, before, last_look = self._last_consolidation
        if not ready or (changes == self._changes and before == ready and now - last_look < RECHECK):
            return
        self._last_consolidation = self._changes, ready, now
        chosen = Consolidation(SchedulingContext(self._build_world(now))).run_methods().command
        if chosen is not None:
            self._start_command(chosen[0].reason, chosen[1], now)

    def _is_consolidatable(self, machine: _Machine, now: float) -> bool:
        pool = self._pools.get(machine.claim.labels[NODEPOOL])
        if pool is None or pool.consolidate_after is None or not machine.initialized or machine.going:
            return False
        return now - machine.event >= pool.consolidate_after

    def _start_command(self, reason: str, command: Command, now: float) -> None:
        """Keep new pods off the nodes that go; their pods are evicted once the replacement is initialized."""
        self._changes += 1
        names = [candidate.name for candidate in command.candidates]
        awaits = ""
        if command.replacement is not None:
            awaits = self._launch_node(command.replacement, f"in the place of {', '.join(names)}", now)
        for name in names:
            machine = self._machines[name]
            machine.going, machine.awaits = f"{reason}: {command.decision}", awaits
            machine.claim = replace(machine.claim, terminating=True)
            taints = (taint for taint in self.context.pods.world.nodes[name].taints if taint.key not in CONTROLLED)
            self.context.change_node(name, now, taints=(*map(taint_json, taints), taint_json(DISRUPTED)))
            self.context.schedule_action(now, lambda time, name=name: self._drain_node(name, time))  # type: ignore[misc]

    def _drain_node(self, name: str, now: float) -> None:
        """Evict the pods that budgets let go, again and again, until the node can be deleted."""
        machine = self._machines[name]
        if name not in self.context.pods.world.nodes:
            del self._machines[name]
            return
        awaited = self._machines.get(machine.awaits)
        if awaited is not None and not awaited.initialized:
            self.context.schedule_action(now + DRAINING, lambda time: self._drain_node(name, time))
            return
        for life in self.context.pods_to_move(name):
            meant = [budget for _, budget in self._budgets if budget.covers_pod(life.pod)]
            # The eviction API refuses a pod with more than one budget.
            if len(meant) <= 1 and all(
                budget.disruptions_allowed(self.context.pods.lives.values()) for budget in meant
            ):
                self.context.evict_pod(life, CONSOLIDATED.format(name, machine.going), now)
        if not self.context.is_drained(name):
            self.context.schedule_action(now + DRAINING, lambda time: self._drain_node(name, time))
            return
        del self._machines[name]
        self._changes += 1
        self.context.delete_node(name, now)
        self.context.report_action(AutoscalerAction(REMOVED, name, machine.going), now)

    # The cluster as Karpenter sees it.

    def _build_world(self, now: float) -> ClusterState:
        lives, world = self.context.pods.lives, self.context.pods.world
        waiting = {life.pod.key for life in self.context.pending_pods()}
        guards = [self._read_guard(raw, budget) for raw, budget in self._budgets]
        # Views of pods that are gone are dropped.
        self._views = {life: view for life, view in self._views.items() if lives.get(life.pod.key) is life}
        cluster_objects = KarpenterObjects(
            nodes={name: self._node_view(node) for name, node in world.nodes.items()},
            claims=[self._claim_view(machine, now) for machine in self._machines.values()],
            pods=[self._placed_pod_view(life, life.pod.key in waiting) for life in lives.values()],
            sets=self._static.sets,
            guards=guards,
            storage=self._static.storage.with_current(world.cluster.storage),
            namespaces=self._static.namespaces,
        )
        return self.setup.karpenter.build_cluster_state(cluster_objects, BEGINNING + now)

    def _read_guard(self, raw: Json, budget: LiveBudget) -> PdbLimit:
        return replace(PdbLimit.from_json(raw), allowed=budget.disruptions_allowed(self.context.pods.lives.values()))

    def _claim_view(self, machine: _Machine, now: float) -> ClaimView:
        if not machine.initialized:
            return machine.claim
        since = BEGINNING + machine.event
        conditions: dict[str, tuple[str, float | None]] = {INITIALIZED_CONDITION: ("True", since)}
        if self._is_consolidatable(machine, now):
            conditions[CONSOLIDATABLE] = "True", None
        return replace(machine.claim, conditions=conditions, last_pod_event=since)

    def _node_view(self, node: Node) -> NodeView:
        cached = self._nodes.get(node.name)
        if cached is None or cached[0] is not node:
            cached = self._nodes[node.name] = node, replace(NodeView.from_json(node.raw), taints=node.taints)
        return cached[1]

    def _pod_view(self, life: PodLife) -> PodView:
        if life not in self._views:
            self._views[life] = read_pod(life.template.raw, self._askings)
        return self._views[life]

    def _placed_pod_view(self, life: PodLife, waits: bool) -> PodView:
        bound = life.bound is not None
        return replace(
            self._pod_view(life),
            node=life.pod.node_name if bound else "",
            phase="Running" if bound else "Pending",
            terminating=life.leaves is not None,
            failed_to_schedule=waits,
            nominated=bool(life.pod.nominated_node),
            created=BEGINNING + life.arrived,
            started=BEGINNING + life.bound if life.bound is not None else None,
        )


def _make_claim_view(node: Node) -> ClaimView:
    """Return the NodeClaim of a node that exists at the beginning."""
    view = NodeView.from_json(node.raw)
    return ClaimView(
        name=node.name,
        provider_id=view.provider_id,
        labels=view.labels,
        annotations=view.annotations,
        taints=view.taints,
        startup_taints=(),
        capacity=view.capacity,
        allocatable=view.allocatable,
        conditions={},
        terminating=False,
        created=BEGINNING,
        expire_after=None,
        last_pod_event=None,
    )


def _single_value_labels(proposal: Proposal) -> dict[str, str]:
    """Return the labels for which the requirements leave a single value."""
    requirements = proposal.node.requirements
    single = (
        requirement
        for requirement in requirements.values()
        if not requirement.complement and len(requirement.values) == 1 and requirement.key != HOSTNAME
    )
    return {
        requirement.key: next(iter(requirement.values))
        for requirement in single
        if requirement.key not in (REGISTERED, INITIALIZED)
    }


def _offering_labels(sold: InstanceType, offering: Offering) -> dict[str, str]:
    type_labels = {key: next(iter(sold.requirements[key].values)) for key in (ARCH, OS) if key in sold.requirements}
    more = {INSTANCE_TYPE: sold.name, ZONE: offering.zone, CAPACITY_TYPE: offering.capacity_type}
    return {**sold.labels, **type_labels, **more}


def _format_quantities(amounts: Milli) -> Json:
    """Write amounts as quantities."""
    return {name: str(amount // 1000) if amount % 1000 == 0 else f"{amount}m" for name, amount in amounts.items()}
