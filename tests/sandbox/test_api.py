"""REST of the sandbox: the same powers as its pages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from kschedweb.clusters.models import Cluster
from kschedweb.sandbox import selectors
from tests.sandbox.test_services import DEPLOYMENT
from tests.support.sandbox import pod, use_sandbox

pytestmark = pytest.mark.django_db

AsRole = Callable[[str], APIClient]
ROOT, OBJECTS = "/api/v1/sandbox/", "/api/v1/sandbox/objects/"
PAIR_QUERY = "?kind=Deployment&api_version=apps/v1&namespace=default&name=pair"


def test_its_time_is_read_and_changed(api_as: AsRole, cluster: Cluster) -> None:
    api = api_as("editor")
    before = api.get(ROOT).data
    assert api.patch(ROOT, {"paused": True, "speed": 5}, format="json").data == {"paused": True, "speed": 5}
    assert api.get(ROOT).data == {"paused": True, "speed": 5}
    refused = api.patch(ROOT, {"speed": 61}, format="json")
    assert refused.status_code == 400
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["errors"][0]["path"] == "speed"
    api.patch(ROOT, before, format="json")


def test_objects_are_created_once_a_key_read_and_deleted(api_as: AsRole, cluster: Cluster) -> None:
    api = api_as("editor")
    first = api.post(OBJECTS, {"text": DEPLOYMENT}, format="json", HTTP_IDEMPOTENCY_KEY="make-the-pair")
    assert (first.status_code, first.json()) == (201, {"created": ["Deployment default/pair"]})
    repeated = api.post(OBJECTS, {"text": DEPLOYMENT}, format="json", HTTP_IDEMPOTENCY_KEY="make-the-pair")
    assert (repeated.status_code, repeated.json()) == (201, first.json())
    conflict = api.post(OBJECTS, {"text": DEPLOYMENT}, format="json")
    assert conflict.status_code == 422
    assert "already exists" in conflict.json()["errors"][0]["message"]
    assert "pair" in [row["name"] for row in api.get(OBJECTS).json()]
    details = api.get(f"{OBJECTS}Deployment/default/pair/").json()
    assert details["row"]["kind"] == "Deployment"
    assert set(details) == {"row", "pods", "happenings"}
    assert api.delete(OBJECTS + PAIR_QUERY).status_code == 204
    missing = api.get(f"{OBJECTS}Deployment/default/pair/")
    assert (missing.status_code, missing["Content-Type"]) == (404, "application/problem+json")


def test_a_viewer_may_read_only(api_as: AsRole, cluster: Cluster) -> None:
    api = api_as("viewer")
    assert [api.get(address).status_code for address in (ROOT, OBJECTS, f"{ROOT}events/")] == [200, 200, 200]
    assert api.patch(ROOT, {"paused": True}, format="json").status_code == 403
    assert api.post(OBJECTS, {"text": DEPLOYMENT}, format="json").status_code == 403
    assert api.delete(OBJECTS + PAIR_QUERY).status_code == 403


def test_events_come_newest_first(api_as: AsRole, cluster: Cluster) -> None:
    with selectors.open_client() as client:
        for number in range(3):
            reference = {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "seed"}}
            at = {"lastTimestamp": f"2030-01-01T00:00:0{number}Z"}
            client.create(
                "/api/v1/namespaces/default/events", {"metadata": {"name": f"event-{number}"}, **reference, **at}
            )
    events = api_as("viewer").get(f"{ROOT}events/").json()
    assert [event["at"] for event in events[:3]] == [f"2030-01-01T00:00:0{number}Z" for number in (2, 1, 0)]
    assert len(events) <= 100


def test_without_a_sandbox_there_is_nothing_and_a_silent_one_is_a_problem(
    api_as: AsRole, cluster: Cluster, settings: Settings
) -> None:
    api = api_as("editor")
    use_sandbox(settings, "http://127.0.0.1:9")
    silent = api.get(ROOT)
    assert (silent.status_code, silent["Content-Type"]) == (502, "application/problem+json")
    use_sandbox(settings, "")
    assert api.get(ROOT).status_code == 404
    assert api.get(ROOT).json()["detail"] == "This site runs without a sandbox."


MALFORMED = [
    '{"kind": "List", "items": 7}',
    '{"apiVersion": "v1", "kind": "Pod", "metadata": "x"}',
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": ["a"]}}',
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "annotations": 3}}',
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": []}',
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"resources": 5}]}}',
    '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": "x"}}',
    '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"metadata": 1}}}',
    '{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "x"}, "lastTimestamp": "not a time"}',
]


@pytest.mark.parametrize("malformed", MALFORMED)
def test_a_malformed_text_is_said_and_nothing_is_stored(api_as: AsRole, cluster: Cluster, malformed: str) -> None:
    answer = api_as("editor").post(OBJECTS, {"text": malformed}, format="json")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), answer.content
    (problem,) = answer.json()["errors"]
    assert problem["path"] == "text"
    assert len(problem["message"]) > 30
    assert api_as("viewer").get(ROOT + "events/").status_code == 200


def test_a_refused_owner_is_not_stored(api_as: AsRole, cluster: Cluster) -> None:
    raw = pod("owned")
    raw["metadata"]["ownerReferences"] = [{"controller": True}]
    answer = api_as("editor").post(OBJECTS, {"text": json.dumps(raw)}, format="json")
    assert answer.status_code == 422
    message = "metadata.ownerReferences[0].uid: Required value: must not be empty"
    assert message in answer.json()["errors"][0]["message"]
    with selectors.open_client() as client:
        assert client.send("GET", "/api/v1/namespaces/default/pods/owned").code == 404
