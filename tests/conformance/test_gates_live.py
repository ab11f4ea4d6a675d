"""Small feature gates, each of them on, compared with the real scheduler."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random

import pytest

from tests.conformance.hunting import by_chance, differing, name_of, report, same
from tests.conformance.making.scenarios import Evictions
from tests.conformance.reference import Reference
from tests.engine.builders import CONFIGURATION, node, pod
from tests.support import tiers

pytestmark = pytest.mark.live

SEED = tiers.seed()
COUNT = tiers.count(40, 400)
PRE_SCORE = 'running PreScore plugin "VolumeBinding": not found'
VALUES = ["-7", "0", "3", "10", "007", "+3", "-0", "1.5", "", "high", "9223372036854775807", "9223372036854775808"]


def tolerating(random: Random, name: str) -> dict:
    """Nodes with taints of numbers, and pods that compare them; some spread over the nodes that they tolerate."""

    def taint() -> dict:
        effect = random.choice(["NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"])
        return {"key": random.choice(["age", "cost"]), "value": random.choice(VALUES), "effect": effect}

    def toleration() -> dict:
        operator = random.choice(["Gt", "Lt", "Gt", "Lt", "Equal", "Exists"])
        toleration = {"key": random.choice(["age", "cost"]), "operator": operator}
        return toleration if operator == "Exists" else toleration | {"value": random.choice(VALUES)}

    def spread() -> dict:
        how = random.choice(["DoNotSchedule", "ScheduleAnyway"])
        key = random.choice(["zone", "kubernetes.io/hostname"])
        return {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": how,
            "labelSelector": {"matchLabels": {"app": "a"}},
            "nodeTaintsPolicy": random.choice(["Honor", "Ignore"]),
        }

    nodes = [
        node(f"n{number}", labels={"zone": random.choice("xyz")}, taints=[taint() for _ in range(random.randint(0, 2))])
        for number in range(8)
    ]
    pods = [
        pod(
            f"p{number}",
            labels={"app": "a"},
            tolerations=[toleration() for _ in range(random.randint(0, 3))],
            topologySpreadConstraints=[spread() for _ in range(random.randint(0, 1))],
        )
        for number in range(12)
    ]
    config = CONFIGURATION | {"parallelism": 1}
    return {"name": name, "config": config, "objects": nodes, "pending": pods, "mode": "sequence"}


@pytest.mark.parametrize("mode", ["explain", "schedule"])
def test_tolerations_compare_as_the_real_ones(reference: Reference, mode: str) -> None:
    comparing = reference.with_gates(TaintTolerationComparisonOperators=True)
    scenarios = [tolerating(Random(f"{SEED}/{number}"), f"tolerating-{SEED}-{number}") for number in range(COUNT)]
    differences = list(differing(comparing, mode, scenarios))
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ:\n" + report(
        comparing, mode, differences[0]
    )


def resizing(random: Random, name: str) -> tuple[dict, dict]:
    """A pod on a full node whose resize waits for room: for the real scheduler, and for the engine.

    The real one has to be told of the pod twice: as it runs, under another name, and as it is asked about.
    """
    scenario = Evictions(random).scenario(name, nodes=random.randint(1, 6))
    running = [raw for raw in scenario["objects"] if raw["kind"] == "Pod"]
    for raw in scenario["objects"]:
        if raw["kind"] == "Node" and random.random() < 0.2:
            raw["spec"] = raw.get("spec", {}) | {"podPreemptionPolicy": {"disableResizePreemption": ["Pod"]}}
    resized = deepcopy(random.choice(running))
    other_objects = [raw for raw in scenario["objects"] if raw["kind"] != "Pod" or name_of(raw) != name_of(resized)]
    container = resized["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": random.choice(["500m", "2", "5"]), "memory": "1Gi"}}
    has = {"cpu": random.choice(["100m", "500m", "3"]), "memory": random.choice(["1Gi", "2Gi"])}
    resized["status"] |= {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [{"name": container["name"], "allocatedResources": has, "resources": {"requests": has}}],
    }
    resized["metadata"]["uid"] = "asked"
    resized["spec"]["priority"] = random.choice([0, 50, 1000])
    twin = deepcopy(resized)
    twin["metadata"]["name"] = "running"
    ours = scenario | {"objects": other_objects, "pending": [resized], "mode": "each", "preempt": False}
    return ours | {"objects": [*other_objects, twin]}, ours


@pytest.fixture(scope="module")
def resizes(reference: Reference) -> Reference:
    return reference.with_gates(InPlacePodVerticalScalingSchedulerPreemption=True)


def test_room_is_made_for_a_resize_as_the_real_scheduler_makes_it(resizes: Reference) -> None:
    scenarios = [resizing(Random(f"{SEED}/{number}"), f"resizing-{SEED}-{number}") for number in range(COUNT)]
    answers = resizes.answers("explain", [theirs for theirs, _ in scenarios])
    conditions = resizes.answers("condition", [theirs for theirs, _ in scenarios])
    fitting = refused = evicting = 0
    for (theirs, ours), expected, condition in zip(scenarios, answers, conditions, strict=True):
        assert resizes.engine_answer("condition", ours) == condition, json.dumps(ours)
        answer = resizes.engine_answer("explain", ours)
        if PRE_SCORE in expected.get("error", ""):  # where the only node fits, nothing is scored but in an explanation
            fitting += 1
            assert answer["pods"][0]["feasible"] == [ours["pending"][0]["spec"]["nodeName"]]
            continue
        refused += 1
        evicting += "preemption" in expected["pods"][0]
        assert same(ours, answer, expected) or by_chance(resizes, "explain", theirs, answer), json.dumps(ours)
    assert min(fitting, refused, evicting) > COUNT // 20
