"""Shrinking a scenario finds the smallest one, and never one without the difference."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.shrinking import shrink

LEAVES = st.integers(0, 3) | st.sampled_from(["a", "b"]) | st.none()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from("vwxyz"), inner), max_leaves=30
)


def numbers(value: Any) -> list[int]:
    if isinstance(value, dict | list):
        return [number for item in (value.values() if isinstance(value, dict) else value) for number in numbers(item)]
    return [value] if isinstance(value, int) else []


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.integers(1, 6))
def test_what_is_left_has_the_property_and_nothing_that_could_go_alone(value: Any, minimum: int) -> None:
    def check(forms: list[Any]) -> list[bool]:
        return [sum(numbers(form)) >= minimum for form in forms]

    small = shrink(value, check)
    assert check([small])[0] == check([value])[0] or small == value
    if check([value])[0]:
        assert len(numbers(small)) <= minimum
        assert 0 not in numbers(small)


def test_a_pair_that_matters_together_is_kept_together() -> None:
    value = {"objects": [{"name": str(number)} for number in range(100)], "config": {"profiles": [1, 2, 3]}}

    def check(forms: list[Any]) -> list[bool]:
        texts = [json.dumps(form) for form in forms]
        return ['"17"' in text and '"83"' in text for text in texts]

    assert shrink(value, check) == {"objects": [{"name": "17"}, {"name": "83"}]}
    with_config = shrink(value, check, frozenset({"config"}))
    assert with_config == {"objects": [{"name": "17"}, {"name": "83"}], "config": {}}


def test_an_item_that_two_places_share_goes_from_one_of_them() -> None:
    shared = {"image": "i", "name": "c"}

    def check(forms: list[Any]) -> list[bool]:
        return [any(item.get("image") == "i" for item in form) for form in forms]

    assert shrink([shared, shared], check) == [{"image": "i"}]
