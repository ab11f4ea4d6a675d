"""Small clusters to plan moves in, drawn or written, and a plan carried out by the scheduler's own cycle."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.controllers.nodelifecycle import cordon_node
from kschedweb.engine.experiment.policies import create_profile, load_configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.planning.results import MovePlan
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import node

GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
MIRROR = "kubernetes.io/config.mirror"
DEFAULT = load_configuration(None)
WATER_LEVEL = load_configuration(create_profile({"HheWaterLevelBalance": 1}))
OWNED = ("ReplicaSet", "StatefulSet")
BOUND = ("DaemonSet", "Node", "", "asked", "local")  # what kinds of pods must never be moved


def pod(name: str, on: str, *, cpu: str = "1", app: str = "web", kind: str = "ReplicaSet", **more: Any) -> Json:
    """A running pod; ``kind`` is that of its controller, or what else keeps it; ``more``: gpu, affinity, use."""
    amounts = {"cpu": cpu, "memory": "1Gi", **({GPU: str(more["gpu"])} if more.get("gpu") else {})}
    owner = kind if kind in (*OWNED, "DaemonSet", "Node") else "ReplicaSet"
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": app, "uid": app, "controller": True}] if kind else []
    annotations = {"Node": {MIRROR: "x"}, "asked": {"karpenter.sh/do-not-disrupt": "true"}}.get(kind, {})
    spec: Json = {
        "nodeName": on,
        "containers": [{"name": "main", "image": "app", "resources": {"requests": amounts, "limits": amounts}}],
    }
    if kind == "local":
        spec["volumes"] = [{"name": "data", "emptyDir": {}}]
    if more.get("apart"):
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": app},
            "annotations": annotations,
            "ownerReferences": owners,
        },
        "spec": spec,
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def budget(app: str, allowed: int, healthy: int = 5) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": healthy - allowed,
            "expectedPods": healthy,
        },
    }


def snapshot(objects: list[Json], use: dict[str, float]) -> Snapshot:
    """The cluster, with what pods use in cores by name."""
    cluster = Snapshot.from_objects(copy.deepcopy(objects))
    pods = {f"default/{name}": {"cpu": cores} for name, cores in use.items()}
    cluster.watermarks = Watermarks.from_json({"pods": pods}, cluster.names)
    return cluster


@st.composite
def clusters(draw: st.DrawFn, *, plain: bool = False) -> tuple[list[Json], dict[str, float]]:
    """At most 5 nodes and 8 pods with their use; ``plain``: every pod may go, and nothing but room is in its way."""
    names = [f"n{place}" for place in range(draw(st.integers(2, 5)))]
    objects = [node(name, allocatable={"cpu": draw(st.sampled_from(["4", "8"])), GPU: "4"}) for name in names]
    use = {}
    kinds = st.just("ReplicaSet") if plain else st.sampled_from((*OWNED, *OWNED, *OWNED, *BOUND))
    for number in range(draw(st.integers(1, 8))):
        app, name = draw(st.sampled_from(["web", "shop"])), f"p{number}"
        use[name] = draw(st.sampled_from([0.1, 0.2, 0.5, 1.0, 2.0]))
        more = {"gpu": draw(st.integers(0, 2)), "apart": not plain and draw(st.booleans())}
        cpu = draw(st.sampled_from(["500m", "1", "2"]))
        objects.append(pod(name, draw(st.sampled_from(names)), cpu=cpu, app=app, kind=draw(kinds), **more))
    if not plain:
        objects += [budget(app, draw(st.integers(0, 2))) for app in draw(st.sets(st.sampled_from(["web", "shop"])))]
    return objects, use


def carry_out_plan(start: Snapshot, policy: Configuration, plan: MovePlan) -> Snapshot:
    """The cluster after the plan, each evicted pod placed by a scheduler that knows nothing of plans.

    Asserts that it goes where the plan says, and that no wave evicts more pods than their budgets allow.
    """
    cluster = start.copy().with_nodes([cordon_node(start.nodes[start.index[name]]) for name in plan.cordons])
    scheduler = Scheduler(cluster, policy)
    budgets = [(budget["spec"]["selector"]["matchLabels"], budget["status"]) for budget in _budgets(start)]
    for wave in plan.waves:
        terminating: list[str] = []
        for labels, status in budgets:
            meant = [move for move in wave if cluster.get_pod(move.pod).labels == labels]
            assert len(meant) <= status["disruptionsAllowed"]
        for move in wave:
            evicted = cluster.remove_pod(move.pod)
            heir = copy.deepcopy(evicted.raw)
            heir["spec"].pop("nodeName")
            heir.pop("status")
            assert evicted.controller is not None
            if evicted.controller[1] != "StatefulSet":
                leaving = copy.deepcopy(evicted.raw)
                leaving["metadata"]["deletionTimestamp"] = "2026-11-24T00:00:00Z"
                cluster.add_pod(Pod.from_json(leaving), cluster.index[evicted.node_name])
                heir["metadata"] |= {"name": f"{evicted.name}-new", "uid": f"{evicted.name}-new"}
                terminating.append(move.pod)
            read = Pod.from_json(heir)
            assert scheduler.find(read).node == move.target != move.source
            scheduler.bind_pod(read, move.target)
        for key in terminating:
            cluster.remove_pod(key)
    return cluster


def _budgets(snapshot: Snapshot) -> list[Json]:
    return list(snapshot.objects.all("PodDisruptionBudget"))


def original(key: str) -> str:
    """The name of the pod in whose place the pod ``key`` came."""
    return key.removeprefix("default/").removesuffix("-new")


def compute_levels(cluster: Snapshot, use: dict[str, float]) -> np.ndarray:
    """Percent of CPU that the pods of each node use."""
    sums = np.zeros(len(cluster))
    for slot in cluster.pods.slots.values():
        pod = cluster.pods.pods[slot]
        assert pod is not None
        sums[cluster.index[pod.node_name]] += use[original(pod.key)]
    return 100_000.0 * sums / cluster.resource_row(cluster.allocatable, "cpu")
