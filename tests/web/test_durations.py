"""Durations and ages as people read them, in each language."""

from __future__ import annotations

import math

import pytest
from django.utils import translation

from kschedweb.web.durations import format_ago, format_duration, format_range, format_rough_duration, format_time_left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0 s"),
        (0.0002, "under 1 ms"),
        (0.003, "3 ms"),
        (0.102, "102 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (2.5, "2.5 s"),
        (9.0, "9 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (245, "4 min 5 s"),
        (12_000, "3 h 20 min"),
        (86_400, "1 day"),
        (86_400 + 7_200 + 59, "1 day 2 h"),
        (2 * 86_400 + 60, "2 days"),
    ],
)
def test_a_duration_has_at_most_two_units(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (40.4, "40 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (47 * 3600, "47 h"),
        (48 * 3600, "2 days"),
        (-240, "4 min ahead of the snapshot"),
    ],
)
def test_a_rough_duration_has_one_unit(seconds: float, text: str) -> None:
    assert format_rough_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (3, "just now"),
        (45, "45 s ago"),
        (240, "4 min ago"),
        (7300, "2 h ago"),
        (200_000, "2 days ago"),
    ],
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert format_ago(seconds) == text


@pytest.mark.parametrize(
    ("language", "duration", "rough", "ago", "time_left"),
    [
        ("en", "1 day 2 h", "30 s to 4 min", "5 min ago", "about 4 min left"),
        ("zh-hans", "1 天 2 小时", "30 秒至 4 分钟", "5 分钟前", "约剩 4 分钟"),
        ("ja", "1日2時間", "30秒～4分", "5分前", "残り約4分"),
    ],
)
def test_units_are_in_the_language_of_the_reader(
    language: str, duration: str, rough: str, ago: str, time_left: str
) -> None:
    with translation.override(language):
        assert format_duration(93_600) == duration
        assert format_range(format_rough_duration(30), format_rough_duration(240)) == rough
        assert format_ago(300) == ago
        assert format_time_left(240) == time_left
