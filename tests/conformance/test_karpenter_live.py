"""Clusters nobody wrote, put to the engine and to Karpenter's core 1.15.0: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hunting import SEED
from tests.conformance.karpenter import draw_scenarios, hunt_differences
from tests.support import tiers

COUNT = tiers.count(20, 1_000)


@pytest.mark.live
def test_the_engine_decides_as_the_real_karpenter(karpenter: Path) -> None:
    print(f"HUNT_SEED={SEED}")
    hunt = hunt_differences(karpenter, draw_scenarios(SEED, COUNT))
    assert hunt.compared >= COUNT // 2, "too much is left to chance to compare anything"
    different = len(hunt.differing)
    assert not different, f"HUNT_SEED={SEED}: {different} of {hunt.compared} differ, the first: {hunt.differing[0]}"
