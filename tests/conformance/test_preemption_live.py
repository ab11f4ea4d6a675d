"""Victims of preemption, by the engine and by the real scheduler, in random clusters."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING, Any

from kschedweb.engine import Scheduler
from kschedweb.engine.config import Release
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.preemption.evaluator import PreemptionCandidate, measure_disturbance
from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.preemption_scenarios import CrowdMaker
from tests.support import tiers

if TYPE_CHECKING:
    from collections.abc import Callable


SEED = tiers.seed()
PART = 20
COUNT = tiers.count(150, 1500)


def draw_scenarios() -> list[dict]:
    maker = CrowdMaker(Random(SEED))
    return [maker.crowd(f"crowd-{SEED}-{number}") for number in range(COUNT)]


def ask(oracle: Callable[[str, str], Any], scenarios: list[dict]) -> list[dict]:
    """The oracle mostly waits for its caches: several of it at once answer sooner."""
    parts = [scenarios[first : first + PART] for first in range(0, len(scenarios), PART)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = pool.map(lambda part: oracle("schedule", "\n".join(map(json.dumps, part))), parts)
        return [answer for part in answers for answer in part]


def difference(scenario: dict, expected: dict) -> str:
    """The first pod about which the two disagree, "" where there is none.

    Of candidates that are equally good kube-scheduler takes any: where it took another one, the comparison ends.
    """
    ready = Scenario.from_text(json.dumps(scenario))
    engine = Scheduler(ready.snapshot, ready.configuration)
    for pod, theirs in zip(ready.pending, expected["placements"], strict=True):
        explained = engine.explain(pod, preemption=True).preemption if "victims" in theirs else None
        placement = engine.find(pod, SearchRequest(preempt=True))
        if placement.node:
            engine.bind_pod(pod, placement.node)
        ours = placement.to_dict()
        if ours == theirs:
            continue
        return "" if explained is not None and equally_good(explained.candidates, ours, theirs) else pod.key
    return ""


def equally_good(candidates: tuple[PreemptionCandidate, ...], ours: dict, theirs: dict) -> bool:
    chosen = [
        candidate
        for answer in (ours, theirs)
        for candidate in candidates
        if candidate.node == answer.get("node") and [victim.key for victim in candidate.victims] == answer["victims"]
    ]
    return len(chosen) == 2 and measure_disturbance(chosen[0]) == measure_disturbance(chosen[1])


def test_the_engine_evicts_whom_the_real_scheduler_evicts(
    oracle: Callable[[str, str], Any], real_release: Release
) -> None:
    scenarios = [{**drawn, "release": real_release.name} for drawn in draw_scenarios()]
    answers = ask(oracle, scenarios)
    differing = [
        f"{scenario['name']}: {key}"
        for scenario, expected in zip(scenarios, answers, strict=True)
        if (key := difference(scenario, expected))
    ]
    assert differing == [], f"HUNT_SEED={SEED}"
    evictions = sum("victims" in placement for answer in answers for placement in answer["placements"])
    assert evictions > COUNT // 2  # or the scenarios ask for nothing
