"""Clusters made up from a seed, in which much happens: for what must hold of every run."""

from __future__ import annotations

import random
from typing import Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    PodArrives,
    SimulationEvent,
    SimulationSettings,
)
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import CONFIGURATION, node, pod

ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"
CLASSES = [{"kind": "PriorityClass", "metadata": {"name": name}, "value": value} for name, value in (("high", 1000),)]
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "app-0", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "app-0"}}},
    "status": {"disruptionsAllowed": 1},
}


def configuration(strategy: str = "", **profile: Any) -> Configuration:
    """The default profile, with another scoring strategy of NodeResourcesFit."""
    if strategy:
        resources = [{"name": name, "weight": weight} for name, weight in (("cpu", 1), ("memory", 1), (GPU, 5))]
        args = {"scoringStrategy": {"type": strategy, "resources": resources}}
        profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": args}]
    loaded = load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]})
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def make_crowded_scenario(seed: int, pods: int = 40, nodes: int = 8) -> PreparedScenario:
    """More pods than fit at once, some of them important; nodes that are drained, fail, join and leave."""
    rng = random.Random(seed)
    events: list[SimulationEvent] = [PodArrives(round(rng.uniform(0, 900), 1), *_arrival(rng, n)) for n in range(pods)]
    begun = [_node(f"n{number}", number) for number in range(nodes)]
    happenings: list[SimulationEvent] = [
        NodeDrains(rng.uniform(300, 900), "n1"),
        NodeFallsSilent(rng.uniform(300, 600), "n2"),
        NodeLeaves(rng.uniform(300, 900), "n3"),
        NodeJoins(rng.uniform(300, 900), _node("late", 1)),
        NodeChanges(rng.uniform(0, 900), "n0", allocatable={"cpu": "8"}),
    ]
    events += rng.sample(happenings, rng.randint(0, len(happenings)))
    already = [pod(f"old-{number}", on=f"n{number}", requests={"cpu": "1"}) for number in range(nodes // 2)]
    waiting = [pod("waiting", requests={"cpu": "500m"})]
    return PreparedScenario(
        [*begun, *already, *waiting, *CLASSES, BUDGET], events, 2000.0, SimulationSettings(sample=100.0), seed=seed
    )


def make_queue_scenario(seed: int, pods: int = 60, nodes: int = 120) -> PreparedScenario:
    """Pods that come and go on nodes that stay as they are, so many that the scheduler looks at a part of them.

    Few nodes have GPUs, and more pods want one than there are.
    """
    rng = random.Random(seed)
    begun = [_node(f"n{number}", 0) for number in range(nodes)]
    for number in range(4):
        begun[number]["status"]["allocatable"][GPU] = "2"
    events: list[SimulationEvent] = []
    for number in range(pods):
        requests = {"cpu": rng.choice(["250m", "1", "2"]), **({GPU: "1"} if rng.random() < 0.4 else {})}
        raw = pod(f"p{number:03d}", labels={"app": f"app-{rng.randrange(3)}"}, requests=requests)
        life = rng.choice([None, None, 500.0, 2000.0])
        events.append(PodArrives(round(rng.uniform(0, 3000), 1), raw, life))
    cycle = rng.choice([0.0, 0.001, 0.25])
    return PreparedScenario(begun, events, 8000.0, SimulationSettings(sample=100.0, cycle=cycle), seed=seed)


def make_refused_pods_scenario(seed: int, pods: int = 60, nodes: int = 10) -> PreparedScenario:
    """Pods that name their node, be it there or not, and owned pods that a quota lets in only now and then."""
    rng = random.Random(seed)
    begun = [_node(f"n{number}", 0) for number in range(nodes)]
    hard = {"pods": str(rng.choice([12, 20])), "requests.cpu": "18"}
    metadata = {"name": "q", "namespace": "default"}
    events: list[SimulationEvent] = []
    for number in range(pods):
        on = rng.choice(["", "", "", "n0", f"n{rng.randrange(nodes)}", "gone"])
        raw = pod(f"p{number:03d}", on=on, requests={"cpu": rng.choice(["250m", "1", "2", "5"])})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}
        owned = rng.random() < 0.5
        raw["metadata"] |= {"ownerReferences": [owner]} if owned else {}
        life = rng.choice([None, 200.0, 500.0, 900.0])
        events.append(PodArrives(round(rng.uniform(0, 2000), 1), raw, life, owned and not on))
    quota = {"kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}
    cycle = rng.choice([0.0, 0.001, 0.25])
    return PreparedScenario([*begun, quota], events, 4000.0, SimulationSettings(sample=100.0, cycle=cycle), seed=seed)


def _node(name: str, number: int) -> Json:
    gpus = {GPU: "4"} if number % 2 else {}
    return node(name, labels={ZONE: f"zone-{number % 3}"}, allocatable=gpus)


def _arrival(rng: random.Random, number: int) -> tuple[Json, float | None, bool]:
    app = f"app-{rng.randrange(4)}"
    requests = {"cpu": rng.choice(["250m", "1", "2"]), "memory": rng.choice(["64Mi", "1Gi"])}
    requests |= {GPU: rng.choice(["1", "2"])} if rng.random() < 0.3 else {}
    spec: Json = {"terminationGracePeriodSeconds": rng.choice([0, 30])}
    if rng.random() < 0.2:
        spec["priorityClassName"] = "high"
    if rng.random() < 0.4:
        selector = {"matchLabels": {"app": app}}
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
        spec["topologySpreadConstraints"] = [spread]
    raw = pod(f"p{number:03d}", labels={"app": app}, requests=requests, **spec)
    return raw, rng.choice([None, None, 200.0, 600.0]), rng.random() < 0.5
