"""Decisions about volumes that nobody wrote down, answered by the engine and by the real scheduler."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any

from kschedweb.engine.scenario import Scenario
from tests.conformance.test_goldens import comparable
from tests.conformance.volume_scenarios import VolumeMaker

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = int(os.environ.get("HUNT_SEED") or SystemRandom().randrange(2**32))
PART = 20
COUNT = int(os.environ.get("HUNT_SCENARIOS") or 300)


def scenarios() -> list[dict]:
    maker = VolumeMaker(Random(SEED))
    return [maker.scenario(f"volumes-{SEED}-{number}") for number in range(COUNT)]


def ask(oracle: Callable[[str, str], Any], mode: str, asked: list[dict]) -> list[dict]:
    """The oracle mostly waits for its caches: several of it at once answer sooner."""
    parts = [asked[first : first + PART] for first in range(0, len(asked), PART)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = pool.map(lambda part: oracle(mode, "\n".join(map(json.dumps, part))), parts)
        return [answer for part in answers for answer in part]


def test_the_engine_explains_volumes_as_the_real_scheduler(oracle: Callable[[str, str], Any]) -> None:
    asked = scenarios()
    differing = [
        scenario["name"]
        for scenario, expected in zip(asked, ask(oracle, "explain", asked), strict=True)
        if comparable(Scenario.parse(json.dumps(scenario)).explain()) != comparable(expected)
    ]
    assert differing == [], f"HUNT_SEED={SEED}"


def test_the_engine_places_pods_with_volumes_as_the_real_scheduler(oracle: Callable[[str, str], Any]) -> None:
    asked = scenarios()
    differing = [
        scenario["name"]
        for scenario, expected in zip(asked, ask(oracle, "schedule", asked), strict=True)
        if Scenario.parse(json.dumps(scenario)).schedule() != expected
    ]
    assert differing == [], f"HUNT_SEED={SEED}"
