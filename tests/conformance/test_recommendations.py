"""The engine on usage histories against the vertical pod autoscaler's recommender 1.8.1: recorded answers."""

from __future__ import annotations

from kschedweb.engine.rightsizing.scenario import recommend_scenario
from tests.conformance.batches import differing
from tests.conformance.recommendations import SCENARIO_COUNT, goldens, recorded


def test_the_engine_recommends_as_the_recommender_did() -> None:
    pairs = goldens()
    assert differing((scenario["name"], recommend_scenario(scenario), expected) for scenario, expected in pairs) == {}


def test_the_engine_recommends_as_in_each_recorded_answer() -> None:
    pairs = recorded()
    assert len(pairs) == 120
    assert differing((scenario["name"], recommend_scenario(scenario), expected) for scenario, expected in pairs) == {}


def test_the_kept_answers_hold_what_can_become_of_samples() -> None:
    answers = [answer for _, expected in goldens() for answer in expected.get("containers", {}).values()]
    assert len(goldens()) == SCENARIO_COUNT
    assert any(answer["discarded"] for answer in answers)
    assert any(not answer["cpuSamples"] for answer in answers)
    assert any(answer["upperBound"]["cpu"] == "100G" for answer in answers)  # one sample says nothing of a bound
    samples = [
        sample
        for scenario, _ in goldens()
        for instances in scenario["containers"].values()
        for instance in instances
        for sample in instance["samples"]
    ]
    assert sum("oomMemoryRequest" in sample for sample in samples) > 100
