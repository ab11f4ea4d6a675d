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


def differences(mode: str, ask: Callable[[str, str], Any]) -> list[str]:
    """Names of the scenarios on which the two disagree."""
    scenarios = hunted()
    texts = [json.dumps(scenario) for scenario in scenarios]
    answers = ask(mode, "\n".join(texts))
    assert len(answers) == len(scenarios)
    differing = []
    for text, expected in zip(texts, answers, strict=True):
        scenario = Scenario.parse(text)
        ours = scenario.explain() if mode == "explain" else scenario.schedule()
        if comparable(ours) != comparable(expected):
            differing.append(scenario.name)
    return differing


def test_the_engine_explains_as_the_real_scheduler(oracle: Callable[[str, str], Any]) -> None:
    assert differences("explain", oracle) == [], f"HUNT_SEED={SEED}"


def test_the_engine_places_as_the_real_scheduler(oracle: Callable[[str, str], Any]) -> None:
    assert differences("schedule", oracle) == [], f"HUNT_SEED={SEED}"
