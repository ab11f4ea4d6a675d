"""The engine on autoscalers against the real controller of 1.37.2, whose answers are kept in recorded/."""

from __future__ import annotations

from tests.conformance.autoscaling import answer, goldens
from tests.conformance.batches import differing


def test_the_engine_scales_as_the_real_controller_did() -> None:
    assert differing((scenario["name"], answer(scenario), expected) for scenario, expected in goldens()) == {}


def test_the_recorded_answers_hold_what_can_become_of_an_autoscaler() -> None:
    looks = [look for _, expected in goldens() for look in expected.get("looks", [])]
    reasons = {
        condition.split(":")[0].split()[-1] for look in looks for condition in look["conditions"].values() if condition
    }
    assert reasons == {
        *("SucceededGetScale", "SucceededRescale", "ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized"),
        *("ValidMetricFound", "FailedGetResourceMetric", "ScalingDisabled"),
        *("DesiredWithinRange", "TooFewReplicas", "TooManyReplicas", "ScaleUpLimit", "ScaleDownLimit"),
    }
    assert sum("order" in expected for _, expected in goldens()) >= 30
