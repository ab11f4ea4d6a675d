"""Usage histories nobody wrote, put to the engine and to the recommender 1.8.1: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance.hunting import SEED
from tests.conformance.recommendations import differing, draw_scenarios, recorded, reference
from tests.support import tiers
from tests.support.needs import missing

COUNT = tiers.count(60, 2_000)


@pytest.fixture(scope="module")
def vpa() -> Path:
    """The recommender's own program, which CI does not build."""
    program = os.environ.get("VPA")
    if not program:
        missing("VPA is not set: $(tests/originals/build vpa)")
    return Path(program)


@pytest.mark.live
@pytest.mark.nightly
def test_the_engine_recommends_as_the_recommender(vpa: Path) -> None:
    print(f"HUNT_SEED={SEED}")
    differences = list(differing(vpa, draw_scenarios(SEED, COUNT)))
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first: {differences[0]}"


@pytest.mark.live
@pytest.mark.nightly
def test_the_program_repeats_its_recorded_answers(vpa: Path) -> None:
    answered = recorded()[:16]
    assert reference(vpa, [scenario for scenario, _ in answered]) == [answer for _, answer in answered]
