"""Virtual time in words."""

from __future__ import annotations

import math

import pytest

from kschedweb.playground.runs.clock import Scale, span


@pytest.mark.parametrize(
    ("seconds", "said"),
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
        (86_400, "1 d"),
        (86_400 + 7_200 + 59, "1 d 2 h"),
    ],
)
def test_a_span_is_said_in_at_most_two_units(seconds: float | None, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("end", "unit", "shown"),
    [(0.5, "milliseconds", 500), (120, "seconds", 120), (7200, "minutes", 120), (86_400, "hours", 24)],
)
def test_an_axis_has_the_unit_that_gives_a_readable_number(end: float, unit: str, shown: float) -> None:
    scale = Scale.of(end)
    assert scale.unit == unit
    assert end / scale.seconds == pytest.approx(shown)
