"""Crowded clusters nobody wrote, put to the classic engine and to kube-scheduler 1.13: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

import pytest

from tests.conformance.classic_evictions import Evictions, draw_scenarios
from tests.conformance.hunting import SEED
from tests.support import tiers

COUNT = tiers.count(120, 4_000)


@pytest.mark.live
def test_the_classic_engine_evicts_as_the_real_scheduler_would(evictions: Evictions) -> None:
    print(f"HUNT_SEED={SEED}")
    differences = evictions.differing(draw_scenarios(SEED, COUNT))
    assert not differences, (
        f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first of them, made small:\n"
        + evictions.report(differences[0])
    )


@pytest.mark.live
def test_the_program_says_the_same_twice(evictions: Evictions) -> None:
    scenarios = draw_scenarios(SEED, 12)
    # Of equal nodes it takes what its threads find first, which may be another one now and then.
    repeated = [evictions.answers(scenarios) for _ in range(3)]
    for number, answer in enumerate(evictions.answers(scenarios)):
        assert answer in [answers[number] for answers in repeated]
