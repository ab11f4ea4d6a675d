"""Advise what cluster-autoscaler would do with a cluster now, with reasons and prices, as plain data."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.pricing.price_table import INSTANCE_TYPE
from kschedweb.engine.simulation.autoscaling.cluster_look import (
    ClusterLook,
    NodeGroup,
    NodeGroups,
    ScaleUpAnalysis,
    ScaleUpOption,
    compute_utilisation,
    filter_daemon_sets,
    read_budgets,
    requested_and_allocatable,
)
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.snapshot import Snapshot

# Called with (text, finished, total) between steps; it may raise to end the work.
Step = Callable[[str, int, int], None]
GOES, COULD_GO, STAYS = "goes", "could go", "stays"
# Pods whose reasons are given for each group.
MOST_HELPLESS = 100


def make_static_look(
    node_groups: NodeGroups,
    snapshot: Snapshot,
    configuration: Configuration,
    check: Callable[[], object] = lambda: None,
) -> ClusterLook:
    """Return a look at a cluster that stands still."""
    lives, at = dict[str, PodLife](), defaultdict[str, list[PodLife]](list)
    for pod in [*(entry for entry in snapshot.pods.pods if entry is not None), *snapshot.pending]:
        bound, leaves = 0.0 if pod.node_name else None, 0.0 if pod.terminating else None
        lives[pod.key] = life = PodLife(pod, pod, 0.0, bound=bound, leaves=leaves)
        if bound is not None and leaves is None and not stays_at_drain(pod):
            at[pod.node_name].append(life)
    raw_objects = [raw for kind in ("DaemonSet", "PodDisruptionBudget") for raw in snapshot.objects.all(kind)]
    return ClusterLook(
        node_groups=node_groups,
        configuration=configuration,
        snapshot=snapshot,
        nodes=node_groups.group_by_node(snapshot.nodes),
        sets=filter_daemon_sets(raw_objects),
        budgets=read_budgets(raw_objects),
        lives=lives.values,
        on=lambda name: at.get(name, []),
        check=check,
    )


def advise_scaling(
    node_groups: NodeGroups,
    snapshot: Snapshot,
    configuration: Configuration,
    step: Step = lambda text, finished, total: None,
) -> Json:
    """Return what cluster-autoscaler would do; ``step`` hears of the progress, and may raise to end it.

    ``existing``: pods that fit on nodes that exist. ``looks``: one scale-up after the other, each with the score of
    every node group; the first group gets nodes. ``helpless``: pods that no group helps, with each group's reason.
    ``nodes``: the verdict on each node.
    """
    look = make_static_look(
        node_groups, snapshot, configuration, lambda: step("Looking for nodes for pods that wait", 0, 0)
    )
    # No node is asked for pods that belong to one node, as those of DaemonSets.
    waiting = [pod for pod in snapshot.pending if not pod.gates and not pod.terminating and not stays_at_drain(pod)]
    *looks, (last, last_analysis) = _list_scale_ups(look, waiting)
    return {
        "expander": node_groups.expander,
        "threshold": node_groups.threshold,
        "unneeded": node_groups.unneeded,
        "afterAdd": node_groups.after_add,
        "existing": [*looks, (last, last_analysis)][0][1].placed,
        "looks": [_look_json(*pair) for pair in looks],
        "helpless": _helpless_json(last, last_analysis.unplaced[:MOST_HELPLESS]),
        "helplessCount": len(last_analysis.unplaced),
        "nodes": _node_verdicts(replace(look, check=lambda: None), step),
    }


def derive_node_groups(nodes: Iterable[Node]) -> list[Json]:
    """Return node groups as a document has them: one for each instance type and zone, without prices."""
    kinds = defaultdict[tuple[str, str], list[Node]](list)
    for node in nodes:
        if kind := node.labels.get(INSTANCE_TYPE):
            kinds[kind, node.labels.get(ZONE, "")].append(node)
    return [_derive_node_group(f"{kind}-{zone}", members) for (kind, zone), members in sorted(kinds.items())]


def _list_scale_ups(look: ClusterLook, pods: Sequence[Pod]) -> list[tuple[ClusterLook, ScaleUpAnalysis]]:
    """Look again and again until no group helps; each look sees the nodes that were asked for before it."""
    analyses, coming = [(look, look.analyze_scale_up(pods, []))], list[Json]()
    while options := analyses[-1][1].options:
        group = options[0].group
        new = [
            group.template_node(f"{group.name}-new-{len(coming) + number + 1}") for number in range(options[0].count)
        ]
        coming += new
        look = replace(look, nodes={**look.nodes, **{raw["metadata"]["name"]: group for raw in new}})
        analyses.append((look, look.analyze_scale_up(analyses[-1][1].unplaced, coming)))
    return analyses


def _look_json(look: ClusterLook, growth: ScaleUpAnalysis) -> Json:
    """Describe a look that asks for nodes: the score of each option, and why other groups are none."""
    best, options = growth.options[0], {option.group.name for option in growth.options}
    return {
        "group": best.group.name,
        "count": best.count,
        "price": None if best.group.price is None else best.group.price * best.count,
        "pods": [[pod.key for pod in node] for node in best.pods],
        "candidates": [_candidate_json(option) for option in growth.options],
        "others": [
            {
                "group": group.name,
                "why": "Its nodes help none of the pods." if look.size_headroom(group) > 0 else _max_size_reason(group),
            }
            for group in look.node_groups.groups
            if group.name not in options
        ],
    }


def _candidate_json(option: ScaleUpOption) -> Json:
    group, (cpu, memory) = option.group, option.wasted
    return {
        "group": group.name,
        "count": option.count,
        "pods": len(option.helped_pods),
        "wastedCpu": cpu,
        "wastedMemory": memory,
        "price": group.price,
        "pricePerPod": None if group.price is None else option.price_per_pod,
        "priority": group.priority,
    }


def _max_size_reason(group: NodeGroup) -> str:
    return f"It has its most nodes, {group.max_size}."


def _helpless_json(look: ClusterLook, pods: Sequence[Pod]) -> list[Json]:
    """Explain for each pod why no group has a node for it."""
    entries: list[Json] = [{"pod": pod.key, "why": {}} for pod in pods]
    for group in look.node_groups.groups if pods else ():
        name = f"{group.name}-template"
        scheduler = look.make_scheduler([group.template_node(name)]) if look.size_headroom(group) > 0 else None
        for entry, pod in zip(entries, pods, strict=True):
            look.check()
            entry["why"][group.name] = scheduler.find_misfit_reason(pod, name) if scheduler else _max_size_reason(group)
    return entries


def _node_verdicts(look: ClusterLook, step: Step) -> list[Json]:
    rows = list[Json]()
    for position, node in enumerate(look.snapshot.nodes):
        step("Looking for nodes that can go", position, len(look.snapshot))
        group, verdict = look.nodes.get(node.name), look.judge_node(node.name)
        rows.append(
            {
                "node": node.name,
                "group": group.name if group else "",
                "price": group.price if group else None,
                "verdict": STAYS if verdict.why else COULD_GO,
                "why": verdict.why,
                "used": {
                    name: list(pair) for name, pair in requested_and_allocatable(look.snapshot, node.name).items()
                },
                "utilisation": compute_utilisation(look.snapshot, node.name),
                "pods": [life.pod.key for life in look.on(node.name)],
                "moves": dict(verdict.moves),
            }
        )
    # Nodes that could go do not all go at once: the first look takes some of them.
    first = look.select_removable([row["node"] for row in rows if not row["why"]])
    for row in rows:
        if row["node"] in first:
            row["verdict"] = GOES
    return rows


def _derive_node_group(group_name: str, nodes: Sequence[Node]) -> Json:
    """Return what the nodes have in common as a node group, with the labels of instance type and zone."""
    first = nodes[0]
    has = get_mapping(get_mapping(first.raw, "status"), "allocatable")
    taints = get_mapping(first.raw, "spec").get("taints") or ()
    labels = {key: value for key, value in first.labels.items() if all(node.labels.get(key) == value for node in nodes)}
    return {
        "name": re.sub("[^a-z0-9]+", "-", group_name.lower())[:63].strip("-"),
        # The hostname is the node's own, even if it is the only one.
        "labels": {key: value for key, value in labels.items() if key != HOSTNAME},
        # Taints of conditions come and go with the state of a node.
        "taints": [taint for taint in taints if not str(taint.get("key")).startswith("node.kubernetes.io/")],
        "allocatable": {name: str(amount) for name, amount in has.items()},
        # Room to grow; people change it before they ask.
        "max": 2 * len(nodes),
    }
