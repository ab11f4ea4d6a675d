"""From documents to simulations: what there is at the beginning, and what follows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedweb.engine.config import EMPTY, Configuration
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import NodeDrains, NodeJoins, PodArrives, Result, Simulation, list_standard_actors
from kschedweb.engine.studies import PreparedScenario, ScenarioError, prepare_scenario, read_scenario
from kschedweb.engine.studies.play.run import run_scenario as run_whatif
from tests.engine.builders import node, pod

ZONE = "topology.kubernetes.io/zone"


def prepared(*objects: dict, files: dict[str, Any] | None = None, seed: int = 1, **document: Any) -> PreparedScenario:
    before = json.dumps(objects)
    scenario = prepare_scenario(
        read_scenario({"name": "x", **document}), list(objects), files or {}, seed=seed, now=0.0
    )
    assert json.dumps(objects) == before  # A base is shared by all who prepare something of it.
    return scenario


def run(scenario: PreparedScenario, end: float | None = None) -> Result:
    use = scenario.use() if scenario.use else None
    simulation = Simulation(scenario.objects, default(), scenario.events, scenario.settings, list_standard_actors(use))
    return simulation.run(end or scenario.end or 3600.0)


def default() -> Configuration:
    loaded = load(EMPTY).configuration
    assert loaded is not None
    return loaded


def problems(*objects: dict, **document: Any) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        prepared(*objects, **document)
    return [str(problem) for problem in caught.value.problems]


def owned(raw: dict, kind: str, name: str) -> dict:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}
    return {**raw, "metadata": {**raw["metadata"], "ownerReferences": [owner]}}


def names(scenario: PreparedScenario) -> list[str]:
    return [raw["metadata"]["name"] for raw in scenario.objects if raw["kind"] == "Node"]


def zoned(*zones: str) -> list[dict]:
    return [node(f"n{place}", labels={ZONE: zone}) for place, zone in enumerate(zones)]


def test_pods_of_the_base_are_placed_anew_in_the_order_of_their_creation() -> None:
    young, old = pod("young", on="n0"), pod("old", on="n0")
    young["metadata"]["creationTimestamp"], old["metadata"]["creationTimestamp"] = (
        "2024-01-02T00:00:00Z",
        "2024-01-01T00:00:00Z",
    )
    scenario = prepared(*zoned("a"), young, old, owned(pod("agent", on="n0"), "DaemonSet", "agent"))
    arrivals = [event.pod for event in scenario.events if isinstance(event, PodArrives)]
    assert [raw["metadata"]["name"] for raw in arrivals if isinstance(raw, dict)] == ["old", "young"]
    assert [raw["metadata"]["name"] for raw in scenario.objects if raw["kind"] == "Pod"] == ["agent"]
    assert [bound.pod for bound in run(scenario).bound] == ["default/old", "default/young"]


def test_pods_that_have_a_node_keep_it_where_only_pending_ones_are_placed() -> None:
    scenario = prepared(*zoned("a"), pod("bound", on="n0"), pod("waits"), run={"place": "pending"})
    assert [bound.pod for bound in run(scenario).bound] == ["default/waits"]
    scenario = prepared(*zoned("a"), pod("bound", on="n0"), pod("waits"), run={"place": "arrivals"})
    assert not run(scenario).bound


@pytest.mark.parametrize("place", ["all", "pending"])
def test_pods_of_the_base_have_the_priority_of_their_class(place: str) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    usual = {**high, "metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
    bound, waits = pod("bound", on="n0", priorityClassName="high"), pod("waits", priorityClassName="high")
    waits["metadata"]["uid"] = "not stored by any server"
    other_pods = [
        pod("plain", on="n0"),
        pod("given", on="n0", priority=3),
        pod("gone", on="n0", priorityClassName="none"),
    ]
    scenario = prepared(*zoned("a"), high, usual, bound, waits, *other_pods, run={"place": place})
    outcome = run_whatif(scenario, default())
    assert dict(zip(outcome.pods, outcome.priority.tolist(), strict=True)) == {
        "default/bound": 1000,
        "default/waits": 1000,
        "default/plain": 7,
        "default/given": 3,
        **({"default/gone": 0} if place == "pending" else {}),
    }
    refused = "Pod default/gone: no PriorityClass with name none was found"
    assert scenario.notes == (
        [f"{refused}: is taken without what its classes would give it"] if place == "pending" else []
    )
    assert [text for _, text in outcome.refused] == ([refused] if place == "all" else [])


def test_pods_of_workloads_arrivals_and_records_have_the_priority_of_their_class() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    spec = {"containers": [{"name": "main"}], "priorityClassName": "high"}
    record = {"time": "2024-05-01T12:00:00Z", "event": "Add", "resource": pod("recorded", priorityClassName="high")}
    scenario = prepared(
        *zoned("a"),
        high,
        files={"jobs": b"t,p\n1,high\n", "records": json.dumps(record).encode()},
        changes=[
            {"addWorkload": {"manifest": {"kind": "Pod", "metadata": {"name": "alone"}, "spec": spec}}},
            {"addWorkload": {"manifest": {"kind": "Deployment", "metadata": {"name": "web"}, "spec": web(spec)}}},
        ],
        arrivals=[
            {"trace": {"file": "jobs", "format": "csv", "columns": {"time": "t", "priorityClass": "p"}}},
            {"trace": {"file": "records", "format": "records"}},
            {
                "generate": {
                    "perHour": 60,
                    "until": "10m",
                    "shapes": [{"cpu": "1m", "spec": {"priorityClassName": "high"}}],
                }
            },
        ],
    )
    outcome = run_whatif(scenario, default())
    assert len(outcome.pods) > 5
    assert set(outcome.priority.tolist()) == {1000}


def web(spec: dict) -> dict:
    return {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}


def test_a_pod_of_the_base_whose_annotations_are_no_object_is_left_out() -> None:
    bent = pod("bent", on="n0")
    bent["metadata"]["annotations"] = [1]
    scenario = prepared(*zoned("a"), bent, pod("bound", on="n0"))
    assert scenario.notes == ["Pod default/bent: is left out: metadata.annotations: must be an object, is a list"]
    assert [bound.pod for bound in run(scenario).bound] == ["default/bound"]


def test_a_drain_moves_pods_that_have_a_controller_and_leaves_daemons_alone() -> None:
    scenario = prepared(
        *zoned("a", "b"),
        owned(pod("web", on="n0"), "ReplicaSet", "web"),
        owned(pod("agent", on="n0"), "DaemonSet", "agent"),
        changes=[{"at": 60, "drainNodes": {"zone": "a"}}],
        run={"place": "pending"},
    )
    result = run(scenario)
    assert [evicted.pod for evicted in result.evicted] == ["default/web"]
    assert [(bound.pod, bound.node) for bound in result.bound] == [("default/web-again1", "n1")]


def test_changes_at_the_beginning_are_in_the_objects_and_later_ones_are_events() -> None:
    scenario = prepared(
        *zoned("a", "b"),
        changes=[
            {"at": 60, "addNodes": {"like": "n0", "zones": ["c"]}},
            {"addNodes": {"name": "gpu", "count": 2, "allocatable": {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 4}}},
            {"removeNodes": {"nodes": ["n1"]}},
            {"at": 90, "drainNodes": {"zone": "c"}},
        ],
    )
    assert names(scenario) == ["n0", "gpu-1", "gpu-2"]
    joins, drains = scenario.events
    assert isinstance(joins, NodeJoins)
    assert (joins.time, joins.node["metadata"]["name"]) == (60.0, "n0-new-1")
    assert joins.node["metadata"]["labels"] == {"kubernetes.io/hostname": "n0-new-1", ZONE: "c"}
    assert drains == NodeDrains(90.0, "n0-new-1")


def test_what_is_not_there_is_told_with_its_path() -> None:
    problem_texts = problems(
        *zoned("a"),
        changes=[
            {"drainNodes": {"nodes": ["n0", "n9"]}},
            {"failZone": {"zone": "z"}},
            {"addNodes": {"file": "nodes.csv"}},
            {"scaleWorkload": {"workload": "default/Deployment/web", "replicas": 3}},
            {"cordonNodes": {"selector": {"matchLabels": {"gpu": "yes"}}}},
        ],
    )
    assert problem_texts == [
        "changes[0].drainNodes.nodes[1]: there is no node n9 at this time",
        "changes[1].failZone.zone: there is no node in zone z at this time; zones are a",
        "changes[2].addNodes.file: there is no file 'nodes.csv'; files are none",
        "changes[3].scaleWorkload.workload: there is no workload default/Deployment/web at this time",
        "changes[4].cordonNodes.selector: selects no node at this time",
    ]
