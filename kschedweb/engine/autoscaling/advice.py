"""What Karpenter would do with a cluster now, with why and what it costs, as plain data."""

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
from kschedweb.engine.objects.json_access import Json, ObjectError, describe_object
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.values import dataclass

Step = Callable[[str, int, int], None]
MOST_OFFERS = 12  # that are told of one new node
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    """``objects`` as Kubernetes JSON at ``now`` (seconds of the epoch); nodes without a NodePool count as of ``pool``.

    The ready catalogue is sold in the zones of the nodes.
    """

    karpenter: Karpenter
    objects: Sequence[Json]
    now: float
    pool: str = ""


def advise_on_cluster(request: ProvisioningRequest, step: Step = lambda text, count, total: None) -> Json:
    """What Karpenter would do. ``step`` hears what is being done, and may raise to end it.

    ``newNodes`` with the cheapest offers first, ``podErrors`` and ``notProvisionable`` of pods that it cannot help,
    ``existing`` places of pods on nodes that are there, ``command`` that it would start, ``nodes`` with the verdict on
    each, ``before`` and ``after``: nodes and the money an hour of those whose price is known.
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
    """What a node costs an hour; ``None`` where its instance type or offering is not known."""
    sold = next(
        (instance_type for instance_type in world.types if instance_type.name == machine.labels.get(INSTANCE_TYPE)),
        None,
    )
    return sold.find_price(machine.labels.get(ZONE, ""), machine.labels.get(CAPACITY_TYPE, "")) if sold else None


def _read_cluster(request: ProvisioningRequest) -> tuple[ClusterState, list[str]]:
    """The cluster, and what was left out of it or read differently."""
    karpenter, objects, notes = request.karpenter.sold_in(zones_of(request.objects)), KarpenterObjects(), list[str]()
    adopting = NodeAdopter(karpenter, request.now, request.pool)
    for raw in adopting.adopt_objects(request.objects):
        try:
            objects.add_object(raw)
        except ObjectError as error:
            notes.append(f"{describe_object(raw)} is left out: {error}")
    if adopting.likened:
        notes.insert(0, _describe_likened(adopting.likened))
    return karpenter.build_cluster_state(objects, request.now), notes


def _describe_likened(likened: dict[str, str]) -> str:
    counts = {name: list(likened.values()).count(name) for name in sorted(set(likened.values()))}
    listing = ", ".join(f"{count} × {name}" for name, count in counts.items())
    start = f"{len(likened)} nodes have no instance type that is sold here"
    return f"{start}. They count as the smallest that holds them: {listing}."


def _keep_cheapest_offers(new_node: Json) -> Json:
    """A new node with its cheapest offers; ``fitting`` says how many there are."""
    return {**new_node, "offers": new_node["offers"][:MOST_OFFERS], "fitting": len(new_node["offers"])}


def _sum_prices(nodes: Sequence[Json]) -> Json:
    prices = [node["price"] for node in nodes if node["price"] is not None]
    return {"nodes": len(nodes), "price": sum(prices), "unpriced": len(nodes) - len(prices)}


def _sum_after(before: Json, offers: Sequence[Json], command: Json | None, nodes: Sequence[Json]) -> Json:
    """Once the new nodes are there and the command is done."""
    count, price = before["nodes"] + len(offers), before["price"]
    price += sum(new_node["offers"][0]["price"] for new_node in offers if new_node["offers"])
    if command is not None:
        removed = set(command["candidates"])
        count += len(command.get("replacements", ())) - len(removed)
        price += command.get("replacementPrice", 0.0) - sum(
            node["price"] or 0.0 for node in nodes if node["node"] in removed
        )
    return {"nodes": count, "price": price, "unpriced": before["unpriced"]}
