"""Placement of a workload's pods: the worked example of three racks, asked in several ways."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.scenario import answer_scenario
from tests.engine.queueing.test_scenario import KUEUE, make_scenario, make_workload

RACK, HOST = "cloud/rack", "kubernetes.io/hostname"
# Rack -> CPUs by node.
RACKS = {"r1": {"n1": 3, "n2": 4}, "r2": {"n3": 8}, "r3": {"n4": 2, "n5": 2, "n6": 2}}


def place(count: int, **request: object) -> dict[str, int] | str:
    """Pods by node, or why they are nowhere."""
    workload = make_workload("w", "1")
    workload["spec"]["podSets"][0] |= {"count": count, "topologyRequest": request}
    scenario = make_scenario(workload)
    flavor, queue = scenario["objects"][:2]
    flavor["spec"] = {"nodeLabels": {"pool": "x"}, "topologyName": "dc"}
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "100"
    levels = [{"nodeLabel": RACK}, {"nodeLabel": HOST}]
    scenario["objects"].append(
        {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": "dc"}, "spec": {"levels": levels}}
    )
    scenario["objects"] += [make_node(rack, name, cpu) for rack, nodes in RACKS.items() for name, cpu in nodes.items()]
    stored = answer_scenario(scenario)["workloads"]["ns/w"]
    if stored["state"] != "admitted":
        message: str = stored["conditions"][0]["message"]
        return message
    topology = stored["admission"][0]["topology"]
    return {domain["values"][-1]: domain["count"] for domain in topology["domains"]}


def make_node(rack: str, name: str, cpu: int) -> Json:
    status = {"allocatable": {"cpu": str(cpu), "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": {"pool": "x", RACK: rack, HOST: name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}


@pytest.mark.parametrize(
    ("count", "request_of_pods", "expected"),
    [
        # The rack that holds exactly as many.
        (6, {"required": RACK}, {"n4": 2, "n5": 2, "n6": 2}),
        (5, {"required": RACK}, {"n4": 2, "n5": 2, "n6": 1}),
        # The node with the least room that is enough.
        (5, {"unconstrained": True}, {"n3": 5}),
        # No node has as much: several, the least free first.
        (9, {"unconstrained": True}, {"n1": 3, "n4": 2, "n5": 2, "n6": 2}),
        # One rack is preferred, and none holds them.
        (9, {"preferred": RACK}, {"n3": 8, "n4": 1}),
    ],
)
def test_pods_are_placed_as_tightly_as_they_ask(count: int, request_of_pods: Json, expected: dict[str, int]) -> None:
    assert place(count, **request_of_pods) == expected


def test_a_rack_that_is_too_small_is_told_with_its_room() -> None:
    assert 'topology "dc" allows to fit only 8 out of 9 pod(s)' in str(place(9, required=RACK))
