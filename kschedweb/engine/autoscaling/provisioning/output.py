"""Provisioning as plain data, in the form that the oracle's command line prints."""

from __future__ import annotations

import re
from random import Random

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.labels import KWOK_GROUP, NODEPOOL
from kschedweb.engine.autoscaling.provisioning.new_nodes import NewNode
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.autoscaling.provisioning.solver import Solution, Solver
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.taints import Taint

_PLACEHOLDER = re.compile(r"hostname-placeholder-\d+")


def provision_nodes(context: SchedulingContext, chance: Random | None = None) -> Json:
    """Return new nodes for waiting pods, and where the other pods go.

    ``chance`` decides the order where Karpenter ranges over a Go map.
    """
    world = context.world
    pods = [*context.pending_pods, *world.leaving_pods]
    # Without a NodePool Karpenter places nothing, not even on existing nodes.
    return _solution_to_json(context, Solver(context, pods if world.usable_pools else [], chance=chance).solve())


def _solution_to_json(context: SchedulingContext, solution: Solution) -> Json:
    claims = [new_claim(proposal.node, proposal.types) for proposal in solution.new]
    existing = {name: pod_keys(pods) for name, pods in solution.placed.by_name().items()}
    errors = {pod.key: clean_message(refusal.say()) for pod, refusal in solution.errors.items()}
    handled_keys = {
        *errors,
        *(key for claim in claims for key in claim["pods"]),
        *(key for placed_keys in existing.values() for key in placed_keys),
    }
    not_provisionable = sorted(pod.key for pod in context.world.pods if not pod.node and pod.key not in handled_keys)
    result: Json = {
        "newNodeClaims": sorted(claims, key=lambda claim: ",".join(claim["pods"])),
        "existing": existing,
        "podErrors": errors,
    }
    return result | ({"notProvisionable": not_provisionable} if not_provisionable else {})


def new_claim(node: NewNode, types: list[int]) -> Json:
    """Return a NodeClaim that would be created, with its instance types by price, then by name."""
    catalogue = node.template.catalogue
    prices = catalogue.find_cheapest(node.requirements)
    priced_types = [(_finite_price(float(prices[place])), catalogue.types[place].name) for place in types]
    priced_types.sort()
    requirements = [
        expression for key in sorted(node.requirements) for expression in node.requirements[key].to_node_selector()
    ]
    result: Json = {
        "nodePool": node.template.pool.name,
        "requirements": requirements,
        "instanceTypes": [name for _, name in priced_types],
        "cheapestPrice": priced_types[0][0] if priced_types else 0,
        "pods": pod_keys(node.pods),
        "requests": {name: str(amount) for name, amount in node.compute_requests().items()},
    }
    # The oracle leaves out the labels of NodePool and node class, which every node has.
    hidden = (NODEPOOL, f"{KWOK_GROUP}/kwoknodeclass")
    labels = {key: value for key, value in node.template.pool.all_labels.items() if not key.startswith(hidden)}
    taints = [taint_json(taint) for taint in node.template.pool.taints]
    return result | ({"taints": taints} if taints else {}) | ({"labels": labels} if labels else {})


def _finite_price(price: float) -> float:
    """Return the price as it is printed: -1 for what cannot be launched."""
    return -1 if price == float("inf") else price


def taint_json(taint: Taint) -> Json:
    return {"key": taint.key} | ({"value": taint.value} if taint.value else {}) | {"effect": taint.effect}


def pod_keys(pods: list[PodView]) -> list[str]:
    return [pod.key for pod in pods]


def clean_message(text: str) -> str:
    """Remove the numbers of placeholder nodes from a message."""
    return _PLACEHOLDER.sub("hostname-placeholder", text)
