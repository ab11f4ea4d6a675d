"""crane-scheduler's annotations: what Go accepts, where the time zone comes in, and how long a value counts."""

from __future__ import annotations

import math
import re
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.state.watermarks import crane

SHANGHAI = ZoneInfo(crane.DEFAULT_TIME_ZONE)
NEW_YORK = ZoneInfo("America/New_York")
UTC = ZoneInfo("UTC")
TWO = 1795240800  # 2026-11-21T06:00:00 UTC, two in the afternoon in Shanghai


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.12345", 0.12345),
        (".9", 0.9),
        ("9.", 9.0),
        ("+1e-2", 0.01),
        ("0.9_0", 0.9),
        ("0_9", 9.0),
        ("-0", 0.0),
        ("0x1.cp-1", 0.875),
        ("0X_1Cp-5", 0.875),
        ("-0x.8p0", -0.5),
        ("1e-400", 0.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_numbers_are_read_as_go_reads_them(text: str, value: float) -> None:
    assert crane.read_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " 0.9", "0.9 ", "٠.٩", "1e400", "-1e400", "0x1p99999", "0x1.c", "0b1", "_9", "9_", "0._9", "1__0", "1e", ".",
     "-nan", "e5", "0x", "0xp1", "infinit", "0.9\n", "1e_5"],
)  # fmt: skip
def test_texts_that_go_refuses_as_numbers_are_refused(text: str) -> None:
    with pytest.raises(crane.CraneError, match="its value"):
        crane.read_number(text)


def test_nan_is_a_number_to_go() -> None:
    assert math.isnan(crane.read_number("NaN"))


@given(st.floats(min_value=0, max_value=10), st.integers(min_value=0, max_value=4_000_000_000))
def test_what_is_written_is_read_again(fraction: float, time: int) -> None:
    reading = crane.read_annotation(crane.write_usage(fraction, time, SHANGHAI), SHANGHAI)
    assert reading.value == float(f"{fraction:.5f}")
    assert reading.time == time


@pytest.mark.parametrize("fraction", [-0.25, math.nan, -math.inf])
def test_what_is_negative_or_no_number_is_written_as_zero(fraction: float) -> None:
    assert crane.write_usage(fraction, TWO, SHANGHAI) == "0.00000,2026-11-21T14:00:00Z"


def test_a_hot_value_is_written_whole() -> None:
    assert crane.write_hot_value(3, TWO + 0.999, SHANGHAI) == "3,2026-11-21T14:00:00Z"


def test_the_letter_z_is_no_time_zone() -> None:
    text = "0.5,2026-11-21T14:00:00Z"
    assert crane.read_annotation(text, SHANGHAI).time == TWO
    assert crane.read_annotation(text, UTC).time == TWO + 8 * 3600


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-21T14:00:00Z", TWO),
        ("2026-11-21T14:00:00.25Z", TWO + 0.25),
        ("2026-11-21T14:00:00.2500000009Z", TWO + 0.25),
        ("2026-11-21T8:00:00Z", TWO - 6 * 3600),
    ],
)
def test_times_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    assert crane.read_time(text, SHANGHAI) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-11-21T14:00:00", "2026-11-21 14:00:00Z", "2026-11-21T14:00:00+08:00", "2026-11-21T14:00:0Z",
     "2026-11-21T14:0:00Z", "2026-1-21T14:00:00Z", "2026-11-31T14:00:00Z", "2026-11-21T24:00:00Z",
     "2026-13-01T00:00:00Z", "2026-11-21T14:00:60Z", " 2026-11-21T14:00:00Z", "2026-11-21T14:00:00Z\n",
     "２026-11-21T14:00:00Z", "2026-11-21T14:00:00.Z"],
)  # fmt: skip
def test_texts_that_go_refuses_as_times_are_refused(text: str) -> None:
    with pytest.raises(crane.CraneError, match="its time"):
        crane.read_time(text, SHANGHAI)


def test_the_ends_of_the_calendar_are_times_too() -> None:
    assert crane.read_time("0000-02-29T00:00:00Z", UTC) == -62162121600
    assert crane.read_time("0001-01-01T00:00:00Z", SHANGHAI) < -62135596800
    assert crane.read_time("9999-12-31T23:59:59Z", NEW_YORK) > 253402300799


@given(st.integers(min_value=0, max_value=4_000_000_000), st.sampled_from(["Asia/Shanghai", "Asia/Kolkata", "UTC"]))
def test_a_time_is_the_same_after_writing_and_reading_in_one_zone(time: int, name: str) -> None:
    zone = ZoneInfo(name)
    if name != "Asia/Shanghai" or not 500_000_000 < time < 700_000_000:  # when its clocks were put back in autumn
        assert crane.read_time(crane.write_time(time, zone), zone) == time


def test_of_an_hour_that_comes_twice_the_first_is_meant() -> None:
    assert crane.read_time("2026-11-01T01:30:00Z", NEW_YORK) == crane.read_time("2026-11-01T00:30:00Z", NEW_YORK) + 3600


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0.5", "has 0 commas, one is needed: value,time"),
        ("0.5,2026-11-21T14:00:00,5Z", "has 2 commas"),
        ("-0.1,2026-11-21T14:00:00Z", "its value -0.1 is negative"),
        ("0.5,", "its time '' is not of the form 2026-11-21T14:00:00Z"),
        ("a half,2026-11-21T14:00:00Z", "its value 'a half' is not a number"),
    ],
)
def test_what_is_refused_says_why(text: str, reason: str) -> None:
    with pytest.raises(crane.CraneError, match=f"^{re.escape(reason)}"):
        crane.read_annotation(text, SHANGHAI)


def test_a_value_counts_until_it_is_exactly_as_old_as_it_may_be() -> None:
    reading = crane.CraneReading(0.5, 1000.0)
    assert reading.is_fresh(480.0, 1479.999)
    assert not reading.is_fresh(480.0, 1480.0)
    assert reading.is_fresh(480.0, 0.0)  # one from the future always counts


def test_the_hot_value_divides_whole_numbers() -> None:
    rules = [crane.HotRule(300, 5), crane.HotRule(60, 2)]
    times = [TWO - 200] * 3 + [TWO - 10] * 3
    assert crane.hot_value(times, TWO, rules) == 2  # 6 // 5 + 3 // 2
    assert crane.hot_value(times[:4], TWO, rules) == 0
    assert crane.hot_value(times, TWO, [crane.HotRule(300, -4)]) == -1  # towards 0


def test_a_binding_leaves_a_range_when_it_is_exactly_as_old() -> None:
    assert crane.hot_value([TWO - 60], TWO - 0.001, [crane.HotRule(60, 1)]) == 1
    assert crane.hot_value([TWO - 60], TWO, [crane.HotRule(60, 1)]) == 0


def test_a_full_heap_gives_up_its_oldest_record_even_for_an_older_one() -> None:
    records = crane.BindingRecords(2)
    for time in (10, 20, 5):
        records.add_binding("node", time)
    assert sorted(records.binding_times("node")) == [5, 20]
