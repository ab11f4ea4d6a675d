"""Explanations of new nodes, and of NodePools that can launch none, as plain data."""

from __future__ import annotations

from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.autoscaling.provisioning.solver import Proposal, Solver
from kschedweb.engine.json_types import Json

# The first is Karpenter's text, the others are ours.
WITHOUT_TYPES = "NodePool requirements filtered out all compatible available instance types"
STATIC, TERMINATING = "It is static: pods bring no nodes", "It is being deleted"


def explain_offers(context: SchedulingContext) -> list[Json]:
    """Return the new nodes for waiting pods: what Karpenter would request, the cheapest offers first."""
    pods = [*context.pending_pods, *context.world.leaving_pods]
    solution = Solver(context, pods if context.world.usable_pools else []).solve()
    return [_proposal_to_json(proposal) for proposal in solution.new]


def explain_pools(context: SchedulingContext) -> list[Json]:
    """Return the NodePools in the order they are tried; those that can launch no node come last, with the reason."""
    world = context.world
    pools: list[Json] = [
        {
            "nodePool": template.pool.name,
            "weight": template.pool.weight,
            "instanceTypes": template.catalogue.list_names(template.types),
        }
        for template in context.templates
    ]
    pool_names = {pool["nodePool"] for pool in pools}
    return pools + [
        {"nodePool": pool.name, "weight": pool.weight, "instanceTypes": [], "why": _find_reason(context, pool.name)}
        for pool in world.pools
        if pool.name not in pool_names
    ]


def _find_reason(context: SchedulingContext, name: str) -> str:
    world = context.world
    if fault := world.faults.get(name) or world.not_ready.get(name):
        return fault
    pool = world.pools_by_name[name]
    return STATIC if pool.static else TERMINATING if pool.terminating else WITHOUT_TYPES


def _proposal_to_json(proposal: Proposal) -> Json:
    node = proposal.node
    return {
        "nodePool": node.template.pool.name,
        "pods": [pod.key for pod in node.pods],
        "requests": {name: str(amount) for name, amount in node.compute_requests().items()},
        "offers": [
            {
                "instanceType": name,
                "zone": offering.zone,
                "capacityType": offering.capacity_type,
                "price": offering.price,
            }
            for name, offering in node.template.catalogue.list_offers(proposal.types, node.requirements)
        ],
    }
