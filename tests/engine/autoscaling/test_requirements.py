from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.autoscaling.offers.requirements import OPERATORS, Requirement, Requirements, new_requirement

UNIVERSE = ("a", "b", "c", "1", "2", "5", "9", "x1", "-3")
NUMBERS = ("1", "2", "5", "9")


@st.composite
def requirements(draw: st.DrawFn, key: str = "k") -> Requirement:
    operator = draw(st.sampled_from(OPERATORS))
    if operator in ("In", "NotIn"):
        values = draw(st.lists(st.sampled_from(UNIVERSE), min_size=1, max_size=4))
    else:
        values = [draw(st.sampled_from(NUMBERS))] if operator[:1] in "GL" else []
    return new_requirement(key, operator, values, draw(st.sampled_from([None, None, 1, 3])))


@given(requirements(), requirements())
def test_an_intersection_allows_what_both_allow(first: Requirement, other: Requirement) -> None:
    both = first.intersection(other)
    for value in UNIVERSE:
        assert both.has(value) == (first.has(value) and other.has(value))
    min_values = [bound for bound in (first.min_values, other.min_values) if bound is not None]
    assert both.min_values == max(min_values, default=None)


@given(requirements(), requirements())
def test_two_meet_where_a_value_is_allowed_by_both(first: Requirement, other: Requirement) -> None:
    assert first.has_intersection(other) == other.has_intersection(first)
    if any(first.has(value) and other.has(value) for value in UNIVERSE):
        assert first.has_intersection(other)
    if first.has_intersection(other) and not (first.complement and other.complement):
        assert first.intersection(other).values


@given(st.lists(requirements(), min_size=2, max_size=4))
def test_the_order_in_which_requirements_are_added_does_not_matter(several: list[Requirement]) -> None:
    forth, back = Requirements.from_requirements(several), Requirements.from_requirements(reversed(several))
    for value in UNIVERSE:
        assert forth["k"].has(value) == back["k"].has(value)


@given(requirements(), requirements())
def test_a_conflict_is_told_just_where_requirements_are_incompatible(first: Requirement, other: Requirement) -> None:
    mine, needed = Requirements({"k": first}), Requirements({"k": other})
    assert mine.is_compatible(needed) == (not mine.find_conflict(needed))
    assert mine.intersects(needed) == (not mine.find_disjoint(needed))
    assert Requirements().is_compatible(needed) == (not Requirements().find_conflict(needed))


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (new_requirement("k", "In", ["b", "a"]), "k In [a b]"),
        (new_requirement("k", "NotIn", "abcdefg"), "k NotIn [a b c d e and 2 others]"),
        (new_requirement("k", "Gt", ["2"]), "k Exists >=3"),
        (new_requirement("k", "Lt", ["2"], 4), "k Exists <=1 minValues 4"),
        (new_requirement("k", "DoesNotExist"), "k DoesNotExist"),
        (new_requirement("beta.kubernetes.io/arch", "In", ["arm64"]), "kubernetes.io/arch In [arm64]"),
    ],
)
def test_requirements_are_written_as_karpenter_writes_them(requirement: Requirement, text: str) -> None:
    assert str(requirement) == text


def test_a_requirement_with_two_bounds_is_written_as_two() -> None:
    both = new_requirement("k", "Gt", ["2"]).intersection(new_requirement("k", "Lt", ["9"]))
    assert both.to_node_selector() == [
        {"key": "k", "operator": "Gte", "values": ["3"]},
        {"key": "k", "operator": "Lte", "values": ["8"]},
    ]


def test_a_key_that_is_not_known_is_refused_with_a_hint() -> None:
    node_labels = Requirements.of_labels({"karpenter.sh/nodepool": "p"})
    conflict = node_labels.find_conflict(Requirements.of_labels({"nodepool": "p"}))
    assert conflict == 'label "nodepool" does not have known values (typo of "karpenter.sh/nodepool"?)'
    assert not node_labels.find_conflict(Requirements.from_requirements([new_requirement("nodepool", "NotIn", ["q"])]))
