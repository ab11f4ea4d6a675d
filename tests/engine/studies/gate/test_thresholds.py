"""Thresholds as they are written: read with their places, and written back the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.documents.json_schema import Schemas
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate.thresholds import THRESHOLDS, Amount, MeasureLimits, Thresholds, read_thresholds

NUMBERS = st.integers(0, 10_000).map(float) | st.integers(0, 1000).map(lambda number: number / 8)
AMOUNTS = st.builds(Amount, NUMBERS, st.booleans())
LIMITS = st.builds(MeasureLimits, NUMBERS | st.none(), st.none(), AMOUNTS)
ANY_THRESHOLDS = st.builds(
    Thresholds,
    AMOUNTS | st.none(),
    AMOUNTS | st.none(),
    st.integers(0, 100) | st.none(),
    NUMBERS | st.none(),
    st.integers(-100, 100) | st.none(),
    st.dictionaries(st.sampled_from(["skew_cpu", "wait_p99", "nodes_empty"]), LIMITS),
)


def test_without_thresholds_no_pod_may_be_newly_unschedulable() -> None:
    for raw in (None, {}, {"maxNewlyUnschedulable": None}):
        assert read_thresholds(raw) == Thresholds()
    assert Thresholds().max_newly_unschedulable == Amount(0.0)


def test_numbers_percentages_and_any_are_told_apart() -> None:
    thresholds = read_thresholds(
        {"maxNewlyUnschedulable": "any", "maxMoved": "12.5 %", "maxPending": 3, "maxSkewIncrease": 0.5}
    )
    assert thresholds == Thresholds(None, Amount(12.5, True), 3, 0.5)
    assert read_thresholds({"maxMoved": "7"}).max_moved == Amount(7.0)
    assert Amount(12.5, True).value_of(200.0) == 25.0
    assert Amount(12.5).value_of(200.0) == 12.5
    assert Amount(10.0, True).value_of(-50.0) == 5.0


@given(ANY_THRESHOLDS)
def test_what_is_read_is_written_back_the_same(thresholds: Thresholds) -> None:
    assert read_thresholds(thresholds.plain) == thresholds


@pytest.mark.parametrize(
    ("raw", "expected_error"),
    [
        ([], "thresholds: must be an object, is a list"),
        ({"maxmoved": 1}, "thresholds.maxmoved: is not known; known are maxMoved"),
        ({"maxMoved": "many"}, "thresholds.maxMoved: must be a number from 0 on, or a percentage"),
        ({"maxMoved": "-1"}, "thresholds.maxMoved: must be a number from 0 on"),
        ({"maxMoved": -1}, "thresholds.maxMoved: must be at least 0, is -1"),
        ({"maxMoved": True}, "thresholds.maxMoved: must be a number, or a percentage"),
        ({"maxMoved": float("nan")}, "thresholds.maxMoved: must be a finite number"),
        ({"maxPending": 1.5}, "thresholds.maxPending: must be a whole number"),
        ({"maxPending": "10%"}, "thresholds.maxPending: must be a whole number, is a string"),
        ({"maxSkewIncrease": -2}, "thresholds.maxSkewIncrease: must be at least 0"),
        ({"zoneLossPriority": 0.5}, "thresholds.zoneLossPriority: must be a whole number"),
        ({"measures": {"skew_cpu": {}}}, "thresholds.measures.skew_cpu: must have max, min or maxChange"),
        ({"measures": {"skew_cpu": 4}}, "thresholds.measures.skew_cpu: must be an object, is a number"),
        ({"measures": {"a": {"max": 1, "min": 2}}}, "thresholds.measures.a: min must not be above max"),
        ({"measures": {"a": {"most": 1}}}, "thresholds.measures.a.most: is not known; known are max, maxChange, min"),
        ({"measures": {str(n): {"max": 1} for n in range(101)}}, "measures has 101 entries; at most 100 are taken"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(raw: Any, expected_error: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_thresholds(raw)
    assert expected_error.replace("known are maxMoved", "known are ") in str(caught.value)


def test_the_schema_names_every_key_with_a_sentence() -> None:
    schema = Schemas().struct_schema(THRESHOLDS)
    assert set(schema["properties"]) == {field.name for field in THRESHOLDS.fields}
    assert all(subschema.get("description", "").endswith(".") for subschema in schema["properties"].values())
