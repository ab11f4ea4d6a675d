"""What Karpenter would do with a cluster now, with why and what it costs, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kschedweb.engine.autoscaling.adopting import Adopting, zones_of
from kschedweb.engine.autoscaling.cluster.nodes import Machine
from kschedweb.engine.autoscaling.cluster.world import Objects, World
from kschedweb.engine.autoscaling.disruption.answering import command_json
from kschedweb.engine.autoscaling.disruption.consolidating import launch_price
from kschedweb.engine.autoscaling.disruption.explaining import explain_of
from kschedweb.engine.autoscaling.disruption.methods import Consolidation
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, INSTANCE_TYPE
from kschedweb.engine.autoscaling.provisioning.answering import provision
from kschedweb.engine.autoscaling.provisioning.explaining import explain_offers, explain_pools
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.objects.access import Json, ObjectError, reference
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.values import dataclass

Step = Callable[[str, int, int], None]
MOST_OFFERS = 12  # that are told of one new node
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """``objects`` as Kubernetes JSON at ``now`` (seconds of the epoch); nodes without a NodePool count as of ``pool``.

    The ready catalogue is sold in the zones of the nodes.
    """

    karpenter: Karpenter
    objects: Sequence[Json]
    now: float
    pool: str = ""


def advise(asked: Asked, step: Step = lambda text, done, known: None) -> Json:
    """What Karpenter would do. ``step`` hears what is being done, and may raise to end it.

    ``newNodes`` with the cheapest offers first, ``podErrors`` and ``notProvisionable`` of pods that it cannot help,
    ``existing`` places of pods on nodes that are there, ``command`` that it would start, ``nodes`` with the verdict on
    each, ``before`` and ``after``: nodes and the money an hour of those whose price is known.
    """
    step("Reading the cluster", 0, 0)
    world, notes = _world(asked)
    ground = Ground(world)
    step("Looking for nodes for pods that wait", 0, 0)
    told = provision(ground)
    offers = [_cheapest(one) for one in explain_offers(ground)]
    step("Looking for nodes that can go", 0, 0)
    found = Consolidation(ground).look()
    nodes = explain_of(ground, found, lambda done, known: step("Trying to do without each node", done, known))
    for machine, one in zip(world.machines, nodes, strict=True):
        one["price"] = price_of(world, machine)
    command = None if found.command is None else command_json(*found.command)
    if command is not None and found.command is not None and found.command[1].replacement is not None:
        command["replacementPrice"] = launch_price(found.command[1].replacement)
    before = _sum(nodes)
    return {
        "nodePools": explain_pools(ground),
        "newNodes": offers,
        "existing": told["existing"],
        "podErrors": told["podErrors"],
        "notProvisionable": told.get("notProvisionable", []),
        "command": command,
        "nodes": nodes,
        "before": before,
        "after": _after(before, offers, command, nodes),
        "invented": asked.karpenter.ready,
        "notes": notes[:MOST_NOTES],
    }


def price_of(world: World, machine: Machine) -> float | None:
    """What a node costs an hour; ``None`` where its instance type or offering is not known."""
    sold = next((one for one in world.types if one.name == machine.labels.get(INSTANCE_TYPE)), None)
    return sold.price(machine.labels.get(ZONE, ""), machine.labels.get(CAPACITY_TYPE, "")) if sold else None


def _world(asked: Asked) -> tuple[World, list[str]]:
    """The cluster, and what was left out of it or read differently."""
    karpenter, taken, notes = asked.karpenter.sold_in(zones_of(asked.objects)), Objects(), list[str]()
    adopting = Adopting(karpenter, asked.now, asked.pool)
    for raw in adopting.adopted(asked.objects):
        try:
            taken.take(raw)
        except ObjectError as error:
            notes.append(f"{reference(raw)} is left out: {error}")
    if adopting.likened:
        notes.insert(0, _likened(adopting.likened))
    return karpenter.world(taken, asked.now), notes


def _likened(likened: dict[str, str]) -> str:
    counts = {name: list(likened.values()).count(name) for name in sorted(set(likened.values()))}
    said = ", ".join(f"{count} × {name}" for name, count in counts.items())
    start = f"{len(likened)} nodes have no instance type that is sold here"
    return f"{start}. They count as the smallest that holds them: {said}."


def _cheapest(one: Json) -> Json:
    """A new node with its cheapest offers; ``fitting`` says how many there are."""
    return {**one, "offers": one["offers"][:MOST_OFFERS], "fitting": len(one["offers"])}


def _sum(nodes: Sequence[Json]) -> Json:
    known = [one["price"] for one in nodes if one["price"] is not None]
    return {"nodes": len(nodes), "price": sum(known), "unpriced": len(nodes) - len(known)}


def _after(before: Json, offers: Sequence[Json], command: Json | None, nodes: Sequence[Json]) -> Json:
    """Once the new nodes are there and the command is done."""
    count, price = before["nodes"] + len(offers), before["price"]
    price += sum(one["offers"][0]["price"] for one in offers if one["offers"])
    if command is not None:
        gone = set(command["candidates"])
        count += len(command.get("replacements", ())) - len(gone)
        price += command.get("replacementPrice", 0.0) - sum(one["price"] or 0.0 for one in nodes if one["node"] in gone)
    return {"nodes": count, "price": price, "unpriced": before["unpriced"]}
