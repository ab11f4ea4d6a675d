"""Estimates of the time that a step still takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.jobs.progress import EARLY, SETTLES, Estimate


def feed_estimate(
    estimate: Estimate, seconds: float, speed: float, total: int, begin: float = 0.0, completed: int = 0
) -> float | None:
    """Feed ``seconds`` of progress at ``speed`` a second, twice a second, and return the last estimate."""
    seconds_left = None
    for tick in range(int(2 * seconds) + 1):
        seconds_left = estimate.seconds_left(begin + tick / 2, completed + int(speed * tick / 2), total)
    return seconds_left


@given(st.integers(2, 1000), st.integers(2, 60))
def test_a_steady_speed_gives_what_is_left_exactly(speed: int, seconds: int) -> None:
    total = 2 * speed * seconds
    assert feed_estimate(Estimate(), seconds, 2 * speed, 2 * total) == pytest.approx(
        (2 * total - 2 * speed * seconds) / (2 * speed)
    )


def test_at_first_and_without_a_total_nobody_knows() -> None:
    estimate = Estimate()
    assert estimate.seconds_left(0.0, 0, 100) is None
    assert estimate.seconds_left(EARLY / 2, 50, 100) is None
    assert estimate.seconds_left(2 * EARLY, 60, 100) is not None
    assert estimate.seconds_left(3 * EARLY, 70, 0) is None


def test_a_slower_speed_is_believed_after_a_while_and_not_at_once() -> None:
    estimate = Estimate()
    feed_estimate(estimate, 20, 100, 10_000)
    at_once = estimate.seconds_left(20.5, 2_005, 10_000)
    assert at_once is not None
    assert 79.95 < at_once < 130  # a fast half second more would have left 79.5 s, a slow rest 800 s
    later = feed_estimate(estimate, 6 * SETTLES, 10, 10_000, begin=20.5, completed=2_005)
    assert later == pytest.approx((10_000 - 2_305) / 10, rel=0.05)


def test_what_stands_still_takes_ever_longer_and_what_begins_anew_is_not_known() -> None:
    estimate = Estimate()
    first = feed_estimate(estimate, 5, 100, 1_000)
    later = feed_estimate(estimate, 10, 0, 1_000, begin=5.0, completed=500)
    assert first is not None
    assert later is not None
    assert later > 3 * first
    assert estimate.seconds_left(16.0, 0, 1_000) is None


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 50)), max_size=30))
def test_nothing_makes_it_fail_or_fall_below_zero(steps: list[tuple[float, int]]) -> None:
    estimate, now, completed = Estimate(), 0.0, 0
    for passed, more in steps:
        now, completed = now + passed, completed + more
        seconds_left = estimate.seconds_left(now, completed, 300)
        assert seconds_left is None or seconds_left >= 0
