"""How many nodes of each NodePool may go, by its disruption budgets."""

from __future__ import annotations

from collections import Counter

from kschedweb.engine.autoscaling.cluster.nodes import Machine
from kschedweb.engine.autoscaling.cluster.world import World


def allowed(world: World, reason: str) -> dict[str, int]:
    """By NodePool: what its budgets allow for a reason, less the nodes that are on their way out or not ready."""
    counted = [one for one in world.machines if _counts(one)]
    total = Counter(one.pool for one in counted)
    going = Counter(one.pool for one in counted if one.terminating or one.rebooting or not _ready(one))
    return {
        name: max(pool.allowed_disruptions(total[name], reason, world.now) - going[name], 0)
        for name, pool in world.pools_by_name.items()
    }


def _counts(machine: Machine) -> bool:
    if machine.claim is None or not (machine.initialized or machine.rebooting):
        return False
    return not machine.claim.holds("InstanceTerminating")


def _ready(machine: Machine) -> bool:
    return machine.node is not None and machine.node.ready
