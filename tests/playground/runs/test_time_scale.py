"""The unit of an axis of virtual time."""

from __future__ import annotations

import pytest

from kschedweb.playground.runs.time_scale import TimeScale


@pytest.mark.parametrize(
    ("end", "unit", "expected_end"),
    [(0.5, "milliseconds", 500), (120, "seconds", 120), (7200, "minutes", 120), (86_400, "hours", 24)],
)
def test_an_axis_has_the_unit_that_gives_a_readable_number(end: float, unit: str, expected_end: float) -> None:
    scale = TimeScale.for_end(end)
    assert scale.unit == unit
    assert end / scale.seconds == pytest.approx(expected_end)
