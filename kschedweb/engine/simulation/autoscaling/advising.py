"""What cluster-autoscaler would do with a cluster now, with why and what it costs, as plain data."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kschedweb.engine.config import Configuration
from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.pricing.table import INSTANCE_TYPE
from kschedweb.engine.simulation.autoscaling.looking import (
    Growth,
    Look,
    NodeGroup,
    NodeGroups,
    Option,
    budgets_of,
    sets_of,
    used,
    utilisation,
)
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot

Step = Callable[[str, int, int], None]
GOES, COULD_GO, STAYS = "goes", "could go", "stays"
MOST_HELPLESS = 100  # pods of which each group's reason is told


def look_at(
    told: NodeGroups, snapshot: Snapshot, configuration: Configuration, check: Callable[[], object] = lambda: None
) -> Look:
    """A look at a cluster that stands still."""
    lives, at = dict[str, Life](), defaultdict[str, list[Life]](list)
    for pod in [*(one for one in snapshot.pods.pods if one is not None), *snapshot.pending]:
        bound, leaves = 0.0 if pod.node_name else None, 0.0 if pod.terminating else None
        lives[pod.key] = life = Life(pod, pod, 0.0, bound=bound, leaves=leaves)
        if bound is not None and leaves is None and not stays_at_drain(pod):
            at[pod.node_name].append(life)
    others = [raw for kind in ("DaemonSet", "PodDisruptionBudget") for raw in snapshot.objects.all(kind)]
    return Look(
        told=told,
        configuration=configuration,
        snapshot=snapshot,
        nodes=told.of(snapshot.nodes),
        sets=sets_of(others),
        budgets=budgets_of(others),
        lives=lives.values,
        on=lambda name: at.get(name, []),
        check=check,
    )


def advise(
    told: NodeGroups,
    snapshot: Snapshot,
    configuration: Configuration,
    step: Step = lambda text, done, known: None,
) -> Json:
    """What it would do. ``step`` hears what is being done, and may raise to end it.

    ``existing`` places of pods on nodes that are there; ``looks`` one after the other, each with what every node group
    scored, of which the first gets nodes; ``helpless`` pods with each group's reason; ``nodes`` with the verdict on
    each.
    """
    look = look_at(told, snapshot, configuration, lambda: step("Looking for nodes for pods that wait", 0, 0))
    waiting = [pod for pod in snapshot.pending if not pod.gates and not pod.terminating and not stays_at_drain(pod)]
    *looks, (last, left) = _growths(look, waiting)
    return {
        "expander": told.expander,
        "threshold": told.threshold,
        "unneeded": told.unneeded,
        "afterAdd": told.after_add,
        "existing": [*looks, (last, left)][0][1].placed,
        "looks": [_look(*one) for one in looks],
        "helpless": _helpless(last, left.left[:MOST_HELPLESS]),
        "helplessCount": len(left.left),
        "nodes": _nodes(replace(look, check=lambda: None), step),
    }


def ready_groups(nodes: Iterable[Node]) -> list[Json]:
    """Node groups as a document has them, one for each instance type and zone of the nodes, without prices."""
    kinds = defaultdict[tuple[str, str], list[Node]](list)
    for node in nodes:
        if kind := node.labels.get(INSTANCE_TYPE):
            kinds[kind, node.labels.get(ZONE, "")].append(node)
    return [_ready_group(f"{kind}-{zone}", of) for (kind, zone), of in sorted(kinds.items())]


def _growths(look: Look, pods: Sequence[Pod]) -> list[tuple[Look, Growth]]:
    """Looks with what comes of them, until no group helps; each sees the nodes that were asked for before it."""
    found, coming = [(look, look.growth(pods, []))], list[Json]()
    while options := found[-1][1].options:
        group = options[0].group
        new = [group.node(f"{group.name}-new-{len(coming) + one + 1}") for one in range(options[0].count)]
        coming += new
        look = replace(look, nodes={**look.nodes, **{raw["metadata"]["name"]: group for raw in new}})
        found.append((look, look.growth(found[-1][1].left, coming)))
    return found


def _look(look: Look, growth: Growth) -> Json:
    """A look that asks for nodes: what each group scored, and why the others are no option."""
    best, options = growth.options[0], {one.group.name for one in growth.options}
    return {
        "group": best.group.name,
        "count": best.count,
        "price": None if best.group.price is None else best.group.price * best.count,
        "pods": [[pod.key for pod in node] for node in best.pods],
        "candidates": [_candidate(one) for one in growth.options],
        "others": [
            {"group": one.name, "why": "Its nodes help none of the pods." if look.room(one) > 0 else _full(one)}
            for one in look.told.groups
            if one.name not in options
        ],
    }


def _candidate(option: Option) -> Json:
    group, (cpu, memory) = option.group, option.wasted
    return {
        "group": group.name,
        "count": option.count,
        "pods": len(option.helped),
        "wastedCpu": cpu,
        "wastedMemory": memory,
        "price": group.price,
        "pricePerPod": None if group.price is None else option.price_per_pod,
        "priority": group.priority,
    }


def _full(group: NodeGroup) -> str:
    return f"It has its most nodes, {group.most}."


def _helpless(look: Look, pods: Sequence[Pod]) -> list[Json]:
    """Pods with why each group has no node for them."""
    found: list[Json] = [{"pod": pod.key, "why": {}} for pod in pods]
    for group in look.told.groups if pods else ():
        name = f"{group.name}-template"
        scheduler = look.scheduler([group.node(name)]) if look.room(group) > 0 else None
        for one, pod in zip(found, pods, strict=True):
            look.check()
            one["why"][group.name] = scheduler.misfit(pod, name) if scheduler else _full(group)
    return found


def _nodes(look: Look, step: Step) -> list[Json]:
    found = list[Json]()
    for done, node in enumerate(look.snapshot.nodes):
        step("Looking for nodes that can go", done, len(look.snapshot))
        group, verdict = look.nodes.get(node.name), look.verdict(node.name)
        found.append(
            {
                "node": node.name,
                "group": group.name if group else "",
                "price": group.price if group else None,
                "verdict": STAYS if verdict.why else COULD_GO,
                "why": verdict.why,
                "used": {name: list(pair) for name, pair in used(look.snapshot, node.name).items()},
                "utilisation": utilisation(look.snapshot, node.name),
                "pods": [life.pod.key for life in look.on(node.name)],
                "moves": dict(verdict.moves),
            }
        )
    first = look.first([one["node"] for one in found if not one["why"]])
    for one in found:
        if one["node"] in first:
            one["verdict"] = GOES
    return found


def _ready_group(named: str, nodes: Sequence[Node]) -> Json:
    """What all of its nodes have in common; labels of the kind and the zone are among it."""
    first = nodes[0]
    has = mapping(mapping(first.raw, "status"), "allocatable")
    taints = mapping(first.raw, "spec").get("taints") or ()
    labels = {key: value for key, value in first.labels.items() if all(one.labels.get(key) == value for one in nodes)}
    return {
        "name": re.sub("[^a-z0-9]+", "-", named.lower())[:63].strip("-"),
        "labels": {key: value for key, value in labels.items() if key != HOSTNAME},
        "taints": [one for one in taints if not str(one.get("key")).startswith("node.kubernetes.io/")],
        "allocatable": {name: str(amount) for name, amount in has.items()},
        "max": 2 * len(nodes),
    }
