"""Refusals of an API server for an object, and their paths in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.refusals import RULES, find_refusals
from kschedweb.engine.refusals.pods import SHARED


def pod(**spec: Any) -> Json:
    containers = [{"name": "main", "image": "app:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": containers, **spec}}


def test_the_sentence_is_the_whole_of_the_api_servers() -> None:
    term = {"labelSelector": {}, "topologyKey": ""}
    item = pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    path = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey"
    first = find_refusals(item)[0]
    assert (first.path, first.text) == (path, f'Pod "x" is invalid: {path}: Required value: can not be empty')


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (
            pod(containers=[{"name": "a", "resources": {"requests": {"nvidia.com/gpu": "-1"}}}]),
            "spec.containers[0].resources.requests['nvidia.com/gpu']",
        ),
        (
            pod(
                topologySpreadConstraints=[
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"} for _ in range(2)
                ]
            ),
            "spec.topologySpreadConstraints[0]",
        ),
        (
            {"kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "No"}]}},
            "spec.taints[0].effect",
        ),
        (
            {
                "kind": "Deployment",
                "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {"metadata": {"labels": {"a": "b", "c d": ""}}, "spec": pod()["spec"]},
                },
            },
            "spec.template.metadata.labels",
        ),
    ],
    ids=["a resource", "a pair of fields", "a taint", "a label of a template"],
)
def test_the_path_is_where_it_stands_in_the_object(item: Json, path: str) -> None:
    assert path in [refusal.path for refusal in find_refusals(item)]


def test_what_is_no_quantity_is_all_that_is_said() -> None:
    item = pod(containers=[{"name": "A", "resources": {"limits": {"cpu": "x"}}}])
    text_start = 'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression'
    assert [refusal.text[: len(text_start)] for refusal in find_refusals(item)] == [text_start]


def test_pods_that_are_alike_have_their_own_names_and_nodes() -> None:
    gated = pod(schedulingGates=[{"name": "example.com/a"}])
    bound = pod(schedulingGates=[{"name": "example.com/a"}], nodeName="n")
    assert find_refusals(gated) == []
    assert [refusal.path for refusal in find_refusals(bound)] == ["spec.nodeName"]
    assert [refusal.path for refusal in find_refusals({**gated, "metadata": {"name": "X"}})] == ["metadata.name"]


def test_pods_that_are_alike_may_have_other_values_for_their_label_keys() -> None:
    term = {"labelSelector": {}, "topologyKey": "zone", "matchLabelKeys": ["version"]}
    item = pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    problems = [
        [
            refusal.text.rpartition(": Invalid value: ")[2][:5]
            for refusal in find_refusals({**item, "metadata": metadata})
        ]
        for metadata in ({"name": "x", "labels": {"version": version}} for version in ("1", "a b", "c d"))
    ]
    assert problems == [[], ['"a b"'] * 2, ['"c d"'] * 2]


def test_nodes_that_are_alike_have_their_own_names_and_labels() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "spec": {"taints": [{"key": "a", "effect": "No"}]}}
    first, second = (find_refusals({**node, "metadata": {"name": name}}) for name in ("n", "N"))
    assert [refusal.path for refusal in first] == ["spec.taints[0].effect"]
    assert [refusal.path for refusal in second] == ["metadata.name", "spec.taints[0].effect"]
    of_a_later_version = find_refusals({**node, "apiVersion": "v2", "status": {"capacity": {"cpu": "x"}}})
    assert of_a_later_version[0].text.startswith('Node in version "v2" cannot be handled as a Node')


@pytest.mark.parametrize("selector", [True, [], {"matchLabels": ["a"]}, {"matchExpressions": [1]}])
def test_a_selector_of_another_shape_is_left_to_those_who_read_it(selector: Any) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    item = {"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"selector": selector, "template": template}}
    assert find_refusals(item) == []


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.dictionaries(
    st.sampled_from([*SHARED, "containers", "volumes", "taints", "template", "capacity", "selector"]), anything
)


@given(kind=st.sampled_from(sorted(RULES)), metadata=anything, spec=fields | anything, status=anything)
def test_no_shape_makes_it_fail(kind: str, metadata: Any, spec: Any, status: Any) -> None:
    find_refusals({"kind": kind, "metadata": metadata, "spec": spec, "status": status})
