"""The nodes that Karpenter could disrupt, what each costs and what its disruption costs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from kschedweb.engine.autoscaling.cluster.nodes import BASE_COST, CONSOLIDATABLE, Machine, evicting_cost
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.disruption.events import BLOCKED, UNCONSOLIDATABLE, Events, sentence
from kschedweb.engine.autoscaling.offers.instancetypes import InstanceType
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, DO_NOT_DISRUPT, INSTANCE_TYPE, NODEPOOL, listed
from kschedweb.engine.autoscaling.offers.nodepools import BALANCED, WHEN_EMPTY, NodePool
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.validation.golang import plain_sum, quote
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """``price`` an hour, 0 where it is unknown. ``moving``: the pods that have to go somewhere else."""

    machine: Machine
    pool: NodePool
    type: InstanceType | None
    price: float
    disruption_cost: float
    reschedule_cost: float
    moving: tuple[PodView, ...]

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def capacity_type(self) -> str:
        return self.machine.labels.get(CAPACITY_TYPE, "")

    @property
    def savings_ratio(self) -> float:
        """What goes first: the price for a unit of disruption."""
        return self.price / self.reschedule_cost

    @property
    def empty(self) -> bool:
        """Whether no pod on it costs anything to evict."""
        return self.reschedule_cost <= BASE_COST

    @property
    def balanced(self) -> bool:
        return self.pool.policy == BALANCED

    @property
    def consolidatable(self) -> bool:
        return self.machine.claim is not None and self.machine.claim.holds(CONSOLIDATABLE)


def candidates(world: World, events: Events) -> list[Candidate]:
    """The machines that nothing blocks; of the others ``events`` say what does."""
    found = []
    for machine in world.machines:
        said = blocked(world, machine)
        if not said:
            found.append(_candidate(world, machine))
        elif machine.claim is not None:
            events.say(machine, BLOCKED, said)
    return found


def blocked(world: World, machine: Machine) -> str:
    """What keeps Karpenter from disrupting a machine, in its words; "" where nothing does."""
    if said := _of_node(machine):
        return sentence(said)
    if machine.pool not in world.pools_by_name or machine.pool not in world.catalogues:
        return f"NodePool not found (NodePool={machine.pool})"
    return sentence(_of_pods(world, machine.pods))


def in_order(found: Sequence[Candidate], chance: Random | None) -> list[Candidate]:
    """The highest price for a unit of disruption first; ``chance`` decides between equal ones."""
    shuffled = list(found)
    if chance is not None:
        chance.shuffle(shuffled)
    return sorted(shuffled, key=lambda one: -one.savings_ratio)


def deletable(one: Candidate, events: Events) -> bool:
    """Whether it may go because it is empty."""
    if one.pool.static:
        return False
    if said := not_deletable(one):
        events.say(one.machine, UNCONSOLIDATABLE, said)
        return False
    return one.empty and one.consolidatable


def underused(one: Candidate, events: Events) -> bool:
    """Whether it may go although there are pods on it that would have to go elsewhere."""
    if one.pool.static:
        return False
    if said := not_underused(one):
        events.say(one.machine, UNCONSOLIDATABLE, said)
        return False
    return not one.empty and one.consolidatable


def not_deletable(one: Candidate) -> str:
    """Why its NodePool keeps even empty nodes, in Karpenter's words; "" where it does not."""
    return f"NodePool {quote(one.pool.name)} has consolidation disabled" if one.pool.consolidate_after is None else ""


def not_underused(one: Candidate) -> str:
    """Why it stays as long as there are pods on it, in Karpenter's words; "" where it does not."""
    labels, name = one.machine.labels, quote(one.pool.name)
    if one.type is None:
        return f"Instance Type {quote(labels.get(INSTANCE_TYPE, ''))} not found"
    for key in (CAPACITY_TYPE, ZONE):
        if key not in labels:
            return f"Node does not have label {quote(key)}"
    if said := not_deletable(one):
        return said
    if one.pool.policy == WHEN_EMPTY and not one.empty:
        return f"NodePool {name} has consolidation policy WhenEmpty, but node is not empty"
    return ""


def _of_node(machine: Machine) -> str:
    found = (
        ("node isn't managed by karpenter", machine.claim is None),
        ("nodeclaim does not have an associated node", machine.node is None),
        ("node is rebooting", machine.rebooting),
        ("node is deleting or marked for deletion", machine.terminating),
        ("node isn't initialized nor registered", not machine.initialized and not machine.registered),
        ("node isn't initialized", not machine.initialized),
        (f"disruption is blocked through the {quote(DO_NOT_DISRUPT)} annotation", machine.protected),
        (f"node doesn't have required label (label={NODEPOOL})", NODEPOOL not in machine.labels),
    )
    return next((said for said, holds in found if holds), "")


def _of_pods(world: World, pods: Sequence[PodView]) -> str:
    for pod in pods:
        if not pod.disruptable(world.now):
            return f"pod has {quote(DO_NOT_DISRUPT)} annotation (Pod={pod.key})"
    guards = world.guards.against(pods)
    if len(guards) > 1:
        return f"eviction does not support multiple PDBs (PodDisruptionBudget(s)={listed(guards)})"
    return f"pdb prevents pod evictions (PodDisruptionBudget={listed(guards)})" if guards else ""


def _candidate(world: World, machine: Machine) -> Candidate:
    sold = world.catalogues[machine.pool].by_name.get(machine.labels.get(INSTANCE_TYPE, ""))
    zone, capacity_type = machine.labels.get(ZONE, ""), machine.labels.get(CAPACITY_TYPE, "")
    return Candidate(
        machine=machine,
        pool=world.pools_by_name[machine.pool],
        type=sold,
        price=(sold.price(zone, capacity_type) if sold else None) or 0.0,
        disruption_cost=plain_sum(pod.eviction_cost for pod in machine.pods) * _lifetime_left(world, machine),
        reschedule_cost=evicting_cost(pod for pod in machine.pods if pod.reschedulable),
        moving=tuple(pod for pod in machine.pods if world.guards.moves(pod)),
    )


def _lifetime_left(world: World, machine: Machine) -> float:
    """The share of its life that a node has before it; 1 where it lives for ever."""
    claim = machine.claim
    if claim is None or claim.expire_after is None:
        return 1.0
    if claim.created is None or not claim.expire_after:
        return 0.0
    left = claim.expire_after - (world.now - claim.created)
    return min(max(left / claim.expire_after, 0.0), 1.0)
