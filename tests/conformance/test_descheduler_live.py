"""Descheduling cycles nobody wrote, put to the engine and to the descheduler 0.36.0: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.descheduler import differing, draw_scenarios
from tests.conformance.hunting import SEED
from tests.support import tiers

COUNT = tiers.count(60, 2_000)


@pytest.mark.live
def test_the_engine_evicts_as_the_real_descheduler(descheduler: Path) -> None:
    print(f"HUNT_SEED={SEED}")
    differences = list(differing(descheduler, draw_scenarios(SEED, COUNT)))
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first: {differences[0]}"
