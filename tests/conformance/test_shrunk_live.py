"""Scenarios of which hypothesis makes every choice, so that it can make one on which the two differ small.

They are few and of modest size: hypothesis draws no hundreds of pods, and the real scheduler answers them one by one.
The hunt beside this one (test_hunt_live.py) asks thousands.
"""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.conformance.hunting import KINDS, differing
from tests.conformance.reference import Reference


@pytest.mark.live
@pytest.mark.parametrize(
    "kind", ["mixed", "volumes", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("amounts", "claims"))]
)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(random=st.randoms(use_true_random=False))
def test_the_engine_decides_as_the_real_scheduler(reference: Reference, kind: str, random: Random) -> None:
    scenario = KINDS[kind].make(random, "hypothesis")
    for mode in KINDS[kind].modes:
        for smaller, ours, expected in differing(reference, mode, [scenario]):
            note(f"{mode}\n{json.dumps(smaller)}\n{json.dumps(ours)}\n{json.dumps(expected)}")
            pytest.fail("the engine and the real scheduler differ")
