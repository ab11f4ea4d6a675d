"""Policies are read as kube-scheduler read them, and problems are told with their place, in its words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.releases.classic import from_config_map, load_policy
from tests.engine.releases.classic.support import POLICY

# From the article: its key "predicate" is misspelt.
ARTICLE = """{ "kind": "Policy", "apiVersion": "v1",
"predicate": [ { "name": "PodFitsPorts" }, { "name": "PodFitsResources" }, { "name": "NoDiskConflict" },
  { "name": "MatchNodeSelector" }, { "name": "HostName" }],
"priorities": [ { "name": "LeastRequestedPriority", "weight": 1 },
  { "name": "BalancedResourceAllocation", "weight": 1 }, { "name": "ServiceSpreadingPriority", "weight": 1 },
  { "name": "EqualPriority", "weight": 1 }] }"""


def problems(**fields: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.text) for problem in load_policy({**POLICY, **fields}).problems]


def test_the_articles_sample_is_understood_with_a_warning() -> None:
    loaded = load_policy(ARTICLE)
    assert loaded.policy is not None
    names = [choice.name for choice in loaded.policy.predicates or ()]
    assert names == ["PodFitsPorts", "PodFitsResources", "NoDiskConflict", "MatchNodeSelector", "HostName"]
    assert [warning.path for warning in loaded.warnings] == ["predicate"]
    assert 'is read as "predicates"' in loaded.warnings[0].text


def test_yaml_and_json_say_the_same() -> None:
    chosen = "priorities:\n- name: EqualPriority\n  weight: 2\n"
    text = f"kind: Policy\napiVersion: v1\n{chosen}hardPodAffinitySymmetricWeight: 5\n"
    same = json.dumps(
        {**POLICY, "priorities": [{"name": "EqualPriority", "weight": 2}], "hardPodAffinitySymmetricWeight": 5}
    )
    assert load_policy(text).policy == load_policy(same).policy
    assert load_policy(text).policy is not None


def test_a_policy_is_found_in_a_config_map() -> None:
    assert from_config_map({"data": {"policy.cfg": ARTICLE}}).policy == load_policy(ARTICLE).policy
    missing = from_config_map({"data": {"other": ARTICLE}})
    assert missing.errors == ('data: missing policy config map value at key "policy.cfg"',)
    assert from_config_map({"data": {"other": ARTICLE}}, "other").policy is not None
    assert from_config_map({"data": "x"}).policy is None


@pytest.mark.parametrize(
    ("fields", "path", "expected_error"),
    [
        ({"kind": "Foo"}, "kind", 'no kind "Foo" is registered for version "v1"'),
        ({"apiVersion": "v2"}, "apiVersion", 'no kind "Policy" is registered for version "v2"'),
        (
            {"priorities": [{"name": "EqualPriority"}]},
            "priorities[0].weight",
            "Priority EqualPriority should have a positive weight applied to it or it has overflown",
        ),
        (
            {"priorities": [{"name": "EqualPriority", "weight": (2**63 - 1) // 10}]},
            "priorities[0].weight",
            "Priority EqualPriority should have a positive weight applied to it or it has overflown",
        ),
        (
            {"hardPodAffinitySymmetricWeight": 101},
            "hardPodAffinitySymmetricWeight",
            "invalid hardPodAffinitySymmetricWeight: 101, must be in the range 1-100",
        ),
        (
            {"predicates": [{"name": "AB", "argument": {"labelsPresence": {}, "serviceAffinity": {}}}]},
            "predicates[0].argument",
            "Exactly 1 predicate argument is required, numArgs: 2, Predicate: AB",
        ),
        (
            {"priorities": [{"name": "AB", "weight": 1, "argument": {}}]},
            "priorities[0].argument",
            "Exactly 1 priority argument is required, numArgs: 0, Priority: AB",
        ),
        (
            {"predicates": [{"name": "A", "argument": {"labelsPresence": {"labels": ["x"]}}}]},
            "predicates[0].name",
            'Algorithm name A does not match the name validation regexp "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$".',
        ),
        (
            {"extenders": [{"urlPrefix": "http://a", "prioritizeVerb": "p"}]},
            "extenders[0].weight",
            "Priority for extender http://a should have a positive weight applied to it",
        ),
        (
            {"extenders": [{"urlPrefix": "a", "bindVerb": "b"}, {"urlPrefix": "c", "BINDVERB": "b"}]},
            "extenders[1].bindVerb",
            "Only one extender can implement bind, found 2",
        ),
        (
            {
                "extenders": [
                    {"managedResources": [{"name": "example.com/x"}]},
                    {"managedResources": [{"name": "example.com/x"}]},
                ]
            },
            "extenders[1].managedResources[0].name",
            "Duplicate extender managed resource name example.com/x",
        ),
        (
            {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
            "extenders[0].managedResources[0].name",
            "cpu is an invalid extended resource name",
        ),
        ({"predicates": [{"name": 1}]}, "predicates[0].name", "must be a string, is a number"),
        ({"priorities": [{"name": "x", "weight": "1"}]}, "priorities[0].weight", "must be a whole number, is a string"),
        ({"extenders": [{"httpTimeout": "5s"}]}, "extenders[0].httpTimeout", "must be a whole number, is a string"),
    ],
)
def test_problems_name_their_place(fields: dict, path: str, expected_error: str) -> None:
    assert problems(**fields) == [(path, expected_error)]


@pytest.mark.parametrize(
    ("shape", "path", "expected_error"),
    [
        ([], "", "at least one point must be specified"),
        (
            [(50, 1), (50, 2)],
            "[1].utilization",
            "utilization values must be sorted. Utilization[0]==50 >= Utilization[1]==50",
        ),
        ([(-1, 1)], "[0].utilization", "utilization values must not be less than 0. Utilization[0]==-1"),
        ([(101, 1)], "[0].utilization", "utilization values must not be greater than 100. Utilization[0]==101"),
        ([(1, -1)], "[0].score", "score values must not be less than 0. Score[0]==-1"),
        ([(1, 11)], "[0].score", "score valuses not be greater than 10. Score[0]==11"),
    ],
)
def test_shapes_are_checked_as_the_original_does(shape: list[tuple[int, int]], path: str, expected_error: str) -> None:
    points = [{"utilization": utilization, "score": score} for utilization, score in shape]
    argument = {"requestedToCapacityRatioArguments": {"shape": points}}
    at = f"priorities[0].argument.requestedToCapacityRatioArguments.shape{path}"
    expected_error = f"invalid RequestedToCapacityRatioPriority arguments: {expected_error}"
    assert problems(priorities=[{"name": "AB", "weight": 1, "argument": argument}]) == [(at, expected_error)]


def test_fields_that_nobody_knows_are_warned_about() -> None:
    fields = {"name": "EqualPriority", "Weight": 3, "weight": 1}
    loaded = load_policy({**POLICY, "priorities": [fields], "extra": 1, "extenders": [{"urlPrefix": "u", "nope": 1}]})
    assert loaded.policy is not None
    assert [warning.path for warning in loaded.warnings] == ["extra", "priorities[0].Weight", "extenders[0].nope"]


def test_extenders_are_brought_to_todays_form() -> None:
    raw = {
        "URLPREFIX": "http://e",
        "FilterVerb": "f",
        "enableHttps": True,
        "httpTimeout": 10**9,
        "tlsConfig": {"Insecure": True},
    }
    loaded = load_policy({**POLICY, "extenders": [raw, {}]})
    assert loaded.policy is not None
    first, second = loaded.policy.extenders
    assert (first["urlPrefix"], first["filterVerb"], first["enableHTTPS"]) == ("http://e", "f", True)
    assert (first["httpTimeout"], second["httpTimeout"]) == ("1000000000ns", "5000000000ns")
    assert first["tlsConfig"] == {"insecure": True}


KEYS = st.sampled_from(["predicates", "priorities", "name", "weight", "argument", "extenders", "labels", "shape"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(KEYS, part, max_size=4),
    max_leaves=12,
)


@given(JUNK)
def test_no_document_is_a_crash(document: Any) -> None:
    loaded = load_policy(json.dumps(document))
    assert (loaded.policy is None) == bool(loaded.problems)
    assert all(isinstance(error, str) for error in loaded.errors)
