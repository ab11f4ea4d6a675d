"""Changes of measures: those that count as a difference, and the most important one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.studies.compare.changes import MeasureChange, compute_change, find_headline

VALUES = st.dictionaries(st.integers(1, 6), st.floats(-1e6, 1e6), max_size=6)


@pytest.mark.parametrize(
    ("measure", "unit", "before", "after", "differs"),
    [
        ("unscheduled", "pods", 200.0, 201.0, True),
        ("nodes_empty", "nodes", 0.0, 1.0, True),
        ("evictions", "pods", 96.0, 98.0, False),  # which hang on the order of what happens
        ("evictions", "pods", 96.0, 106.5, True),
        ("preemptions", "pods", 0.0, 1.0, False),
        ("preemptions", "pods", 0.0, 2.0, True),
        ("wait_p99", "s", 0.002, 0.9, False),  # less than the shortest backoff, whatever the percentage
        ("wait_p99", "s", 0.002, 1.1, True),
        ("wait_p99", "s", 1000.0, 1009.0, False),
        ("skew_cpu", "points", 4.1, 4.5, False),
        ("fragmentation_cpu", "%", 4.0, 4.5, True),
        ("node_hours", "node-hours", 100.0, 100.9, False),
        ("node_hours", "node-hours", 1.0, 0.9, True),
        ("node_hours", "node-hours", 0.0, 0.0, False),
    ],
)
def test_with_one_seed_the_noise_floor_is_what_the_measure_resolves(
    measure: str, unit: str, before: float, after: float, differs: bool
) -> None:
    for base, other in ((before, after), (after, before)):
        change = compute_change(measure, unit, "lower", {1: base}, {1: other})
        assert change.differs is differs
        assert change.better is ((other < base) if differs else None)


def test_with_several_seeds_it_is_their_spread() -> None:
    base = {1: 10.0, 2: 12.0, 3: 11.0}
    steady = compute_change("skew_cpu", "points", "lower", base, {1: 15.0, 2: 17.1, 3: 15.9})
    assert steady.differs
    assert steady.better is False
    wild = compute_change("skew_cpu", "points", "lower", base, {1: 35.0, 2: 8.0, 3: 12.0})
    assert wild.change > steady.change
    assert not wild.differs
    assert wild.better is None


def test_only_seeds_that_both_have_are_compared() -> None:
    change = compute_change("failed", "pods", "lower", {1: 1.0, 2: 50.0}, {1: 3.0, 3: 900.0})
    assert (change.before, change.after, change.change) == (1.0, 3.0, 2.0)
    nothing = compute_change("failed", "pods", "lower", {2: 1.0}, {1: 3.0})
    assert (nothing.before, nothing.change, nothing.differs) == (None, 0.0, False)


def make_change(
    measure: str, before: float, after: float, floor: float = 1.0, direction: str = "lower"
) -> MeasureChange:
    return MeasureChange(measure, direction, before, after, floor)


def test_the_headline_goes_by_group_and_then_by_size_against_the_floor() -> None:
    stuck, slow = make_change("unscheduled", 200.0, 201.0), make_change("wait_p99", 0.001, 900.0)
    little, much = make_change("evictions", 5.0, 9.0), make_change("preemptions", 100.0, 106.0)
    assert find_headline([slow, little, much, stuck]) is stuck
    assert find_headline([slow, little, much]) is much
    assert find_headline([slow, make_change("unscheduled", 3.0, 3.0)]) is slow
    neither = make_change("requested_cpu", 1.0, 90.0, direction="")
    assert find_headline([neither, make_change("nodes_empty", 1.0, 3.0, direction="higher")]) is not neither
    assert find_headline([make_change("evictions", 5.0, 5.5)]) is None
    assert find_headline([]) is None


@given(base=VALUES, other=VALUES)
def test_a_change_is_the_same_either_way_round(base: dict[int, float], other: dict[int, float]) -> None:
    forward, back = (
        compute_change("skew_cpu", "points", "lower", base, other),
        compute_change("skew_cpu", "points", "lower", other, base),
    )
    assert forward.change == pytest.approx(-back.change)
    assert forward.floor == pytest.approx(back.floor)
    assert forward.differs is back.differs
    assert compute_change("skew_cpu", "points", "lower", base, base).differs is False
