"""Usage of pods and nodes in metrics.k8s.io."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.sandbox.clock_validation import NAME
from kschedweb.engine.sandbox.requests import ApiResponse, Request
from kschedweb.engine.sandbox.resources import CLOCK, NODE, POD
from kschedweb.engine.sandbox.world import use_curves
from kschedweb.engine.sandbox.world.resources import DEPLOYMENT
from kschedweb.engine.sandbox.world.usage import pod_requests
from kschedweb.engine.simulation.recording import UseRecording
from tests.engine.sandbox.living import Living, pod, workload


def list_metrics(living: Living, path: str) -> list[Json]:
    answer = living.api.handle(Request("GET", f"/apis/metrics.k8s.io/v1beta1/{path}"))
    assert isinstance(answer, ApiResponse)
    assert answer.code == 200
    items: list[Json] = answer.body["items"]
    return items


def cores(usage: Json) -> float:
    return parse_quantity(usage["cpu"]) / NANO


def size(usage: Json) -> float:
    return parse_quantity(usage["memory"]) / NANO


def full() -> Living:
    living = Living(schedulers=("default-scheduler", "guarded", "extended"), catalogue=True)
    living.live(60.0)
    return living


def test_nodes_use_what_their_pods_and_the_machine_use_and_no_more_than_they_have() -> None:
    living = full()
    nodes, pods = list_metrics(living, "nodes"), list_metrics(living, "pods")
    assert len(nodes) == 40
    assert len(pods) == len(living.all(POD))
    on = {raw["metadata"]["name"]: raw["spec"]["nodeName"] for raw in living.all(POD)}
    for node in nodes:
        name = node["metadata"]["name"]
        has = living.get(NODE, name)["status"]["allocatable"]
        mine = [raw for raw in pods if on[raw["metadata"]["name"]] == name]
        for measure, unit in ((cores, 1e-6), (size, 64 * 1024)):
            used = sum(measure(container["usage"]) for raw in mine for container in raw["containers"])
            assert measure(node["usage"]) > used - unit
            assert measure(node["usage"]) <= measure(has) + unit
        assert node["timestamp"]
        assert node["window"] == "15s"


def test_a_node_whose_pods_want_more_than_it_has_is_full() -> None:
    living = Living()
    living.node("small", cpu=2)
    for name in "abcd":
        raw = pod(name, "450m")
        raw["metadata"]["annotations"] = {"sandbox.kschedweb.dev/use": "gateway"}
        living.create(POD, raw)
    living.live(5.0)
    highest = 0.0
    for _ in range(24):
        living.merge(CLOCK, NAME, {"spec": {"speed": 60}})
        living.live(60.0)
        (node,) = list_metrics(living, "nodes")
        highest = max(highest, cores(node["usage"]))
        assert cores(node["usage"]) <= 2.0 + 1e-6
    assert highest > 1.99


def test_pods_of_a_namespace_and_silent_nodes() -> None:
    living = full()
    pod_metrics = list_metrics(living, "namespaces/shop/pods")
    assert pod_metrics
    assert {raw["metadata"]["namespace"] for raw in pod_metrics} == {"shop"}
    living.merge(NODE, "general-a-1", {"metadata": {"annotations": {"sandbox.kschedweb.dev/silent-for": "5m"}}})
    living.turn()
    assert len(list_metrics(living, "nodes")) == 39


def test_use_depends_on_the_time_alone() -> None:
    living = full()
    first = list_metrics(living, "pods")
    living.restart()
    repeated = list_metrics(living, "pods")
    assert [raw["metadata"]["name"] for raw in repeated] == [raw["metadata"]["name"] for raw in first]
    for earlier, other in zip(first, repeated, strict=True):
        for mine, theirs in zip(earlier["containers"], other["containers"], strict=True):
            assert abs(cores(mine["usage"]) - cores(theirs["usage"])) <= 0.03 * cores(mine["usage"])


def test_every_pattern_has_its_day() -> None:
    rows = use_curves.day_curves(3)
    assert rows.shape == (len(use_curves.PATTERNS), 288)
    assert (rows > 0.0).all()
    for name, pattern in use_curves.PATTERNS.items():
        busy = max(use_curves.peak_share(3, name, 3600.0 * hour) for hour in pattern.hours)
        assert busy > 0.4, name
        assert rows[use_curves.NAMES.index(name)].min() < pattern.peak


def test_pods_of_a_workload_use_what_a_recorded_machine_did() -> None:
    living = Living(recording=UseRecording(["idle", "busy"], np.array([[10.0, 30.0], [60.0, 80.0]])))
    living.node("one", cpu=64)
    living.create(DEPLOYMENT, workload("web", 3))
    living.live(10.0)
    used = {cores(raw["containers"][0]["usage"]) for raw in list_metrics(living, "pods")}
    (share,) = {round(value / pod_requests(living.all(POD)[0])[0], 6) for value in used}
    position = living.world.clock.pace.time_at(living.now) % 600 / 300
    part = position % 1
    lines = ([10.0, 30.0], [60.0, 80.0])
    expected_shares = [(row[int(position)] * (1 - part) + row[(int(position) + 1) % 2] * part) / 100 for row in lines]
    assert any(abs(share - expected_share) < 1e-5 for expected_share in expected_shares)
