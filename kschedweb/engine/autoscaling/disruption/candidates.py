"""The nodes that Karpenter could disrupt, with their prices and costs of disruption."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.state_nodes import BASE_COST, CONSOLIDATABLE, StateNode, evicting_cost
from kschedweb.engine.autoscaling.disruption.events import BLOCKED, UNCONSOLIDATABLE, Events, to_sentence
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.labels import (
    CAPACITY_TYPE,
    DO_NOT_DISRUPT,
    INSTANCE_TYPE,
    NODEPOOL,
    format_list,
)
from kschedweb.engine.autoscaling.offers.nodepools import BALANCED, WHEN_EMPTY, NodePool
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.validation.golang import plain_sum, quote
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class DisruptionCandidate:
    """A node that Karpenter may disrupt."""

    machine: StateNode
    pool: NodePool
    # None if the instance type is unknown.
    type: InstanceType | None
    # An hour; 0 if it is unknown.
    price: float
    # The eviction costs of its pods, scaled by the share of its lifetime that is left.
    disruption_cost: float
    # The cost of evicting the pods that must move; at least BASE_COST.
    reschedule_cost: float
    # The pods that have to move to another node.
    moving: tuple[PodView, ...]

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def capacity_type(self) -> str:
        return self.machine.labels.get(CAPACITY_TYPE, "")

    @property
    def savings_ratio(self) -> float:
        """The price for a unit of disruption; candidates with the highest go first."""
        return self.price / self.reschedule_cost

    @property
    def is_empty(self) -> bool:
        """True if evicting its pods costs nothing."""
        return self.reschedule_cost <= BASE_COST

    @property
    def is_balanced(self) -> bool:
        return self.pool.policy == BALANCED

    @property
    def is_consolidatable(self) -> bool:
        return self.machine.claim is not None and self.machine.claim.is_condition_true(CONSOLIDATABLE)


def get_candidates(world: ClusterState, events: Events) -> list[DisruptionCandidate]:
    """Return the machines that nothing blocks; publish to ``events`` what blocks the others."""
    candidates = []
    for machine in world.machines:
        reason = find_block_reason(world, machine)
        if not reason:
            candidates.append(_create_candidate(world, machine))
        elif machine.claim is not None:
            events.publish(machine, BLOCKED, reason)
    return candidates


def find_block_reason(world: ClusterState, machine: StateNode) -> str:
    """Return what keeps Karpenter from disrupting a machine, in its words; "" if nothing does."""
    if reason := _of_node(machine):
        return to_sentence(reason)
    if machine.pool not in world.pools_by_name or machine.pool not in world.catalogues:
        return f"NodePool not found (NodePool={machine.pool})"
    return to_sentence(_of_pods(world, machine.pods))


def sort_candidates(candidates: Sequence[DisruptionCandidate], chance: Random | None) -> list[DisruptionCandidate]:
    """Sort by price for a unit of disruption, highest first; ``chance`` decides between equal candidates."""
    shuffled = list(candidates)
    if chance is not None:
        chance.shuffle(shuffled)
    return sorted(shuffled, key=lambda candidate: -candidate.savings_ratio)


def is_deletable(candidate: DisruptionCandidate, events: Events) -> bool:
    """Return whether the candidate may be deleted because it is empty."""
    if candidate.pool.static:
        return False
    if reason := not_deletable(candidate):
        events.publish(candidate.machine, UNCONSOLIDATABLE, reason)
        return False
    return candidate.is_empty and candidate.is_consolidatable


def is_underutilized(candidate: DisruptionCandidate, events: Events) -> bool:
    """Return whether the candidate may be disrupted although its pods would have to move."""
    if candidate.pool.static:
        return False
    if reason := not_underused(candidate):
        events.publish(candidate.machine, UNCONSOLIDATABLE, reason)
        return False
    return not candidate.is_empty and candidate.is_consolidatable


def not_deletable(candidate: DisruptionCandidate) -> str:
    """Return why the NodePool keeps even empty nodes, in Karpenter's words; "" if it does not."""
    return (
        f"NodePool {quote(candidate.pool.name)} has consolidation disabled"
        if candidate.pool.consolidate_after is None
        else ""
    )


def not_underused(candidate: DisruptionCandidate) -> str:
    """Return why the candidate stays while it has pods, in Karpenter's words; "" if nothing keeps it."""
    labels, name = candidate.machine.labels, quote(candidate.pool.name)
    if candidate.type is None:
        return f"Instance Type {quote(labels.get(INSTANCE_TYPE, ''))} not found"
    for key in (CAPACITY_TYPE, ZONE):
        if key not in labels:
            return f"Node does not have label {quote(key)}"
    if reason := not_deletable(candidate):
        return reason
    if candidate.pool.policy == WHEN_EMPTY and not candidate.is_empty:
        return f"NodePool {name} has consolidation policy WhenEmpty, but node is not empty"
    return ""


def _of_node(machine: StateNode) -> str:
    # The first check that holds is reported, in the order of Karpenter's own checks.
    checks = (
        ("node isn't managed by karpenter", machine.claim is None),
        ("nodeclaim does not have an associated node", machine.node is None),
        ("node is rebooting", machine.is_rebooting),
        ("node is deleting or marked for deletion", machine.is_marked_for_deletion),
        ("node isn't initialized nor registered", not machine.is_initialized and not machine.is_registered),
        ("node isn't initialized", not machine.is_initialized),
        (f"disruption is blocked through the {quote(DO_NOT_DISRUPT)} annotation", machine.is_protected),
        (f"node doesn't have required label (label={NODEPOOL})", NODEPOOL not in machine.labels),
    )
    return next((reason for reason, holds in checks if holds), "")


def _of_pods(world: ClusterState, pods: Sequence[PodView]) -> str:
    for pod in pods:
        if not pod.is_disruptable(world.now):
            return f"pod has {quote(DO_NOT_DISRUPT)} annotation (Pod={pod.key})"
    guards = world.guards.find_blocking_budgets(pods)
    if len(guards) > 1:
        return f"eviction does not support multiple PDBs (PodDisruptionBudget(s)={format_list(guards)})"
    return f"pdb prevents pod evictions (PodDisruptionBudget={format_list(guards)})" if guards else ""


def _create_candidate(world: ClusterState, machine: StateNode) -> DisruptionCandidate:
    sold = world.catalogues[machine.pool].by_name.get(machine.labels.get(INSTANCE_TYPE, ""))
    zone, capacity_type = machine.labels.get(ZONE, ""), machine.labels.get(CAPACITY_TYPE, "")
    return DisruptionCandidate(
        machine=machine,
        pool=world.pools_by_name[machine.pool],
        type=sold,
        price=(sold.find_price(zone, capacity_type) if sold else None) or 0.0,
        disruption_cost=plain_sum(pod.eviction_cost for pod in machine.pods) * _lifetime_left(world, machine),
        reschedule_cost=evicting_cost(pod for pod in machine.pods if pod.is_reschedulable),
        moving=tuple(pod for pod in machine.pods if world.guards.is_currently_reschedulable(pod)),
    )


def _lifetime_left(world: ClusterState, machine: StateNode) -> float:
    """Return the share of a node's lifetime that is left, 0 to 1; 1 if it never expires."""
    claim = machine.claim
    if claim is None or claim.expire_after is None:
        return 1.0
    if claim.created is None or not claim.expire_after:
        return 0.0
    remaining = claim.expire_after - (world.now - claim.created)
    return min(max(remaining / claim.expire_after, 0.0), 1.0)
