"""Autoscalers nobody wrote, put to the engine and to the real controller of 1.37: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many of each kind are asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.autoscaling import KINDS, comparable, differing, draw_scenarios, reference
from tests.conformance.hunting import SEED
from tests.support import tiers

COUNT = tiers.count(60, 2_000)


@pytest.mark.live
@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_scales_as_the_real_controller(hpa: Path, kind: str) -> None:
    print(f"HUNT_SEED={SEED}")
    differences = list(differing(hpa, draw_scenarios(kind, SEED, COUNT)))
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first: {differences[0]}"


@pytest.mark.live
def test_the_program_says_the_same_twice(hpa: Path) -> None:
    for kind in KINDS:
        scenarios = draw_scenarios(kind, SEED, 12)
        first, second = (list(map(comparable, reference(hpa, scenarios))) for _ in range(2))
        assert first == second
