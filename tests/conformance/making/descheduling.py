"""Descheduling scenarios nobody wrote: the policy of one recorded scenario on the cluster of another, both changed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random

from kschedweb.engine.json_types import Json

LIMITS = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def mix_scenarios(random: Random, known: Sequence[Json], name: str) -> Json:
    """A scenario made of two of those that are ``known``."""
    cluster, other = (copy.deepcopy(random.choice(known)) for _ in range(2))
    found = {**cluster, "name": name, "policy": other["policy"]}
    if "metrics" in other:
        found["metrics"] = other["metrics"]
    _change_policy(random, found["policy"])
    nodes = [one for one in found["objects"] if one["kind"] == "Node"]
    pods = [one for one in found["objects"] if one["kind"] == "Pod"]
    for one in random.sample(nodes, min(len(nodes), random.randint(0, 2))):
        _change_node(random, one)
    for one in random.sample(pods, min(len(pods), random.randint(0, 12))):
        _change_pod(random, one, nodes)
    gone = set(random.sample([one["metadata"]["name"] for one in pods], random.randint(0, len(pods) // 3)))
    found["objects"] = [one for one in found["objects"] if one["kind"] != "Pod" or one["metadata"]["name"] not in gone]
    return found


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
