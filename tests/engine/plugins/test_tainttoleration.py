"""TaintToleration: taints keep pods away, or deter them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.taints import Taint, Toleration
from tests.engine.builders import NEVER, explain, list_refusals, node, normalized_scores, pod, raw_scores
from tests.engine.waking import wakes_on_node_add, wakes_on_node_update, wakes_on_pod_update

NAME = "TaintToleration"
REFUSED = {"n": (NEVER, "node(s) had untolerated taint(s)")}
EXISTS, GPU = {"operator": "Exists"}, {"key": "gpu", "value": "a100", "effect": "NoSchedule"}
TAINT, OTHER = {"key": "k", "effect": "NoSchedule"}, {"key": "l", "effect": "NoSchedule"}
TOLERANT = pod("p", tolerations=[{"key": "k", "operator": "Exists"}])


def soft(*keys: str) -> list[dict]:
    return [{"key": key, "effect": "PreferNoSchedule"} for key in keys]


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}, True),
        ({"key": "gpu"}, False),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "disk", "value": "a100"}, False),
        ({"key": "gpu", "value": "a100", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        (EXISTS, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        # The feature gate TaintTolerationComparisonOperators is off.
        ({"key": "gpu", "operator": "Gt", "value": "1"}, False),
    ],
)
def test_a_toleration_matches_by_effect_key_and_value(toleration: dict, tolerates: bool) -> None:
    answer = explain(pod("p", tolerations=[toleration]), node("n", taints=[GPU]))
    assert list_refusals(answer, NAME) == ({} if tolerates else REFUSED)


NUMBERS = st.integers(-3, 3).map(str) | st.sampled_from(["", "-0", "01", "+1", "1.0", "a", "9223372036854775808"])


@given(st.sampled_from(["Gt", "Lt"]), NUMBERS, NUMBERS)
def test_a_toleration_that_compares_wants_two_plain_integers(operator: str, bound: str, value: str) -> None:
    toleration = Toleration(key="k", operator=operator, value=bound)
    tolerates = toleration.tolerates(Taint("k", value, "NoSchedule"), comparison_operators=True)
    numbers = {str(number): number for number in range(-3, 4)}
    if bound in numbers and value in numbers:
        larger, smaller = (value, bound) if operator == "Gt" else (bound, value)
        assert tolerates == (numbers[larger] > numbers[smaller])
    else:
        assert not tolerates
    assert not toleration.tolerates(Taint("k", value, "NoSchedule"))


@pytest.mark.parametrize(
    ("effect", "refuses"), [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False)]
)
def test_a_taint_refuses_by_its_effect(effect: str, refuses: bool) -> None:
    answer = explain(pod("p"), node("n", taints=[{"key": "k", "effect": effect}]))
    assert list_refusals(answer, NAME) == (REFUSED if refuses else {})


def test_every_taint_must_be_tolerated() -> None:
    assert list_refusals(explain(TOLERANT, node("n", taints=[TAINT, OTHER])), NAME) == REFUSED


def test_of_soft_taints_the_fewest_are_best() -> None:
    nodes = [node("none"), node("one", taints=soft("k")), node("three", taints=soft("k", "l", "m"))]
    answer = explain(pod("p"), *nodes)
    assert raw_scores(answer, NAME) == [0, 1, 3]
    assert normalized_scores(answer, NAME) == [100, 67, 0]


def test_a_toleration_of_another_effect_is_none_of_a_soft_taint() -> None:
    hard = pod("p", tolerations=[{**EXISTS, "effect": "NoSchedule"}])
    assert raw_scores(explain(hard, node("n", taints=soft("k"))), NAME) == [1]
    assert raw_scores(explain(pod("p", tolerations=[EXISTS]), node("n", taints=soft("k"))), NAME) == [0]


def test_its_score_needs_its_pre_score() -> None:
    with pytest.raises(CycleError, match='failed to read "PreScoreTaintToleration" from cycleState: not found'):
        explain(pod("p"), node("n"), plugins={"preScore": {"disabled": [{"name": NAME}]}})


def test_a_node_that_lets_the_pod_in_wakes_it() -> None:
    assert wakes_on_node_add(NAME, pod("p"), node("n"))
    assert not wakes_on_node_add(NAME, pod("p"), node("n", taints=[TAINT]))
    assert wakes_on_node_add(NAME, TOLERANT, node("n", taints=[TAINT]))
    assert wakes_on_node_update(NAME, pod("p"), node("n", taints=[TAINT]), node("n"))
    assert wakes_on_node_update(NAME, pod("p"), node("n", taints=[TAINT]), node("n", taints=soft("k")))
    assert not wakes_on_node_update(NAME, pod("p"), node("n", taints=[TAINT, OTHER]), node("n", taints=[TAINT]))
    assert not wakes_on_node_update(NAME, TOLERANT, node("n", taints=[TAINT]), node("n"))


def test_its_own_tolerations_wake_it() -> None:
    assert wakes_on_pod_update(NAME, pod("p"), pod("p"), TOLERANT)
    assert not wakes_on_pod_update(NAME, pod("p"), pod("other", on="n"), pod("other", on="n", tolerations=[EXISTS]))


EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
TAINTS = st.fixed_dictionaries({"key": st.sampled_from("kl"), "effect": st.sampled_from(EFFECTS)})
TOLERATIONS = st.fixed_dictionaries(
    {"operator": st.just("Exists")}, optional={"key": st.sampled_from("kl"), "effect": st.sampled_from(EFFECTS)}
)


@settings(max_examples=40)
@given(st.lists(TAINTS, max_size=4), st.lists(TOLERATIONS, max_size=2), st.lists(TOLERATIONS, max_size=2))
def test_who_tolerates_more_is_let_in_where_it_was_and_scores_no_worse(
    taints: list[dict], some: list[dict], more: list[dict]
) -> None:
    few, many = (
        explain(pod("p", tolerations=tolerations), node("n", taints=taints)) for tolerations in (some, some + more)
    )
    if "chosen" in few:
        assert many["chosen"] == "n"
        assert raw_scores(many, NAME) <= raw_scores(few, NAME)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=5))
def test_scores_fall_with_untolerated_soft_taints(counts: list[int]) -> None:
    nodes = [node(f"n{place}", taints=soft("k", "l", "m", "o", "q")[:count]) for place, count in enumerate(counts)]
    answer = explain(pod("p"), *nodes)
    normalized = dict(zip(raw_scores(answer, NAME), normalized_scores(answer, NAME), strict=True))
    assert sorted(normalized, reverse=True) == sorted(normalized, key=normalized.__getitem__)
    assert normalized[max(counts)] == (0 if max(counts) else 100)
