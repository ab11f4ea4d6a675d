"""Whatever is offered as a fix makes the pod run: the engine is asked anew about the changed objects."""

from __future__ import annotations

from collections import Counter

from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.hunt_options import SEED
from tests.engine.studies.fixes.drawing import draw_fixed_pods, make_fix
from tests.support import tiers

PODS = tiers.count(300, 3_000)


def test_each_fix_that_is_offered_places_the_pod() -> None:
    print(f"HUNT_SEED={SEED}")
    kinds: Counter[str] = Counter()
    for scenario, pod, fixes in draw_fixed_pods(SEED, PODS):
        for fix in fixes:
            kinds.update({str(change.kind) for change in fix.changes})
            placements = Scenario.from_json(make_fix(scenario, pod, fix)).schedule()["placements"]
            assert placements[0].get("node"), f"{scenario['name']}: {pod['metadata']['name']}: {fix.sentence}"
    print(kinds)
    assert len(kinds) >= 12
