"""What Karpenter would launch, as plain data in the form of the oracle's command line."""

from __future__ import annotations

import re
from random import Random

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.labels import KWOK_GROUP, NODEPOOL
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.autoscaling.provisioning.newnodes import NewNode
from kschedweb.engine.autoscaling.provisioning.solving import Solution, Solver
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.taints import Taint

_PLACEHOLDER = re.compile(r"hostname-placeholder-\d+")


def provision(ground: Ground, chance: Random | None = None) -> Json:
    """New nodes for pods that wait, and where the others go. ``chance`` decides where the original walks a map."""
    world = ground.world
    pods = [*ground.pending, *world.leaving_pods]
    # Without a NodePool nothing is placed, not even on nodes that are there.
    return _told(ground, Solver(ground, pods if world.usable else [], chance=chance).solve())


def _told(ground: Ground, solution: Solution) -> Json:
    claims = [new_claim(one.node, one.types) for one in solution.new]
    existing = {name: keys(pods) for name, pods in solution.placed.by_name().items()}
    errors = {pod.key: clean(refusal.say()) for pod, refusal in solution.errors.items()}
    reached = {
        *errors,
        *(key for one in claims for key in one["pods"]),
        *(key for one in existing.values() for key in one),
    }
    left = sorted(pod.key for pod in ground.world.pods if not pod.node and pod.key not in reached)
    found: Json = {
        "newNodeClaims": sorted(claims, key=lambda one: ",".join(one["pods"])),
        "existing": existing,
        "podErrors": errors,
    }
    return found | ({"notProvisionable": left} if left else {})


def new_claim(node: NewNode, types: list[int]) -> Json:
    """A NodeClaim that would be created; its instance types by price, then by name."""
    catalogue = node.template.catalogue
    prices = catalogue.cheapest(node.requirements)
    known = [(_price(float(prices[place])), catalogue.types[place].name) for place in types]
    known.sort()
    requirements = [one for key in sorted(node.requirements) for one in node.requirements[key].written()]
    found: Json = {
        "nodePool": node.template.pool.name,
        "requirements": requirements,
        "instanceTypes": [name for _, name in known],
        "cheapestPrice": known[0][0] if known else 0,
        "pods": keys(node.pods),
        "requests": {name: str(amount) for name, amount in node.requests().items()},
    }
    hidden = (NODEPOOL, f"{KWOK_GROUP}/kwoknodeclass")
    labels = {key: value for key, value in node.template.pool.all_labels.items() if not key.startswith(hidden)}
    taints = [taint_json(taint) for taint in node.template.pool.taints]
    return found | ({"taints": taints} if taints else {}) | ({"labels": labels} if labels else {})


def _price(price: float) -> float:
    """The price as it is told; -1 for what cannot be launched."""
    return -1 if price == float("inf") else price


def taint_json(taint: Taint) -> Json:
    return {"key": taint.key} | ({"value": taint.value} if taint.value else {}) | {"effect": taint.effect}


def keys(pods: list[PodView]) -> list[str]:
    return [pod.key for pod in pods]


def clean(text: str) -> str:
    """A message without the numbers of nodes that are not there yet."""
    return _PLACEHOLDER.sub("hostname-placeholder", text)
