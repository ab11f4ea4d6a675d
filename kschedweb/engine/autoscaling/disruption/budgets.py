"""Disruption budgets: the number of nodes of each NodePool that may be disrupted."""

from __future__ import annotations

from collections import Counter

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode


def build_disruption_budgets(world: ClusterState, reason: str) -> dict[str, int]:
    """Return, by NodePool, what its budgets allow for a reason, less the nodes already leaving or not ready."""
    counted = [state_node for state_node in world.machines if _is_counted(state_node)]
    total = Counter(state_node.pool for state_node in counted)
    going = Counter(
        state_node.pool
        for state_node in counted
        if state_node.is_marked_for_deletion or state_node.is_rebooting or not _is_ready(state_node)
    )
    return {
        name: max(pool.allowed_disruptions(total[name], reason, world.now) - going[name], 0)
        for name, pool in world.pools_by_name.items()
    }


def _is_counted(machine: StateNode) -> bool:
    if machine.claim is None or not (machine.is_initialized or machine.is_rebooting):
        return False
    return not machine.claim.is_condition_true("InstanceTerminating")


def _is_ready(machine: StateNode) -> bool:
    return machine.node is not None and machine.node.ready
