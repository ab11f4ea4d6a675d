"""The difference hunter: scenarios nobody wrote, answered by the engine and by the real scheduler."""

from __future__ import annotations

import json
import os
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from kschedweb.engine.scenario import Scenario
from tests.conformance.scenarios import Maker
from tests.conformance.test_goldens import comparable

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = int(os.environ.get("HUNT_SEED") or SystemRandom().randrange(2**32))
SMALL = int(os.environ.get("HUNT_SCENARIOS") or 250)
LARGE = max(1, SMALL // 50)


def hunted() -> list[dict]:
    maker = Maker(Random(SEED))
    small = [maker.scenario(f"small-{SEED}-{number}") for number in range(SMALL)]
    return small + [maker.scenario(f"large-{SEED}-{number}", nodes=101 + 90 * number) for number in range(LARGE)]


def same(scenario: dict, ours: Any, expected: Any) -> bool:
    """Whether both say the same; among candidates for preemption that are equally good, kube-scheduler takes any."""
    for mine, theirs in zip(ours.get("pods") or [], expected.get("pods") or [], strict=True):
        taken = [answer["preemption"] for answer in (mine, theirs) if "preemption" in answer]
        if len({disturbance(scenario, preemption) for preemption in taken}) == 1:
            for preemption in taken:
                preemption.pop("node")
    return comparable(ours) == comparable(expected)


def disturbance(scenario: dict, preemption: dict) -> tuple:
    """How much the node taken disturbs, by the rules of DefaultPreemption."""
    pods = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in pods_of(scenario)}
    candidate = preemption["candidates"][preemption["node"]]
    victims = [pods[name] for name in candidate["pods"]]
    priorities = [pod["spec"].get("priority", 0) for pod in victims]
    starts = [pod["status"].get("startTime", "now") for pod in victims]
    highest = [start for start, priority in zip(starts, priorities, strict=True) if priority == max(priorities)]
    return candidate["pdbViolations"], priorities[0], sum(priorities) + len(victims) * 2**31, len(victims), min(highest)


def pods_of(scenario: dict) -> list[dict]:
    return [item for item in [*scenario["objects"], *scenario["pending"]] if item["kind"] == "Pod"]


def differences(mode: str, ask: Callable[[str, str], Any]) -> list[str]:
    """Names of the scenarios on which the two disagree."""
    scenarios = hunted()
    answers = ask(mode, "\n".join(json.dumps(scenario) for scenario in scenarios))
    assert len(answers) == len(scenarios)
    differing = []
    for scenario, expected in zip(scenarios, answers, strict=True):
        ready = Scenario.parse(json.dumps(scenario))
        ours = ready.explain() if mode == "explain" else ready.schedule()
        if not same(scenario, ours, expected):
            differing.append(ready.name)
    return differing


def test_the_engine_explains_as_the_real_scheduler(oracle: Callable[[str, str], Any]) -> None:
    assert differences("explain", oracle) == [], f"HUNT_SEED={SEED}"


def test_the_engine_places_as_the_real_scheduler(oracle: Callable[[str, str], Any]) -> None:
    assert differences("schedule", oracle) == [], f"HUNT_SEED={SEED}"
