"""NodeAffinity: the nodes a pod's selector and affinity, or its profile's, ask for or prefer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.framework.status import CycleError
from tests.engine.builders import NEVER, explain, list_refusals, node, normalized_scores, pod, raw_scores, scheduler
from tests.engine.waking import wakes_on_node_add, wakes_on_node_update

NAME = "NodeAffinity"
NO_MATCH = (NEVER, "node(s) didn't match Pod's node affinity/selector")
ENFORCED = (NEVER, "node(s) didn't match scheduler-enforced node affinity")
MUST, PREFER = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}


def expression(key: str, operator: str, *values: str) -> dict:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def by_node_name(*names: str) -> dict:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


def wanting(*terms: dict, **spec: Any) -> dict:
    return pod("p", affinity={"nodeAffinity": {MUST: {"nodeSelectorTerms": list(terms)}}}, **spec)


def preferring(**weights: int) -> dict:
    terms = [{"weight": weight, "preference": expression(key, "Exists")} for key, weight in weights.items()]
    return pod("p", affinity={"nodeAffinity": {PREFER: terms}})


def added(**affinity: Any) -> dict:
    return {"pluginConfig": [{"name": NAME, "args": {"addedAffinity": affinity}}]}


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        (expression("n", "In", "6", "7"), True),
        (expression("n", "In", "6"), False),
        (expression("n", "NotIn", "6"), True),
        (expression("n", "NotIn", "7"), False),
        (expression("absent", "NotIn", "7"), True),
        (expression("n", "Exists"), True),
        (expression("absent", "Exists"), False),
        (expression("n", "DoesNotExist"), False),
        (expression("absent", "DoesNotExist"), True),
        (expression("n", "Gt", "6"), True),
        (expression("n", "Gt", "7"), False),
        (expression("n", "Lt", "8"), True),
        (expression("word", "Gt", "6"), False),
        (expression("absent", "Lt", "8"), False),
        ({}, False),
        (by_node_name("n"), True),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}, False),
        # What cannot be parsed matches nothing.
        (expression("n", "In"), False),
        (expression("n", "Gt", "-1"), False),
        (expression("n", "Like", "7"), False),
    ],
)
def test_a_term_is_matched_by_label_or_name(term: dict, matches: bool) -> None:
    answer = explain(wanting(term), node("n", labels={"n": "7", "word": "x"}))
    assert list_refusals(answer, NAME) == ({} if matches else {"n": NO_MATCH})


def test_one_term_is_enough_and_the_selector_holds_beside() -> None:
    nodes = [node("a", labels={"disk": "ssd"}), node("b", labels={"n": "1"}), node("c")]
    assert list_refusals(explain(wanting(SSD, expression("n", "Exists")), *nodes), NAME) == {"c": NO_MATCH}
    both = wanting(SSD, expression("n", "Exists"), nodeSelector={"disk": "ssd"})
    assert list_refusals(explain(both, *nodes), NAME) == {"b": NO_MATCH, "c": NO_MATCH}


def test_what_the_profile_adds_is_told_first() -> None:
    nodes = [node("a", labels={"disk": "ssd"}), node("b"), node("c", labels={"x": "y", "disk": "ssd"})]
    profile = added(**{MUST: {"nodeSelectorTerms": [SSD]}})
    answer = explain(pod("p", nodeSelector={"x": "y"}), *nodes, **profile)
    assert list_refusals(answer, NAME) == {"a": NO_MATCH, "b": ENFORCED}
    assert list_refusals(explain(pod("p"), *nodes, **profile), NAME) == {"b": ENFORCED}


def test_terms_that_all_name_nodes_leave_only_those_to_be_looked_at() -> None:
    nodes = [node("a"), node("b"), node("c")]
    assert explain(wanting(by_node_name("a"), by_node_name("c")), *nodes)["preFilterNodes"] == ["a", "c"]
    assert "preFilterNodes" not in explain(wanting(by_node_name("a"), expression("x", "Exists")), *nodes)
    answer = explain(wanting(by_node_name("a", "b")), *nodes)
    assert answer["preFilter"] == {"plugin": NAME, "code": NEVER, "reasons": ["pod affinity terms conflict"]}


def test_the_weights_of_preferred_terms_that_match_add_up() -> None:
    nodes = [node("a", labels={"x": "", "y": ""}), node("b", labels={"y": ""}), node("c"), node("d", labels={"z": ""})]
    answer = explain(preferring(x=10, y=30, z=0), *nodes)
    assert raw_scores(answer, NAME) == [40, 30, 0, 0]
    assert normalized_scores(answer, NAME) == [100, 75, 0, 0]


def test_an_only_node_is_taken_although_a_preferred_term_cannot_be_read() -> None:
    term = {"weight": 1, "preference": expression("memory", "Gt", "4Gi")}
    asks = pod("p", affinity={"nodeAffinity": {PREFER: [term]}})
    answer = scheduler(node("a")).explain(Pod.from_json(asks), as_scheduled=True)
    assert (answer.node, answer.scores) == ("a", [])
    with pytest.raises(CycleError, match=r"\[0\]\.matchExpressions\[0\]\.values\[0\]: Invalid value: \"4Gi\""):
        explain(asks, node("a"), node("b"))


def test_preferences_of_the_profile_count_too() -> None:
    nodes = [node("a", labels={"disk": "ssd"}), node("b", labels={"x": ""})]
    profile = added(**{PREFER: [{"weight": 5, "preference": SSD}]})
    assert raw_scores(explain(preferring(x=15), *nodes, **profile), NAME) == [5, 15]
    assert raw_scores(explain(pod("p"), *nodes, **profile), NAME) == [5, 0]
    assert NAME in explain(pod("p"), *nodes)["skippedScorePlugins"]


def test_a_node_that_matches_now_wakes() -> None:
    choosy, labelled = pod("p", nodeSelector={"x": "y"}), node("n", labels={"x": "y"})
    assert wakes_on_node_add(NAME, choosy, labelled)
    assert not wakes_on_node_add(NAME, choosy, node("n"))
    assert wakes_on_node_update(NAME, choosy, node("n"), labelled)
    assert not wakes_on_node_update(NAME, choosy, labelled, node("n", labels={"x": "y", "z": "z"}))
    assert wakes_on_node_update(NAME, wanting(SSD), node("n"), node("n", labels={"disk": "ssd"}))


TERMS = st.builds(
    expression, st.sampled_from("xy"), st.sampled_from(["In", "NotIn"]), st.sampled_from("12"), st.sampled_from("23")
)
NODES = [node(x + y, labels={"x": x, "y": y}) for x in "123" for y in "123"]


@settings(max_examples=20)
@given(TERMS, TERMS)
def test_terms_are_alternatives(term: dict, other: dict) -> None:
    def matching_nodes(*terms: dict) -> set[str]:
        return set(explain(wanting(*terms), *NODES)["feasible"] or ())

    assert matching_nodes(term, other) == matching_nodes(term) | matching_nodes(other)
    both = {"matchExpressions": term["matchExpressions"] + other["matchExpressions"]}
    assert matching_nodes(both) == matching_nodes(term) & matching_nodes(other)
