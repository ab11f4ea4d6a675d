"""Why new nodes are what they are, and which NodePools none can come of, as plain data."""

from __future__ import annotations

from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.autoscaling.provisioning.solving import Proposal, Solver
from kschedweb.engine.objects.access import Json

WITHOUT_TYPES = "NodePool requirements filtered out all compatible available instance types"
STATIC, TERMINATING = "It is static: pods bring no nodes", "It is being deleted"


def explain_offers(ground: Ground) -> list[Json]:
    """For each new node for pods that wait: what Karpenter would ask the cloud for, the cheapest offers first."""
    pods = [*ground.pending, *ground.world.leaving_pods]
    solution = Solver(ground, pods if ground.world.usable else []).solve()
    return [_told(one) for one in solution.new]


def explain_pools(ground: Ground) -> list[Json]:
    """The NodePools in the order in which they are tried; those that no node can come of last, with why."""
    world = ground.world
    told: list[Json] = [
        {"nodePool": one.pool.name, "weight": one.pool.weight, "instanceTypes": one.catalogue.names(one.types)}
        for one in ground.templates
    ]
    known = {one["nodePool"] for one in told}
    return told + [
        {"nodePool": pool.name, "weight": pool.weight, "instanceTypes": [], "why": _why(ground, pool.name)}
        for pool in world.pools
        if pool.name not in known
    ]


def _why(ground: Ground, name: str) -> str:
    world = ground.world
    if fault := world.faults.get(name) or world.not_ready.get(name):
        return fault
    pool = world.pools_by_name[name]
    return STATIC if pool.static else TERMINATING if pool.terminating else WITHOUT_TYPES


def _told(one: Proposal) -> Json:
    node = one.node
    return {
        "nodePool": node.template.pool.name,
        "pods": [pod.key for pod in node.pods],
        "requests": {name: str(amount) for name, amount in node.requests().items()},
        "offers": [
            {
                "instanceType": name,
                "zone": offering.zone,
                "capacityType": offering.capacity_type,
                "price": offering.price,
            }
            for name, offering in node.template.catalogue.offers(one.types, node.requirements)
        ],
    }
