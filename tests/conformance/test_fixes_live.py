"""Fixes that the site offers make the real kube-scheduler place the pod."""

from __future__ import annotations

import pytest

from tests.conformance.hunt_options import SEED
from tests.conformance.reference import Reference
from tests.engine.studies.fixes.drawing import draw_fixed_pods, make_fix
from tests.support import tiers

PODS = tiers.count(40, 400)


@pytest.mark.live
def test_the_real_scheduler_places_the_pod_too(reference: Reference) -> None:
    print(f"HUNT_SEED={SEED}")
    release = reference.release.name
    fixed = [
        (make_fix(scenario, pod, fixes[0]), fixes[0])
        for scenario, pod, fixes in draw_fixed_pods(SEED + 1, PODS, release)
    ]
    scenarios = [
        {key: value for key, value in scenario.items() if key not in ("release", "mode")} for scenario, _ in fixed
    ]
    answers = reference.answers("schedule", scenarios)
    for (scenario, fix), answer in zip(fixed, answers, strict=True):
        assert answer["placements"][0].get("node"), f"{scenario['name']}: {fix.sentence}: {answer}"
