"""Advice on a cluster as plain data: what Karpenter would do now, why, and at what cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState, KarpenterObjects
from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode
from kschedweb.engine.autoscaling.disruption.consolidation import launch_price
from kschedweb.engine.autoscaling.disruption.methods import Consolidation
from kschedweb.engine.autoscaling.disruption.node_explanations import explain_of
from kschedweb.engine.autoscaling.disruption.output import command_json
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.node_adopter import NodeAdopter, zones_of
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, INSTANCE_TYPE
from kschedweb.engine.autoscaling.provisioning.offer_explanations import explain_offers, explain_pools
from kschedweb.engine.autoscaling.provisioning.output import provision_nodes
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, describe_object
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.values import dataclass

# Called with a text, how many are done, and of how many in total (0: unknown).
Step = Callable[[str, int, int], None]
# The most offers listed for one new node.
MOST_OFFERS = 12
# The most notes listed; a cluster may give one for every object.
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """A request for advice on a cluster."""

    # Its ready catalogue, if it has one, is sold in the zones of the nodes.
    karpenter: Karpenter
    # As Kubernetes JSON.
    objects: Sequence[Json]
    # Seconds of the epoch.
    now: float
    # The NodePool to which nodes without one are counted; "" for none.
    pool: str = ""


def advise_on_cluster(request: ProvisioningRequest, step: Step = lambda text, count, total: None) -> Json:
    """Return what Karpenter would do with the cluster.

    ``step`` is called with the progress, and may raise to cancel. The keys of the result:
    - ``newNodes``: nodes to launch, each with its cheapest offers first;
    - ``podErrors`` and ``notProvisionable``: pods that Karpenter cannot help;
    - ``existing``: places of pods on nodes that exist;
    - ``command``: the consolidation that it would start, or None;
    - ``nodes``: every node with its verdict and price;
    - ``before`` and ``after``: the number of nodes, and the price an hour of those whose price is known.
    """
    step("Reading the cluster", 0, 0)
    world, notes = _read_cluster(request)
    context = SchedulingContext(world)
    step("Looking for nodes for pods that wait", 0, 0)
    provisioning = provision_nodes(context)
    offers = [_keep_cheapest_offers(new_node) for new_node in explain_offers(context)]
    step("Looking for nodes that can go", 0, 0)
    disruption = Consolidation(context).run_methods()
    nodes = explain_of(context, disruption, lambda count, total: step("Trying to do without each node", count, total))
    for machine, node in zip(world.machines, nodes, strict=True):
        node["price"] = price_of(world, machine)
    command = None if disruption.command is None else command_json(*disruption.command)
    if command is not None and disruption.command is not None and disruption.command[1].replacement is not None:
        command["replacementPrice"] = launch_price(disruption.command[1].replacement)
    before = _sum_prices(nodes)
    return {
        "nodePools": explain_pools(context),
        "newNodes": offers,
        "existing": provisioning["existing"],
        "podErrors": provisioning["podErrors"],
        "notProvisionable": provisioning.get("notProvisionable", []),
        "command": command,
        "nodes": nodes,
        "before": before,
        "after": _sum_after(before, offers, command, nodes),
        "invented": request.karpenter.ready,
        "notes": notes[:MOST_NOTES],
    }


def price_of(world: ClusterState, machine: StateNode) -> float | None:
    """Return the price of a node an hour; None if its instance type or offering is unknown."""
    sold = next(
        (instance_type for instance_type in world.types if instance_type.name == machine.labels.get(INSTANCE_TYPE)),
        None,
    )
    return sold.find_price(machine.labels.get(ZONE, ""), machine.labels.get(CAPACITY_TYPE, "")) if sold else None


def _read_cluster(request: ProvisioningRequest) -> tuple[ClusterState, list[str]]:
    """Return the cluster, and notes on what was left out or read differently."""
    karpenter, objects, notes = request.karpenter.with_zones(zones_of(request.objects)), KarpenterObjects(), list[str]()
    adopting = NodeAdopter(karpenter, request.now, request.pool)
    for raw in adopting.adopt_objects(request.objects):
        try:
            objects.add_object(raw)
        except ObjectError as error:
            notes.append(f"{describe_object(raw)} is left out: {error}")
    if adopting.assumed_types:
        # First, so that MOST_NOTES does not cut it off.
        notes.insert(0, _describe_assumed_types(adopting.assumed_types))
    return karpenter.build_cluster_state(objects, request.now), notes


def _describe_assumed_types(assumed_types: dict[str, str]) -> str:
    counts = {name: list(assumed_types.values()).count(name) for name in sorted(set(assumed_types.values()))}
    listing = ", ".join(f"{count} × {name}" for name, count in counts.items())
    start = f"{len(assumed_types)} nodes have no instance type that is sold here"
    return f"{start}. They count as the smallest that holds them: {listing}."


def _keep_cheapest_offers(new_node: Json) -> Json:
    """Return a new node with its cheapest offers only; ``fitting`` is the number of all its offers."""
    return {**new_node, "offers": new_node["offers"][:MOST_OFFERS], "fitting": len(new_node["offers"])}


def _sum_prices(nodes: Sequence[Json]) -> Json:
    prices = [node["price"] for node in nodes if node["price"] is not None]
    return {"nodes": len(nodes), "price": sum(prices), "unpriced": len(nodes) - len(prices)}


def _sum_after(before: Json, offers: Sequence[Json], command: Json | None, nodes: Sequence[Json]) -> Json:
    """Return the sums once the new nodes exist and the command is done."""
    count, price = before["nodes"] + len(offers), before["price"]
    price += sum(new_node["offers"][0]["price"] for new_node in offers if new_node["offers"])
    if command is not None:
        removed = set(command["candidates"])
        count += len(command.get("replacements", ())) - len(removed)
        price += command.get("replacementPrice", 0.0) - sum(
            node["price"] or 0.0 for node in nodes if node["node"] in removed
        )
    return {"nodes": count, "price": price, "unpriced": before["unpriced"]}
