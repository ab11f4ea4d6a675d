"""The question whether a workload would be admitted that nobody has submitted, or with other quotas; page and REST."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.html import text

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.clusters.models import Snapshot

ClientAs = Callable[[str], "Client"]
ApiAs = Callable[[str], Any]
PAGE = "/queues/admission/?cluster=demo"
REST = "/api/v1/clusters/demo/admission/"


def manifest(cpu: str = "1", queue: str = "training", **annotations: str) -> str:
    container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": "probe", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": queue}}
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {**metadata, "annotations": annotations},
            "spec": {"parallelism": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        }
    )


def test_a_short_question_gets_an_address(client_as: ClientAs, demo: Snapshot) -> None:
    client = client_as("viewer")
    assert client.get(PAGE).status_code == 200
    posted = client.post(PAGE, {"ask": "1", "manifest": manifest()})
    assert posted.status_code == 302
    page = client.get(posted["Location"])
    answer = page.context["answer"]
    assert answer["workload"] == "ml/job-probe"
    assert answer["title"] in text(page)
    assert [pod_set["count"] for pod_set in answer["pod_sets"]] == [2]


def test_a_long_question_is_answered_where_it_is_asked(client_as: ClientAs, demo: Snapshot) -> None:
    filled = {"ask": "1", "manifest": manifest(note="x" * 9_000)}
    page = client_as("viewer").post(PAGE, filled)
    assert page.status_code == 200
    assert page.context["answer"]["workload"] == "ml/job-probe"


def test_refusals_stand_beside_their_field_and_nothing_is_lost(client_as: ClientAs, demo: Snapshot) -> None:
    broken = manifest(**{"kueue.x-k8s.io/job-min-parallelism": "7"})
    filled = {"ask": "1", "manifest": broken, "settings": "analytics/on-demand/cpu/nominal=60"}
    page = client_as("viewer").post(PAGE, filled)
    assert page.status_code == 400
    (refusal,) = page.context["form"].errors["manifest"]
    assert refusal.startswith("metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: 7")
    assert page.context["form"]["manifest"].value() == broken
    assert page.context["form"]["settings"].value() == filled["settings"]


@pytest.mark.parametrize(
    ("filled", "field"),
    [
        ({"ask": "1"}, "manifest"),
        ({"cpu": "1"}, "queue"),
        ({"cpu": "1", "queue": "training"}, "queue"),
        ({"manifest": "{"}, "manifest"),
        ({"manifest": manifest(), "queue": "other/training"}, "queue"),
        ({"workload": "ml/nothing"}, "workload"),
        ({"workload": "ml/job-speech", "settings": "training/no/cpu/nominal=1"}, "settings"),
        ({"workload": "ml/job-speech", "settings": "training/on-demand/cpu/nominal=-1"}, "settings"),
        ({"workload": "ml/job-speech", "settings": "training"}, "settings"),
    ],
)
def test_each_error_has_its_field(client_as: ClientAs, demo: Snapshot, filled: dict[str, str], field: str) -> None:
    page = client_as("viewer").get("/queues/admission/", {"cluster": "demo", **filled})
    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]


def test_rest_answers_pods_by_their_requests(api_as: ApiAs, demo: Snapshot) -> None:
    body = {"queue": "ml/training", "requests": {"cpu": "1"}, "pods": 3}
    answer = api_as("viewer").post(REST, body, format="json")
    assert answer.status_code == 200
    assert answer.json()["requests"] == [{"resource": "cpu", "amount": 3000}]
    assert answer.json()["cluster_queue"] == "training"
    refused = api_as("viewer").post(REST, {**body, "requests": {"cpu": "one"}}, format="json")
    assert refused.status_code == 400
    assert [error["path"] for error in refused.json()["errors"]] == ["requests"]


def test_other_quotas_change_the_answer(api_as: ApiAs, demo: Snapshot) -> None:
    api = api_as("viewer")
    body = {"workload": "analytics/job-wide-join-prep"}
    before = api.post(REST, body, format="json").json()
    assert before["verdict"] == "no candidates"
    settings = {"analytics/on-demand/cpu/nominal": "600"}
    assert api.post(REST, {**body, "settings": settings}, format="json").json()["verdict"] == "behind"
