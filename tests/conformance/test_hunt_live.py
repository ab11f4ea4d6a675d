"""Scenarios nobody wrote, more than twenty thousand in the full tier: no difference to the real one is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

import pytest

from tests.conformance.hunting import COUNT, KINDS, SEED, by_chance, differing, draw_scenarios, report
from tests.conformance.reference import Reference

SHARES = sum(kind.share for kind in KINDS.values())


@pytest.mark.live
@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_decides_as_the_real_scheduler(reference: Reference, kind: str) -> None:
    print(f"HUNT_SEED={SEED}")
    scenarios = draw_scenarios(kind, SEED, max(1, -(-COUNT * KINDS[kind].share // SHARES)))
    for mode in KINDS[kind].modes:
        differences = list(differing(reference, mode, scenarios))
        assert not differences, (
            f"HUNT_SEED={SEED}: {len(differences)} of {len(scenarios)} differ, the first of them, made small:\n"
            + report(reference, mode, differences[0])
        )


@pytest.mark.live
def test_only_what_the_real_scheduler_says_itself_counts_as_chance(reference: Reference) -> None:
    (scenario,) = draw_scenarios("explained", 370003, 637)[636:]  # two budgets: the victim is left to Go's maps
    ours = reference.engine_answer("explain", scenario)
    assert by_chance(reference, "explain", scenario, ours)
    rejected = next(pod["rejected"] for pod in ours["pods"] if pod["rejected"])
    rejected.popitem()
    assert not by_chance(reference, "explain", scenario, ours)
