"""Lost and added nodes: on the page, over REST, by a job, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from kschedweb.clusters.models import NodeRow, Snapshot
from kschedweb.playground.capacity import tasks
from kschedweb.playground.capacity.models import Question
from kschedweb.playground.capacity.views import PAGE_SIZE

pytestmark = pytest.mark.django_db
API = "/api/v1/capacity/change/"


def get_page(client: Any, **parameters: object) -> Any:
    return client.get(f"/trying/nodes/?{urlencode({'cluster': 'demo', **parameters})}")


def nodes_of_zone(snapshot: Snapshot, zone: str) -> list[str]:
    return sorted(NodeRow.objects.filter(snapshot=snapshot, zone=zone).values_list("name", flat=True))


def test_the_page_opens_with_the_largest_zone_lost(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = get_page(client_as("viewer"))
    effect = page.context["answer"]
    sizes = {name: nodes_of_zone(demo, name) for name in NodeRow.objects.values_list("zone", flat=True)}
    assert sorted(effect.lost) == max(sizes.values(), key=len)
    assert page.context["map"].has_changes
    assert len(page.context["page"].object_list) == min(PAGE_SIZE, len(effect.pods))
    assert not {place.after for place in effect.pods} & set(effect.lost)


def test_added_nodes_take_pods(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = get_page(client_as("viewer"), added=2, like="gpu-a-1", zones="eu-west-1b eu-west-1c")
    effect = page.context["answer"]
    zones = {load.name: load.zone for load in effect.nodes if load.name in effect.added}
    assert zones == {"gpu-a-1-new-1": "eu-west-1b", "gpu-a-1-new-2": "eu-west-1c"}
    assert effect.pending_after < effect.pending_before
    lines = b"".join(
        get_page(client_as("viewer"), added=2, like="gpu-a-1", format="csv").streaming_content
    ).decode().splitlines()  # fmt: skip
    assert lines[0] == "pod,before,after,message,engine"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"ask": 1}, "zone"),
        ({"added": 1}, "like"),
        ({"added": 1, "like": "nowhere"}, "like"),
        ({"nodes": "nowhere"}, "nodes"),
        ({"zone": "nowhere"}, "zone"),
        ({"added": -1}, "added"),
    ],
    ids=["nothing", "no-type", "unknown-type", "unknown-node", "unknown-zone", "negative"],
)
def test_an_error_stands_beside_its_field(
    client_as: Callable[..., Any], demo: Snapshot, fields: dict[str, object], field: str
) -> None:
    page = get_page(client_as("viewer"), **fields)
    assert page.status_code == 400
    assert field in page.context["form"].errors


def test_rest_answers_the_same(api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot) -> None:
    question = {"cluster": "demo", "lost": ["general-a-1"], "added": 1, "like": "general-a-2"}
    response = api_as("viewer").post(API, question, format="json")
    assert response.status_code == 200
    effect = get_page(client_as("viewer"), nodes="general-a-1", added=1, like="general-a-2").context["answer"]
    assert response.json()["added"] == list(effect.added) == ["general-a-2-new-1"]
    assert [(pod["pod"], pod["before"], pod["after"]) for pod in response.data["pods"]] == [
        (place.pod, place.before, place.after) for place in effect.pods
    ]
    assert response.data["moved"] + response.data["stranded"] + response.data["gained"] == len(effect.pods)
    for body, path in (({}, "lost"), ({"added": 1}, "like"), ({"lost": ["nowhere"]}, "lost")):
        rejection = api_as("viewer").post(API, {"cluster": "demo", **body}, format="json")
        assert (rejection.status_code, rejection.data["errors"][0]["path"]) == (400, path)


def test_a_job_answers_what_takes_long(
    api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, slow: None
) -> None:
    api = api_as("viewer")
    response = api.post(API, {"cluster": "demo", "lost": ["general-a-1"]}, format="json")
    assert response.status_code == 202
    question = Question.objects.get()
    tasks.answer(str(question.job_id))
    answer = api.get(response["Location"]).json()
    assert answer["change"]["lost"] == ["general-a-1"]
    page = client_as("viewer").get(f"/capacity/answers/{question.pk}/")
    assert page.context["form"].initial == {"nodes": "general-a-1", "added": None, "like": "", "zones": ""}
    assert page.context["sentence"] + "." == answer["change"]["answer"]
