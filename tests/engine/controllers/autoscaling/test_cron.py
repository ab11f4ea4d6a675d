"""Cron expressions: when they are due, and what is wrong with others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.controllers.autoscaling.cron import MONDAY, CronError, parse_cron

HOUR, DAY = 3600.0, 86400.0


def due(text: str, count: int, after: float = -1.0) -> list[float]:
    schedule, times, time = parse_cron(text), [], after
    for _ in range(count):
        following = schedule.next_after(time, MONDAY)
        assert following is not None
        times.append(following)
        time = following
    return times


def test_times_of_the_day_and_days_of_the_week() -> None:
    assert due("0 8,20 * * *", 3) == [8 * HOUR, 20 * HOUR, DAY + 8 * HOUR]
    assert due("30 9 * * Sat", 1) == due("30 9 * * 6", 1) == [5 * DAY + 9.5 * HOUR]
    assert due("*/20 0 * * *", 4) == [0.0, 1200.0, 2400.0, DAY]
    assert due("@hourly", 2, after=0.0) == [HOUR, 2 * HOUR]


def test_a_day_of_the_month_or_of_the_week_is_enough_where_both_are_said() -> None:
    assert due("0 0 3 * 2", 3) == [1 * DAY, 2 * DAY, 8 * DAY]
    assert due("0 0 3 * *", 2) == [2 * DAY, 33 * DAY]


def test_what_never_comes_is_never_due() -> None:
    assert parse_cron("0 0 31 2 *").next_after(0.0, MONDAY) is None


@pytest.mark.parametrize(
    ("text", "expected_error"),
    [
        ("8 * * *", "must have five parts"),
        ("60 * * * *", "minute: 60 is not within 0 to 59"),
        ("0 9-8 * * *", "hour: 9-8 is not within 0 to 23"),
        ("0 0 * * mo", "day of the week: mo is no number"),
        ("*/0 * * * *", "minute: */0 has a step of 0"),
        ("@reboot", "@reboot: is not known; known are @yearly"),
    ],
)
def test_what_is_wrong_is_said(text: str, expected_error: str) -> None:
    with pytest.raises(CronError) as problem:
        parse_cron(text)
    assert expected_error in str(problem.value)


values = st.lists(st.integers(0, 59), min_size=1, max_size=3)


@settings(max_examples=25)
@given(values, st.lists(st.integers(0, 23), min_size=1, max_size=3), st.integers(0, 6), st.integers(0, 10**7))
def test_nothing_lies_between_a_time_and_the_next(
    minutes: list[int], hours: list[int], weekday: int, after: int
) -> None:
    text = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * {weekday}"
    (next_time,) = due(text, 1, float(after))
    fits = [
        moment
        for minute in range(after // 60 + 1, int(next_time) // 60 + 1)
        if (moment := MONDAY + timedelta(minutes=minute)).minute in minutes
        and moment.hour in hours
        and moment.isoweekday() % 7 == weekday
    ]
    assert fits == [MONDAY + timedelta(seconds=next_time)]
