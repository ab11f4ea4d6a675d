"""Effects of the seed, and conclusions from several of them."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.playground.runs.comparisons.significance import random_inputs, seed_advice, seed_verdict
from tests.support import seed_runs


@pytest.mark.parametrize(
    ("document", "count"),
    [
        (seed_runs.document(), 0),
        (seed_runs.document(drawn=True), 1),
        ({"arrivals": [{"trace": {"file": "pods.csv"}}], "use": {"from": "watermarks"}}, 0),
        ({"arrivals": [{"generate": {}}], "use": {"from": "trace", "file": "use.csv"}}, 2),
        ({}, 0),
        ({"arrivals": None, "use": None}, 0),
    ],
)
def test_the_seed_decides_generated_pods_and_who_follows_which_machine(document: dict[str, Any], count: int) -> None:
    assert len(random_inputs(document)) == count


def test_the_seed_changes_the_outcome_exactly_where_it_is_said_to_decide() -> None:
    for random in (False, True):
        first, second = (seed_runs.outcome(seed=seed, drawn=random) for seed in (1, 2))
        same = first.pods == second.pods and first.arrived.tolist() == second.arrived.tolist()
        assert same is not random


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([], ""),
        ([(1.0, 2.0)], ""),
        ([(1.0, 1.0)] * 3, "the same in all 3 seeds"),
        ([(2.0, 1.0)] * 5, "lower in 5 of 5 seeds, p = 0.062"),
        ([(1.0, 2.0)] * 6, "higher in 6 of 6 seeds, p = 0.031"),
        ([(1.0, 2.0), (1.0, 2.0), (1.0, 0.5)], "higher in 2 of 3 seeds, p = 0.5"),
        ([(1.0, 2.0), (2.0, 1.0)], "different in 2 of 2 seeds, p = 1"),
        ([(1.0, 2.0)] * 13, "higher in 13 of 13 seeds, p < 0.001"),
    ],
)
def test_a_difference_is_told_in_words(pairs: list[tuple[float, float]], verdict: str) -> None:
    assert seed_verdict(pairs) == verdict


def test_advice_says_why_one_seed_is_enough_or_how_many_are_needed() -> None:
    assert "One seed is enough" in seed_advice([], 1)
    assert "add seeds" in seed_advice(["the generated pods"], 1)
    assert "cannot fall below 0.062, with 6 it can reach 0.03" in seed_advice(["the generated pods"], 5)
    assert "95 % confidence interval" in seed_advice(["the generated pods"], 5)
    assert "cannot fall" not in seed_advice(["the generated pods"], 6)
