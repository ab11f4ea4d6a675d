"""Objects bent at random, written to the sandbox: each is taken or refused, and the sandbox lives on, also anew."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.requests import ApiResponse, Request
from kschedweb.engine.sandbox.resources import BY_KIND, RESOURCES, Resource, get_resource
from kschedweb.engine.sandbox.schema import decode_stored
from tests.engine.sandbox.living import Living, pod, workload
from tests.support import tiers
from tests.support.hostile import EXTREMES, SELECTOR, bend, originals, places, thing

DEPLOYMENT, JOB = get_resource("Deployment", "apps/v1"), get_resource("Job", "batch/v1")
CONTENTS = ("application/merge-patch+json", "application/strategic-merge-patch+json")
thorough = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@cache
def valid() -> tuple[Json, ...]:
    """At least one object of each kind that is served; all of them are taken."""
    reference = {"kind": "Pod", "namespace": "default", "name": "bare", "uid": "u", "apiVersion": "v1"}
    times = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "eventTime": None}
    note = {"eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "x", "reportingInstance": "x-1"}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    template = {"metadata": {}, "spec": {**pod("x")["spec"], "restartPolicy": "Never"}}
    subset = {"addresses": [{"ip": "10.0.0.9"}], "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}
    lease = {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    parallel: Json = {"podManagementPolicy": "Parallel", "serviceName": "s", "ordinals": {"start": 2}}
    rolling: Json = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}}
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}
    more = [
        thing("v1", "ConfigMap", "map", "default", data={"a": "b"}, binaryData={"c": "ZA=="}),
        thing("v1", "Endpoints", "web", "default", subsets=[subset]),
        thing(
            "v1", "Event", "old", "default", involvedObject=reference, reason="R", message="m", type="Normal", **times
        ),
        thing(
            "events.k8s.io/v1", "Event", "new", "default", regarding=reference, reason="R", note="m", action="A", **note
        ),
        thing("resource.k8s.io/v1", "ResourceClaimTemplate", "gpu", "default", spec={"spec": {"devices": devices}}),
        thing("v1", "ResourceQuota", "quota", "default", spec={"hard": {"pods": "5"}}),
        thing("batch/v1", "Job", "job", "default", spec={"parallelism": 2, "completions": 2, "template": template}),
        thing("autoscaling/v2", "HorizontalPodAutoscaler", "hpa", "default", spec={"scaleTargetRef": target}),
        thing("coordination.k8s.io/v1", "Lease", "lease", "default", spec=lease),
        thing("apps/v1", "Deployment", "plain", "default", **{"spec": workload("plain", 2, **rolling)["spec"]}),
        thing("apps/v1", "StatefulSet", "many", "default", **{"spec": workload("many", 2, **parallel)["spec"]}),
        thing("policy/v1", "PodDisruptionBudget", "most", "default", spec={"maxUnavailable": 1, "selector": SELECTOR}),
    ]
    served = [item for item in (*originals(), *more) if (item["apiVersion"], item["kind"]) in BY_KIND]
    return tuple(_fresh(item) for item in sorted(served, key=lambda item: "Class" not in item["kind"]))


def _fresh(item: Json) -> Json:
    """The object as a person would create it: without what the API server itself decides."""
    fresh = copy.deepcopy(item)
    for name in ("uid", "creationTimestamp"):
        fresh["metadata"].pop(name, None)
    if fresh["kind"] == "PriorityClass":
        fresh |= {"globalDefault": False, "preemptionPolicy": "PreemptLowerPriority"}
    if fresh["kind"] == "Pod":
        fresh["spec"].pop("priority", None)
        for path in places(fresh["spec"])[::-1]:
            if path[-1] == "matchLabelKeys":
                _at(fresh["spec"], path[:-1]).pop("matchLabelKeys")
    return fresh


def _at(item: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        item = item[key]
    return item


def twist(draw: st.DrawFn, parent: Any, key: Any) -> None:
    """Put another value of the same type there, which a decoder takes."""
    value = parent[key]
    match value:
        case bool():
            parent[key] = not value
        case int():
            parent[key] = draw(st.sampled_from([0, -1, 1, 2001, 2**31 - 1, -(2**31), 2**63 - 1]))
        case str():
            parent[key] = draw(
                st.sampled_from([*filter(_is_text, EXTREMES), "web", "ReplicaSet", "Deployment", "100%"])
            )
        case list() | dict():
            parent[key] = draw(st.sampled_from([type(value)(), value]))
        case _:
            del parent[key]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


@st.composite
def bent_writes(draw: st.DrawFn) -> tuple[Resource, Json]:
    """An object of some kind with up to three places bent, and where it is sent to."""
    original = draw(st.sampled_from(valid()))
    item = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(item) or [("metadata",)]))
        (bend if draw(st.booleans()) else twist)(draw, _at(item, path[:-1]), path[-1])
    return BY_KIND[original["apiVersion"], original["kind"]], item


def send(living: Living, method: str, path: str, body: Any, content: str = "application/json") -> int:
    """The status of the answer. What is refused has changed nothing, and nothing ends with an error of the server."""
    before = living.store.version
    answer = living.call(Request(method, path, {}, body, content))
    assert isinstance(answer, ApiResponse)
    json.dumps(answer.body)
    assert answer.code < 500 or "resourceVersion should not be set" in answer.body["message"], answer.body
    assert answer.code < 300 or living.store.version == before, answer.body
    return answer.code


def restart(living: Living) -> None:
    """All but what is on the disk is lost."""
    for resource in RESOURCES:
        for raw in [] if resource.store else list(living.store.all(resource)):
            stored = json.loads(json.dumps(raw))
            living.store.load_objects([(resource, decode_stored(resource, stored))])
    living.restart()


def test_every_kind_has_a_valid_object() -> None:
    living = Living(quiet=True)
    code_by_resource = {}
    for item in valid():
        resource = BY_KIND[item["apiVersion"], item["kind"]]
        answer = living.call(Request("POST", resource.path("default"), {}, item))
        assert isinstance(answer, ApiResponse)
        code_by_resource[resource] = answer.code
        assert answer.code in (201, 409), answer.body
    own = {resource.kind for resource in code_by_resource}
    assert own == {resource.kind for resource in RESOURCES if not resource.is_custom}
    living.live(5)


@settings(thorough, max_examples=tiers.count(60, 3000))
@given(st.lists(bent_writes(), min_size=6, max_size=6), st.sampled_from(CONTENTS))
def test_no_bent_object_ends_the_sandbox(writes: list[tuple[Resource, Json]], content: str) -> None:
    living = Living(quiet=True)
    living.node("node-1")
    for resource, item in writes:
        send(living, "POST", resource.path("default"), item)
    living.live(3)
    for resource, item in writes:
        present = next((raw for raw in living.store.all(resource)), None)
        if present is None:
            continue
        path = resource.path(present["metadata"].get("namespace", ""), present["metadata"]["name"])
        send(living, "PATCH", path, item, content)
        renamed = {**item, "metadata": {**present["metadata"], "resourceVersion": ""}}
        send(living, "PUT", path, renamed)
        if resource.status:
            send(living, "PATCH", f"{path}/status", item, content)
            send(living, "PUT", f"{path}/status", renamed)
    living.live(3)
    for resource_name in ("nodes", "pods"):
        json.dumps(living.world.list_metrics(resource_name, ""), allow_nan=False)
    restart(living)
    living.live(3)
