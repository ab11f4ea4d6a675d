"""Groups of pods nobody wrote, tried by the engine and by the real scheduler of 1.37 or 1.38: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many of each kind are asked.
"""

from __future__ import annotations

import pytest

from tests.conformance.groups import FIRST, Gangs, draw_scenarios, list_kinds, same
from tests.conformance.hunting import SEED
from tests.support import tiers

COUNT = tiers.count(60, 3_000)


@pytest.mark.live
@pytest.mark.parametrize("kind", list_kinds(FIRST))
def test_the_engine_tries_groups_as_the_real_scheduler(gangs: Gangs, kind: str) -> None:
    print(f"HUNT_SEED={SEED}")
    differences = list(gangs.differing(draw_scenarios(kind, SEED, COUNT, gangs.release)))
    assert not differences, (
        f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first of them, made small:\n"
        + gangs.report(differences[0])
    )


@pytest.mark.live
def test_the_program_says_the_same_twice(gangs: Gangs) -> None:
    for kind in list_kinds(FIRST):
        scenarios = draw_scenarios(kind, SEED, 12, gangs.release)
        answers = zip(scenarios, gangs.answers(scenarios), gangs.answers(scenarios), strict=True)
        assert all(same(first, second) or gangs.by_chance(scenario, first) for scenario, first, second in answers)
