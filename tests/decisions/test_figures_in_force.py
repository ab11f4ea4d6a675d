"""Figures of use that decide for a stored snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import figures_in_force, services
from kschedweb.decisions.case import Case
from kschedweb.decisions.snapshots import engine_snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks.annotations import KEY
from kschedweb.policies.models import Revision
from kschedweb.watermarks import storage
from kschedweb.watermarks.figures import NODE, WORKLOAD, Figure
from tests.support.html import html_of

from .conftest import HEAD
from .load_cases import GIB, REPLICA_SET, amounts, node, pod, stamp

ALONE = "[{name: HheWaterLevelBalance}]"
HHE = f"{{multiPoint: {{enabled: {ALONE}}}, score: {{disabled: [{{name: '*'}}], enabled: {ALONE}}}}}"
CPU = Figure(NODE, "cpu", "15m")


def cluster_objects(use: dict[str, float] | None = None) -> list[Json]:
    """Two equal nodes, a pod of a Deployment, and annotations with these percents of CPU where ``use`` is given."""
    nodes = []
    for name in ("cold", "warm"):
        node_object = node(name, amounts(10_000, 32 * GIB), amounts(10_000, 32 * GIB))
        if use is not None:
            text = {"updated": stamp(datetime.now(UTC).timestamp() - 90), "cpu": {"15m": use[name]}}
            node_object["metadata"]["annotations"] = {KEY: json.dumps(text)}
        nodes.append(node_object)
    limits = {"limits": {"cpu": "100m"}, "requests": {"cpu": "100m"}}
    return [*nodes, REPLICA_SET, pod("web-1-x", limits)]


def store_samples(snapshot: Snapshot, before: float, **use: float) -> None:
    at = int(snapshot.taken_at.timestamp() - before)
    rows = [(at, {CPU: list(use.values())})]
    storage.samples_store(cluster=snapshot.cluster, kind=NODE, names=list(use), rows=rows, origin="prometheus")


@pytest.fixture
def water(policy: Callable[[str, str], Revision]) -> Revision:
    return policy("water", f"{HEAD}profiles: [{{plugins: {HHE}}}]\n")


def chosen_node(snapshot: Snapshot, revision: Revision) -> str:
    """As another request would find it, with a row of its own."""
    fresh_row = Snapshot.objects.get(pk=snapshot.pk)
    explanation = services.explain_pod(fresh_row, "d/web-1-x", revision)
    assert explanation.chosen is not None
    return explanation.nodes[explanation.chosen]


def test_annotations_decide_where_nothing_was_collected(
    store_snapshot: Callable[..., Snapshot], water: Revision
) -> None:
    assert chosen_node(store_snapshot(cluster_objects({"cold": 20.0, "warm": 70.0})), water) == "cold"
    other = store_snapshot(cluster_objects({"cold": 70.0, "warm": 20.0}), "other")
    assert chosen_node(other, water) == "warm"
    figures = figures_in_force.in_force(engine_snapshot(other), other)
    assert (figures.source, figures.nodes, figures.total) == ("annotations", 2, 2)
    assert 80 < figures.oldest < 120


def test_what_was_collected_goes_before_annotations(store_snapshot: Callable[..., Snapshot], water: Revision) -> None:
    snapshot = store_snapshot(cluster_objects({"cold": 70.0, "warm": 20.0}))
    assert chosen_node(snapshot, water) == "warm"
    store_samples(snapshot, 30, cold=20.0, warm=70.0)
    assert chosen_node(snapshot, water) == "cold"


def test_figures_collected_after_the_snapshot_do_not_decide(
    store_snapshot: Callable[..., Snapshot], water: Revision
) -> None:
    snapshot = store_snapshot(cluster_objects())
    store_samples(snapshot, 600, cold=20.0, warm=70.0)
    first = services.decide_pod(Snapshot.objects.get(pk=snapshot.pk), "d/web-1-x", water)
    store_samples(snapshot, -600, cold=90.0, warm=20.0)
    second = services.decide_pod(Snapshot.objects.get(pk=snapshot.pk), "d/web-1-x", water)
    assert second is first
    assert chosen_node(snapshot, water) == "cold"
    # Older figures that are in force then come in late: another answer.
    store_samples(snapshot, 60, cold=70.0, warm=20.0)
    assert chosen_node(snapshot, water) == "warm"


def test_only_later_figures_are_said_to_be_late(store_snapshot: Callable[..., Snapshot], water: Revision) -> None:
    snapshot = store_snapshot(cluster_objects())
    engine = engine_snapshot(snapshot)
    assert not figures_in_force.in_force(engine, snapshot).late
    store_samples(snapshot, -600, cold=90.0, warm=20.0)
    assert figures_in_force.in_force(engine, snapshot).late


def test_the_use_of_workloads_comes_with_that_of_nodes(
    store_snapshot: Callable[..., Snapshot], water: Revision
) -> None:
    snapshot = store_snapshot(cluster_objects())
    at = int(snapshot.taken_at.timestamp()) - 60
    rows = [(at, {Figure(WORKLOAD, "cpu", "15m"): np.array([6.0])})]
    workloads = ["d/Deployment/web"]
    storage.samples_store(cluster=snapshot.cluster, kind=WORKLOAD, names=workloads, rows=rows, origin="prometheus")
    store_samples(snapshot, 60, cold=20.0, warm=70.0)
    case = services.decide_pod(Snapshot.objects.get(pk=snapshot.pk), "d/web-1-x", water)
    assert isinstance(case, Case)
    levels = case.scheduler.framework(case.pod).plugin("HheWaterLevelBalance").levels(case.snapshot, case.pod)
    assert levels.pod.tolist() == [[60.0, 60.0]]  # six of ten cores, not the limit of a tenth of one


def test_the_decision_says_where_the_figures_are_from_and_how_old(
    store_snapshot: Callable[..., Snapshot],
    water: Revision,
    client_as: Callable[[str], Client],
    api_as: Callable[[str], Any],
) -> None:
    snapshot = store_snapshot(cluster_objects())
    answer = api_as("viewer").get("/api/v1/clusters/demo/pods/d/web-1-x/decision/", {"policy": "water"}).json()
    assert answer["watermarks"] == {"origin": "", "nodes": 0, "youngest": 0.0, "oldest": 0.0, "late": False}
    store_samples(snapshot, 600, cold=20.0, warm=70.0)
    answer = api_as("viewer").get("/api/v1/clusters/demo/pods/d/web-1-x/decision/", {"policy": "water"}).json()
    assert answer["watermarks"]["origin"] == "prometheus"
    assert answer["watermarks"]["nodes"] == 2
    assert 599 < answer["watermarks"]["oldest"] < 602
    page = html_of(client_as("viewer").get("/decision/demo/d/web-1-x/", {"policy": "water"}))
    assert "2 of 2 nodes, 10 min old at the snapshot" in page
    query = {"policy": "water", "node": "warm", "cell": "HheWaterLevelBalance"}
    page = html_of(client_as("viewer").get("/decision/demo/d/web-1-x/", query))
    for part in (
        "CPU, mean over 15 minutes",
        "70 % of allocatable",
        "10 min",
        "prometheus",
        "level of 2 nodes",
        "its limit, as its workload has no figures",
    ):
        assert part in page
