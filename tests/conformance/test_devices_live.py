"""Devices that nobody chose by hand, chosen by the engine and by the real scheduler."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random

import pytest

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.hunting import differing, report, same
from tests.conformance.making.devices import DeviceMaker
from tests.conformance.reference import Reference
from tests.engine.allocation.written import write_claim
from tests.support import tiers

pytestmark = pytest.mark.live

SEED = tiers.seed()
COUNT = tiers.count(150, 2000)


def draw_scenarios(count: int, name: str) -> list[dict]:
    maker = DeviceMaker(Random(f"{SEED}/{name}"))
    return [maker.scenario(f"{name}-{SEED}-{number}") for number in range(count)]


@pytest.mark.parametrize("mode", ["explain", "schedule"])
def test_the_engine_finds_devices_where_the_real_scheduler_does(reference: Reference, mode: str) -> None:
    scenarios = draw_scenarios(COUNT, "devices")
    differences = list(differing(reference, mode, scenarios))
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first made small:\n" + report(
        reference, mode, differences[0]
    )


def after(scenario: dict) -> list[dict]:
    """The scenario before each of its pods, all earlier ones of which have their devices in their claims."""
    ready = Scenario.from_text(json.dumps(scenario))
    scheduler, steps = ready.create_scheduler(None), []
    for pod in scenario["pending"]:
        claims = ready.snapshot.resource_claims
        objects = [
            write_claim(item, claims.get("default", item["metadata"]["name"]))
            if item["kind"] == "ResourceClaim"
            else item
            for item in scenario["objects"]
        ]
        bound = [
            bound_pod.raw | {"spec": bound_pod.raw["spec"] | {"nodeName": bound_pod.node_name}}
            for bound_pod in bound_pods(ready)
        ]
        steps.append(scenario | {"objects": [*deepcopy(objects), *bound], "pending": [pod], "mode": "each"})
        scheduler.schedule_one(Pod.from_json(pod))
    return steps


def bound_pods(scenario: Scenario) -> list[Pod]:
    pods = scenario.snapshot.pods
    return [pod for slot in pods.slots.values() if (pod := pods.pods[slot]) is not None]


def test_later_pods_find_what_earlier_ones_left(reference: Reference) -> None:
    """The oracle reserves nothing: it is shown the claims as the engine has written them, before each pod."""
    steps = [
        step for scenario in draw_scenarios(COUNT // 2, "sequences") for step in after(reference.with_release(scenario))
    ]
    answers = reference.answers("explain", steps)
    differ = [
        step["name"]
        for step, expected in zip(steps, answers, strict=True)
        if not same(step, reference.engine_answer("explain", step), expected)
    ]
    assert differ == [], f"HUNT_SEED={SEED}"
