"""Descheduling scenarios nobody wrote: the policy of one recorded scenario on the cluster of another, both changed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random

from kschedweb.engine.json_types import Json

LIMITS = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def mix_scenarios(random: Random, scenarios: Sequence[Json], name: str) -> Json:
    """A scenario made of two of those that are ``known``."""
    cluster, other = (copy.deepcopy(random.choice(scenarios)) for _ in range(2))
    mixed = {**cluster, "name": name, "policy": other["policy"]}
    if "metrics" in other:
        mixed["metrics"] = other["metrics"]
    _change_policy(random, mixed["policy"])
    nodes = [raw for raw in mixed["objects"] if raw["kind"] == "Node"]
    pods = [raw for raw in mixed["objects"] if raw["kind"] == "Pod"]
    for raw in random.sample(nodes, min(len(nodes), random.randint(0, 2))):
        _change_node(random, raw)
    for raw in random.sample(pods, min(len(pods), random.randint(0, 12))):
        _change_pod(random, raw, nodes)
    removed_names = set(random.sample([raw["metadata"]["name"] for raw in pods], random.randint(0, len(pods) // 3)))
    mixed["objects"] = [
        raw for raw in mixed["objects"] if raw["kind"] != "Pod" or raw["metadata"]["name"] not in removed_names
    ]
    return mixed


def _change_policy(random: Random, policy: Json) -> None:
    for limit in LIMITS:
        if random.random() < 0.2:
            policy[limit] = random.randint(0, 4)
    for profile in policy.get("profiles") or ():
        for config in profile.get("pluginConfig") or ():
            args = config.get("args") or {}
            if config["name"] == "DefaultEvictor" and random.random() < 0.3:
                args["nodeFit"] = random.random() < 0.5
            for thresholds in ("thresholds", "targetThresholds"):
                if thresholds in args and random.random() < 0.3:
                    args[thresholds] = {key: random.choice([0, 10, 25.5, 40, 70, 100]) for key in args[thresholds]}


def _change_node(random: Random, node: Json) -> None:
    spec = node.setdefault("spec", {})
    match random.randrange(3):
        case 0:
            spec["unschedulable"] = not spec.get("unschedulable", False)
        case 1:
            taint = {"key": "extra", "value": random.choice(["", "a"]), "effect": random.choice(EFFECTS)}
            spec["taints"] = [*(spec.get("taints") or ()), taint]
        case _:
            node["metadata"].get("labels", {}).pop("topology.kubernetes.io/zone", None)


def _change_pod(random: Random, pod: Json, nodes: list[Json]) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    match random.randrange(6):
        case 0:
            spec["priority"] = random.choice([0, 10, 1000, 2_000_000_000])
        case 1:
            spec.pop("priority", None)
        case 2:
            spec["nodeName"] = random.choice(nodes)["metadata"]["name"]
        case 3:
            spec["tolerations"] = [{"operator": "Exists"}, {"key": "extra", "operator": "Exists"}]
        case 4:
            pod["status"]["phase"] = random.choice(["Running", "Pending", "Failed", "Succeeded"])
        case _:
            marks = metadata.setdefault("annotations", {})
            marks[f"descheduler.alpha.kubernetes.io/{random.choice(['evict', 'prefer-no-eviction'])}"] = "true"
