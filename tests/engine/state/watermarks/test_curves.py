"""Curves of the day: how they are learnt from past hours, and how scenarios, annotations and files carry them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Snapshot
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.state.watermarks.annotations import (
    KEY,
    WORKLOAD_GRAINS,
    AnnotatedUse,
    render_if_changed,
    workload_uses,
)
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedError, CollectedWatermarks
from kschedweb.engine.state.watermarks.curves import fill_missing_hours, learn_curves
from kschedweb.engine.state.watermarks.table import HOURS, Watermarks
from tests.engine.builders import node

HOUR, DAY = 3600.0, 86_400.0
NAN = math.nan
WEB = "default/Deployment/web"
CURVE = [round(0.1 * hour, 1) for hour in range(23)] + [None]
hourly = st.lists(st.one_of(st.none(), st.integers(0, 400).map(lambda part: part / 100)), min_size=24, max_size=24)


def plain(curve: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in curve]


def read(curve: Any) -> Watermarks:
    return Watermarks.from_json({"workloads": {WEB: {"cpu": {"1h": 0.5, "hours": curve}}}}, [])


def test_an_hour_is_known_by_its_end() -> None:
    curves = learn_curves([1 * HOUR, 15 * HOUR], np.array([[4.0, NAN], [6.0, 1.0]]))
    assert curves.shape == (HOURS, 2)
    assert curves[0].tolist()[0] == 4.0  # from 00:00 to 01:00
    assert curves[14].tolist() == [6.0, 1.0]
    assert np.isnan(curves).sum() == 2 * HOURS - 3


def test_a_day_counts_half_as_much_as_the_day_after_it() -> None:
    ends = [HOUR, HOUR + DAY, HOUR + 2 * DAY]
    assert learn_curves(ends, np.array([[1.0], [2.0], [4.0]]))[0].tolist() == [(0.25 * 1 + 0.5 * 2 + 4) / 1.75]
    # A day without the object does not count.
    assert learn_curves(ends, np.array([[1.0], [NAN], [4.0]]))[0].tolist() == [(0.25 * 1 + 4) / 1.25]
    assert learn_curves(ends, np.array([[1.0], [2.0], [NAN]]))[0].tolist() == [(0.25 * 1 + 0.5 * 2) / 0.75]


@given(hourly.filter(lambda curve: any(value is not None for value in curve)), st.integers(1, 6), st.integers(0, 23))
def test_days_that_are_alike_make_their_own_curve(curve: list[float | None], days: int, begin: int) -> None:
    values = np.array([[NAN if value is None else value] for value in curve])
    hours = np.arange(begin, begin + HOURS * days)
    assert learn_curves(((hours + 1) * HOUR).tolist(), values[hours % HOURS])[:, 0] == pytest.approx(
        values[:, 0], nan_ok=True
    )


def test_unknown_hours_are_filled_with_the_mean() -> None:
    assert fill_missing_hours(np.array([NAN, 1.0, 3.0])).tolist() == [2.0, 1.0, 3.0]
    assert fill_missing_hours(np.array([NAN, NAN])).tolist() == [0.0, 0.0]


def test_a_scenario_tells_of_a_curve_beside_the_windows() -> None:
    watermarks = read(CURVE)
    assert watermarks.workloads[WEB]["cpu"] == {"1h": 0.5}
    assert plain(watermarks.curves[WEB]) == CURVE
    assert read(None).curves == {}


@pytest.mark.parametrize(
    ("curve", "expected_error"),
    [
        ([1.0] * 23, "must be a list of 24 numbers, one an hour from 00:00 UTC on, null: not known"),
        ("busy", "must be a list of 24 numbers, one an hour from 00:00 UTC on, null: not known"),
    ],
)
def test_what_is_no_curve_is_said(curve: Any, expected_error: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read(curve)
    assert str(caught.value) == f"workloads.{WEB}.cpu.hours: {expected_error}"


@pytest.mark.parametrize("value", [-1, "1", True, math.inf])
def test_the_hour_that_is_wrong_is_named(value: Any) -> None:
    with pytest.raises(ObjectError, match=r"^workloads\.default/Deployment/web\.cpu\.hours\[3\]: must be a"):
        read([0.0] * 3 + [value] + [0.0] * 20)


def test_a_node_has_no_curve_of_its_own() -> None:
    with pytest.raises(ObjectError, match=r"^nodes\.a\.cpu\.hours: must be a number"):
        Watermarks.from_json({"nodes": {"a": {"cpu": {"hours": [1.0] * 24}}}}, ["a"])


# In annotations.


@given(hourly)
def test_what_is_annotated_is_read_back(curve: list[float | None]) -> None:
    (use,) = workload_uses(read(curve), 1_790_000_000.0).values()
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "annotations": {KEY: use.to_json()}},
    }
    snapshot = Snapshot.from_objects([node("a"), deployment])
    assert snapshot.doubts == []
    assert snapshot.watermarks is not None
    assert plain(snapshot.watermarks.curves[WEB]) == curve


def test_an_hour_that_moved_or_became_known_is_written() -> None:
    def use(*curve: float | None) -> AnnotatedUse:
        (annotated_use,) = workload_uses(read([*curve, *[1.0] * (24 - len(curve))]), 1_790_000_000.0).values()
        return annotated_use

    old = use(1.0, None).to_json()
    assert render_if_changed(old, use(1.04, None), WORKLOAD_GRAINS, 300) is None
    assert render_if_changed(old, use(1.2, None), WORKLOAD_GRAINS, 300) == use(1.2, None).to_json()
    assert render_if_changed(old, use(1.0, 1.0), WORKLOAD_GRAINS, 300) == use(1.0, 1.0).to_json()


# In recordings.


@given(hourly)
def test_what_was_collected_is_read_back(curve: list[float | None]) -> None:
    watermarks = read(curve)
    reread = CollectedWatermarks.from_lines(CollectedWatermarks.from_watermarks(watermarks, 100.0).to_lines())
    assert plain(reread.last.curves[WEB]) == curve
    assert reread.watermarks_at(0).curves is reread.last.curves


@pytest.mark.parametrize(
    ("line", "expected_error"),
    [
        (f"hours,{WEB},1,2", "line 2: has 2 values, where 24 are wanted"),
        ("hours,web" + ",1" * 24, "line 2: 'web' must be like namespace/Deployment/name"),
        (f"hours,{WEB}" + ",-1" * 24, "line 2: a value is negative, not finite, or too large"),
    ],
)
def test_a_line_that_is_no_curve_is_said(line: str, expected_error: str) -> None:
    with pytest.raises(CollectedError) as caught:
        CollectedWatermarks.from_lines(["figure,object,100", line])
    assert str(caught.value) == expected_error
