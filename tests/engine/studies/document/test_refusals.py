"""Objects of a scenario that an API server would refuse, reported where they stand in the document."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.refusals import refuse_document

CONTAINERS = [{"name": "main", "image": "app:1"}]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": CONTAINERS}}
ODD = {"key": "a", "operator": "Exists", "value": "b"}
FORCE = "value must be empty when `operator` is 'Exists'"


def deployment(**spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS, **spec}}
    kind = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return {**kind, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}


@pytest.mark.parametrize(
    ("document", "path", "expected_start"),
    [
        (
            {"objects": [POD, {**POD, "spec": {"containers": CONTAINERS, "tolerations": [ODD]}}]},
            "objects[1].spec.tolerations[0].operator",
            f'Pod "a" is invalid: spec.tolerations[0].operator: Invalid value: "b": {FORCE}',
        ),
        (
            {"objects": [{"kind": "List", "items": [{**POD, "metadata": {"name": "A"}}]}]},
            "objects[0].items[0].metadata.name",
            'Pod "A" is invalid: metadata.name: Invalid value: "A": a lowercase RFC 1123',
        ),
        (
            {"changes": [{"addWorkload": {"manifest": deployment(tolerations=[ODD])}}]},
            "changes[0].addWorkload.manifest.spec.template.spec.tolerations[0].operator",
            'Deployment.apps "web" is invalid: spec.template.spec.tolerations[0].operator: Invalid value: "b"',
        ),
        (
            {"changes": [{"taintNodes": {"zone": "a", "taints": [{"key": "a b", "effect": "NoSchedule"}]}}]},
            "changes[0].taintNodes.taints[0].key",
            'Node "node" is invalid: metadata.taints[0].key: Invalid value: "a b": name part must consist of',
        ),
        (
            {"changes": [{"resizeNodes": {"zone": "a", "allocatable": {"pods": "1.5"}}}]},
            "changes[0].resizeNodes.allocatable.pods",
            'Node "node" is invalid: status.allocatable.pods: Invalid value: "1500m": must be an integer',
        ),
        (
            {"arrivals": [{"generate": {"shapes": [{"name": "a", "cpu": "1", "resources": {"gpu": "1"}}]}}]},
            "arrivals[0].generate.shapes[0].resources['gpu']",
            'Pod "a" is invalid: spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard',
        ),
        (
            {"arrivals": [{"generate": {"shapes": [{"spec": {"tolerations": [ODD]}}]}}]},
            "arrivals[0].generate.shapes[0].spec.tolerations[0].operator",
            f'Pod "pod" is invalid: spec.tolerations[0].operator: Invalid value: "b": {FORCE}',
        ),
    ],
)
def test_a_sentence_stands_where_its_object_does(document: Json, path: str, expected_start: str) -> None:
    first = refuse_document(document)[0]
    assert first.path == path
    assert first.text.startswith(expected_start)


def test_nothing_is_said_of_what_an_api_server_takes() -> None:
    nodes = {"name": "n", "labels": {"a": "b"}, "taints": [{"key": "a", "effect": "NoSchedule"}]}
    shape = {"cpu": "1", "memory": "1Gi", "resources": {"nvidia.com/gpu": "1"}, "labels": {"a": "b"}}
    changes = [{"addNodes": {**nodes, "allocatable": {"cpu": "4"}}}, {"addWorkload": {"manifest": deployment()}}]
    document = {"objects": [POD], "changes": changes, "arrivals": [{"generate": {"shapes": [shape]}}]}
    assert refuse_document(document) == []


anything = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["objects", "changes", "arrivals"]), anything))
def test_whatever_a_document_holds_is_answered(document: Json) -> None:
    refuse_document(document)
    refuse_document({"changes": [{"addNodes": document}], "arrivals": [{"generate": {"shapes": [document]}}]})
