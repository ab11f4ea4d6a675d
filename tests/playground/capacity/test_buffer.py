"""Survival of a cluster that loses a zone: on the page, over REST, by a job, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from kschedweb.clusters.models import NodeRow, Snapshot
from kschedweb.playground.capacity import tasks
from kschedweb.playground.capacity.models import Question
from tests.support.html import elements

pytestmark = pytest.mark.django_db
API = "/api/v1/capacity/buffer/"


def get_page(client: Any, **parameters: object) -> Any:
    return client.get(f"/capacity/buffer/?{urlencode({'cluster': 'demo', **parameters})}")


def test_each_zone_and_the_largest_nodes_are_lost(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    page = get_page(client, zones="on", largest=2)
    buffer = page.context["answer"]
    zones = set(NodeRow.objects.filter(snapshot=demo).exclude(zone="").values_list("zone", flat=True))
    assert {loss.name for loss in buffer.losses} == {*zones, ""}
    assert len(buffer.losses[-1].nodes) == 2
    assert len(elements(page, "tr[data-survived]")) == len(buffer.losses)
    assert buffer.survives == ("does not survive" not in page.context["sentence"])
    lines = b"".join(get_page(client, zones="on", largest=2, format="csv").streaming_content).decode().splitlines()
    assert lines[0] == "loss,nodes,pods,placed,evicted,pod,priority,reason,engine"
    assert len(lines) == 1 + sum(max(1, len(loss.stranded)) for loss in buffer.losses)


def test_fewer_pods_count_from_a_priority_on(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    all_pods, high_priority = (
        get_page(client, zones="on", **parameters).context["answer"] for parameters in ({}, {"priority": 1_000_000})
    )
    assert sum(loss.lower for loss in all_pods.losses) == 0
    assert sum(loss.lower for loss in high_priority.losses) > 0
    assert get_page(client, largest=1).context["answer"].losses[0].kind == "nodes"


def test_something_has_to_be_lost(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = get_page(client_as("viewer"), ask=1)
    assert page.status_code == 400
    assert "zones" in page.context["form"].errors
    assert get_page(client_as("viewer"), largest=-1).status_code == 400


def test_rest_answers_the_same(api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot) -> None:
    response = api_as("viewer").post(API, {"cluster": "demo", "largest": 1, "priority": 0}, format="json")
    assert response.status_code == 200
    buffer = get_page(client_as("viewer"), zones="on", largest=1, priority=0).context["answer"]
    assert response.data["survives"] == buffer.survives
    assert [(loss["name"], loss["pods"], loss["placed"], loss["survived"]) for loss in response.data["losses"]] == [
        (loss.name, loss.pods, loss.placed, loss.survived) for loss in buffer.losses
    ]
    rejection = api_as("viewer").post(API, {"cluster": "demo", "zones": False}, format="json")
    assert (rejection.status_code, rejection.data["errors"][0]["path"]) == (400, "zones")


def test_a_job_answers_what_takes_long(
    api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, slow: None
) -> None:
    api = api_as("viewer")
    response = api.post(API, {"cluster": "demo", "largest": 1}, format="json")
    assert response.status_code == 202
    question = Question.objects.get()
    tasks.answer(str(question.job_id))
    answer = api.get(response["Location"]).data
    assert answer["buffer"]["losses"][-1]["kind"] == "nodes"
    page = client_as("viewer").get(f"/capacity/answers/{question.pk}/")
    assert page.context["form"].initial == {"zones": True, "largest": 1, "priority": None}
    assert page.context["sentence"] + "." == answer["buffer"]["answer"]
