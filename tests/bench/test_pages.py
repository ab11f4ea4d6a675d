"""Waits for the pages that grow with a cluster: 1,523 nodes and 5,000 pods of a recorded one.

Over one kept-alive connection to a web process as docker-compose.yml starts it, on PostgreSQL and Redis.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.releases import load
from tests.bench.conftest import Wire
from tests.support import openb, seed

pytestmark = pytest.mark.nightly

DECISION, LIST = 1000, 600  # milliseconds, several times what a machine with time needs


@pytest.fixture(scope="module")
def recorded(wire: Wire) -> list[str]:
    """Cluster `openb` with 1,523 nodes and 5,000 pods, 4,000 of them tried by the engine; keys of pending pods."""
    nodes, pods = openb.nodes(), openb.pods(5000)
    snapshot = Snapshot.from_objects([*nodes, *pods])
    configuration = load(
        {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    ).configuration
    assert configuration is not None
    by_key = {f"default/{pod['metadata']['name']}": pod for pod in pods}
    for placement in Scheduler(snapshot, configuration).schedule_pods(snapshot.pending[:4000]):
        if placement.node:
            by_key[placement.pod]["spec"]["nodeName"] = placement.node
            by_key[placement.pod]["status"]["phase"] = "Running"
    wire.backstage("cluster", name="openb", objects=[*nodes, *pods])
    return [key for key, pod in by_key.items() if not pod["spec"].get("nodeName")]


def visiting(wire: Wire) -> Callable[[str], float]:
    """Milliseconds that an admin waits for a page, asked for on one connection."""
    person = wire.person("admin")

    def visit(path: str) -> float:
        answer = person.get(path)
        assert answer.status == 200, f"{path}: {answer.status}"
        return answer.milliseconds

    return visit


def test_pages_answer_in_time(recorded: list[str], wire: Wire, report: Callable[..., None]) -> None:
    visit = visiting(wire)
    keys = recorded[:: len(recorded) // 12][:11]
    first = visit(f"/decision/openb/{keys[0]}/")
    report("decision page, 1,523 nodes", [visit(f"/decision/openb/{key}/") for key in keys[1:]], DECISION)
    report("decision page, first of its process", [first])
    decisions = [f"/api/v1/clusters/openb/pods/{key}/decision/?policy=default" for key in recorded[5::97][:8]]
    report("REST decision, 1,523 nodes", [visit(path) for path in decisions], DECISION)
    for name, path in {
        "pods page, 5,000 pods": "/pods/?cluster=openb",
        "pods page, filtered by text": "/pods/?cluster=openb&search=openb-pod-01",
        "nodes page, 1,523 nodes": "/nodes/?cluster=openb",
        "overview": "/?cluster=openb",
        "REST pods, 5,000 pods": "/api/v1/clusters/openb/pods/",
        "REST nodes, 1,523 nodes": "/api/v1/clusters/openb/nodes/",
    }.items():
        first = visit(path)
        report(name, [visit(path) for _ in range(5)], LIST, f"first visit {first:.0f} ms")


@pytest.fixture(scope="module")
def measured(wire: Wire) -> str:
    """Cluster `large`: 5,000 nodes, each with a pod of a deployment, and a day of use every 5 minutes."""
    names = [f"node-{number:05d}" for number in range(5000)]
    owner = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True, "uid": "s"}]
    pods = [seed.pod(f"pod-{number:05d}", bound_to=name) for number, name in enumerate(names)]
    for number, pod in enumerate(pods):
        pod["metadata"]["ownerReferences"] = [owner[0] | {"name": f"set-{number % 2000}"}]
    wire.backstage("cluster", name="large", objects=[*map(seed.node, names), *pods])
    wire.backstage("measured", name="large", nodes=names, hours=24)
    return "large"


def test_pages_of_recorded_use_answer_in_time(measured: str, wire: Wire, report: Callable[..., None]) -> None:
    visit = visiting(wire)
    pages, api = f"/usage/{{}}?cluster={measured}", f"/api/v1/clusters/{measured}/watermarks/{{}}/"
    visits = {
        "skew": pages.format(""),
        "heatmap": pages.format("heatmap/"),
        "heatmap, one group": pages.format("heatmap/") + "&first=1&last=100",
        "distribution": pages.format("distribution/"),
        "requests and use of nodes": pages.format("nodes/"),
        "requests and use of workloads": pages.format("workloads/"),
        "nodes page": f"/nodes/?cluster={measured}",
        "overview": f"/?cluster={measured}",
        **{f"REST {name}": api.format(name) for name in ("skew", "history", "distribution", "nodes", "workloads")},
    }
    for name, path in visits.items():
        first = visit(path)
        report(f"{name}, 5,000 nodes", [visit(path) for _ in range(5)], LIST, f"first visit {first:.0f} ms")


def test_answers_of_the_decision_are_small_enough_to_read(recorded: list[str], wire: Wire) -> None:
    viewer = wire.person("viewer")
    page = viewer.get(f"/decision/openb/{recorded[0]}/")
    assert page.status == 200
    assert len(page.body) < 1_500_000
    answer = viewer.get(f"/api/v1/clusters/openb/pods/{recorded[0]}/decision/")
    assert json.loads(answer.body)["pod"] == recorded[0]
