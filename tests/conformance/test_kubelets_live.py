"""Pods nobody wrote, put to the kubelet's own code and to the engine: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hunt_options import SEED
from tests.conformance.kubelets import differing, draw_questions, report
from tests.support import tiers

COUNT = tiers.count(600, 20_000)


@pytest.mark.live
def test_the_engine_admits_pods_as_the_kubelet(kubelet: Path) -> None:
    differences = differing(kubelet, draw_questions(SEED, COUNT))
    assert not differences, (
        f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first, made small:\n"
        + report(kubelet, differences[0])
    )
