"""Pods as the real API server admits them, and as the engine does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.controllers.admission import AdmissionError, admit_pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import pod

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

PODS = "/api/v1/namespaces/default/pods"
COLLECTIONS = {
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
}
FIELDS = ("priority", "priorityClassName", "preemptionPolicy", "tolerations", "nodeSelector", "overhead")
NOT_READY = "node.kubernetes.io/not-ready"


def priority_class(name: str, value: int, **fields: Any) -> Json:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": name}, "value": value, **fields}


def runtime_class(name: str, **fields: Any) -> Json:
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    return {**kind, "metadata": {"name": name}, "handler": "h", **fields}


def tolerates(key: str, operator: str = "Exists", **fields: Any) -> Json:
    return {"key": key, "operator": operator, **fields}


CLASSES = [
    priority_class("low", -10),
    priority_class("high", 1000, preemptionPolicy="Never"),
    priority_class("usual", 7, globalDefault=True),
    runtime_class("heavy", overhead={"podFixed": {"cpu": "250m", "memory": "64Mi"}}),
    runtime_class(
        "box",
        overhead={"podFixed": {"cpu": "1"}},
        scheduling={
            "nodeSelector": {"box": "yes"},
            "tolerations": [tolerates("box"), tolerates("a", "Equal", value="x", effect="NoSchedule")],
        },
    ),
]
SPECS: dict[str, Json] = {
    "plain": {},
    "low": {"priorityClassName": "low"},
    "high": {"priorityClassName": "high"},
    "system": {"priorityClassName": "system-cluster-critical"},
    "right priority": {"priorityClassName": "low", "priority": -10},
    "wrong priority": {"priorityClassName": "low", "priority": 5},
    "wrong policy": {"preemptionPolicy": "Never"},
    "unknown class": {"priorityClassName": "none"},
    "own toleration": {"tolerations": [tolerates(NOT_READY, effect="NoExecute", tolerationSeconds=5)]},
    "other effect": {"tolerations": [tolerates(NOT_READY, effect="NoSchedule")]},
    "everything": {"tolerations": [{"operator": "Exists"}]},
    "heavy": {"runtimeClassName": "heavy"},
    "overhead again": {"runtimeClassName": "heavy", "overhead": {"cpu": "0.25", "memory": "65536Ki"}},
    "other overhead": {"runtimeClassName": "heavy", "overhead": {"cpu": "1"}},
    "overhead alone": {"overhead": {"cpu": "1"}},
    "box": {"runtimeClassName": "box"},
    "box and selector": {"runtimeClassName": "box", "nodeSelector": {"disk": "ssd"}},
    "same selector": {"runtimeClassName": "box", "nodeSelector": {"box": "yes"}},
    "conflicting selector": {"runtimeClassName": "box", "nodeSelector": {"box": "no"}},
    "larger toleration": {"runtimeClassName": "box", "tolerations": [tolerates("a")]},
    "smaller toleration": {
        "runtimeClassName": "box",
        "tolerations": [tolerates("box", "Equal", value="x", effect="NoSchedule")],
    },
    "same toleration": {"runtimeClassName": "box", "tolerations": [tolerates("box"), tolerates("box")]},
    "for a while": {
        "runtimeClassName": "box",
        "tolerations": [tolerates("box", effect="NoExecute", tolerationSeconds=9)],
    },
    "unknown runtime": {"runtimeClassName": "none"},
}


@pytest.fixture(scope="module")
def classes(control_plane: ControlPlane) -> Iterator[ClusterObjects]:
    """The classes on the API server, and the same for the engine."""
    cluster = ClusterObjects()
    for raw in CLASSES:
        cluster.add(raw)
        control_plane.call("POST", COLLECTIONS[raw["kind"]], raw)
    yield cluster
    control_plane.wipe()
    for raw in CLASSES:
        control_plane.call("DELETE", f"{COLLECTIONS[raw['kind']]}/{raw['metadata']['name']}")


@pytest.mark.parametrize("name", SPECS)
def test_the_engine_admits_as_the_api_server(control_plane: ControlPlane, classes: ClusterObjects, name: str) -> None:
    raw = pod(name.replace(" ", "-"), **SPECS[name])
    answer = control_plane.request("POST", f"{PODS}?dryRun=All", raw)
    response = json.loads(answer.data)
    try:
        spec, refusal = admit_pod(raw, classes)["spec"], ""
    except AdmissionError as refused:
        spec, refusal = {}, str(refused).partition(": ")[2]
    assert answer.status == (403 if refusal else 201), response
    if refusal:
        assert response["message"].endswith(refusal)
    else:
        assert {field: spec.get(field) for field in FIELDS} == {field: response["spec"].get(field) for field in FIELDS}
