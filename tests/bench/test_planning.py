"""Plans of moves in a cluster of 5,000 nodes and 50,000 pods, each move placed by the scheduler's own cycle."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import monotonic
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Snapshot
from kschedweb.engine.experiment.policies import create_profile, load_configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.planning.fragments import Fragmentation
from kschedweb.engine.planning.node_freeing import FreedNodes
from kschedweb.engine.planning.plan import Objective, plan_moves
from kschedweb.engine.planning.results import MovePlan
from kschedweb.engine.planning.scenario import create_deadline
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.bench.conftest import measure_milliseconds
from tests.engine.builders import node
from tests.engine.planning.building import GPU, budget, pod

NODES, PODS, APPS = 5_000, 50_000, 500
SECONDS, SEARCH = 60.0, 45.0
WINDOWS = ("15m", "1h", "1d")


@pytest.fixture(scope="module")
def cluster() -> Snapshot:
    random = Random(7)
    objects: list[Json] = []
    for number in range(NODES):
        room = {"cpu": "16", "memory": "64Gi", **({GPU: "8"} if number % 10 == 0 else {})}
        objects.append(node(f"node-{number:05}", allocatable=room))
    use = {}
    for number in range(PODS):
        app, on = f"app-{random.randrange(APPS)}", random.randrange(NODES)
        gpu = random.choice([1, 1, 2]) if on % 10 == 0 and random.random() < 0.2 else 0
        cpu = random.choice(["250m", "500m", "1", "1500m"])
        objects.append(pod(f"{app}-{number:05}", f"node-{on:05}", cpu=cpu, app=app, gpu=gpu))
        use[f"default/{app}-{number:05}"] = {"cpu": round(random.expovariate(1.0) * 0.6, 3)}
    objects += [budget(f"app-{number}", 10, 100) for number in range(APPS)]
    snapshot = Snapshot.from_objects(objects)
    snapshot.watermarks = Watermarks.from_json({"nodes": _levels(snapshot, use), "pods": use}, snapshot.names)
    return snapshot


def _levels(snapshot: Snapshot, use: dict[str, Any]) -> Json:
    levels = np.zeros(NODES)
    for bound_pod in filter(None, snapshot.pods.pods):
        levels[snapshot.index[bound_pod.node_name]] += 100.0 * use[bound_pod.key]["cpu"] / 16.0
    return {
        name: {"updated": 0, "cpu": dict.fromkeys(WINDOWS, float(level))}
        for name, level in zip(snapshot.names, levels, strict=True)
    }


@pytest.mark.parametrize(
    "objective",
    [
        pytest.param(Skew(60.0), id="skew", marks=pytest.mark.nightly),
        pytest.param(FreedNodes(500), id="nodes"),
        pytest.param(Fragmentation(GPU, 4), id="fragmentation", marks=pytest.mark.nightly),
    ],
)
def test_a_plan_in_a_large_cluster(cluster: Snapshot, objective: Objective, report: Callable[..., None]) -> None:
    policy, plans = (
        load_configuration({**create_profile({"HheWaterLevelBalance": 1}), "percentageOfNodesToScore": 100}),
        list[MovePlan](),
    )
    took = measure_milliseconds(lambda: plans.append(plan_moves(cluster, policy, objective)))
    plan = plans[0]
    assert plan.moves
    assert abs(plan.after - plan.before) > 0.3 * max(plan.before, plan.after)
    change = f"{plan.before:g} to {plan.after:g} {plan.unit}"
    remark = f"{len(plan.moves):,} moves, at least {plan.bound.moves:,} needed; {change}"
    report(f"plan of moves, {objective.name}, {NODES:,} nodes, {PODS:,} pods", [took], SECONDS * 1000, remark)


@pytest.mark.nightly
def test_as_many_nodes_as_can_be_within_a_deadline(cluster: Snapshot, report: Callable[..., None]) -> None:
    """The search ends where the pages' does; what is told of 5,000 nodes is the best plan so far."""
    policy, plans = (
        load_configuration({**create_profile({"HheWaterLevelBalance": 1}), "percentageOfNodesToScore": 100}),
        list[MovePlan](),
    )
    took = measure_milliseconds(
        lambda: plans.append(plan_moves(cluster, policy, FreedNodes(), late=create_deadline(SEARCH, monotonic)))
    )
    plan = plans[0]
    assert plan.moves
    assert plan.after > 0
    remark = f"{len(plan.moves):,} moves; {plan.after:g} of at most {plan.bound.value:g} nodes; {plan.stop.text}"
    report(f"plan of moves, as many nodes as can be, {NODES:,} nodes, {PODS:,} pods", [took], SECONDS * 1000, remark)
