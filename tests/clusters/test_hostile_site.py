"""Objects bent at random and sent to the site: REST and pages understand them, or name them with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import services as playground
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import describe_object
from tests.support import tiers
from tests.support.hostile import REQUIRED, bare_pod, bent, originals
from tests.support.html import html_of

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db

IMPORT = "/api/v1/clusters/import/?name=bent&replace=1"
PODS = 4  # as many of each cluster are looked at


def imported(client: APIClient, items: list[Json]) -> Any:
    imported_names = {describe_object(item) for item in items}
    body = json.dumps([*items, *(item for item in originals() if describe_object(item) not in imported_names)]).encode()
    return client.generic("POST", IMPORT, body, content_type="application/json")  # type: ignore[arg-type]


def ends_well(answer: Any, *, page: bool) -> None:
    """A page or an answer, or a refusal in words."""
    assert answer.status_code in (200, 404, 422), answer.content[:500]
    if answer.status_code != 200 and not page:
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"]


@settings(deadline=None, max_examples=tiers.count(8, 300), suppress_health_check=list(HealthCheck))
@given(items=st.lists(bent(), min_size=5, max_size=5))
def test_no_bent_object_breaks_rest_or_a_page(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], items: list[Json]
) -> None:
    cache.clear()  # all examples are one person's, who would be throttled
    api, pages = api_as("editor"), client_as("editor")
    before = Snapshot.objects.count()
    answer = imported(api, items)
    if answer.status_code not in (200, 201):
        assert 400 <= answer.status_code < 500
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"]
        assert Snapshot.objects.count() == before
        return
    snapshot = Snapshot.objects.latest("taken_at")
    for problem in snapshot.problems:
        assert problem["object"]
        assert problem["reason"]
    assert len(answer.json()["snapshot"]["problems"]) == len(snapshot.problems)
    for address in ("/clusters/bent/", "/nodes/?cluster=bent", "/pods/?cluster=bent", "/?cluster=bent"):
        ends_well(pages.get(address), page=True)
    for kind in ("nodes", "pods"):
        ends_well(api.get(f"/api/v1/clusters/bent/{kind}/"), page=False)
    for pod in PodRow.objects.filter(snapshot=snapshot).order_by("-pending", "name")[:PODS]:
        ends_well(api.get(f"/api/v1/clusters/bent/pods/{pod.namespace}/{pod.name}/decision/"), page=False)
        ends_well(pages.get(f"/decision/bent/{pod.namespace}/{pod.name}/?node=node-1"), page=True)
    playground.clear_caches()


ODD: list[tuple[Json, str]] = [
    (
        {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]},
        "spec.containers[0].resources.requests.cpu: must not be",
    ),
    (
        {"tolerations": [{"key": "a", "operator": "Sometimes"}]},
        'Pod "odd" is invalid: spec.tolerations[0].operator: Unsupported value: "Sometimes": supported values:',
    ),
    (
        {"topologySpreadConstraints": [{"maxSkew": "1"}]},
        "spec.topologySpreadConstraints[0].maxSkew: must be a whole number",
    ),
    (
        {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": 3}]}}},
        f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey: m",
    ),
]


@pytest.mark.parametrize(("spec", "reason"), ODD)
def test_the_object_the_field_and_the_reason_are_on_the_page_and_in_the_answer(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], spec: Json, reason: str
) -> None:
    odd = bare_pod("odd", **spec)
    (problem,) = imported(api_as("editor"), [odd]).json()["snapshot"]["problems"]
    assert problem["object"] == "Pod default/odd"
    assert problem["reason"].startswith(reason)
    page = unescape(html_of(client_as("viewer").get("/clusters/bent/")))
    assert "Pod default/odd" in page
    assert reason in page
    form = {"name": "pasted", "text": json.dumps([*originals(), odd])}
    page = unescape(html_of(client_as("editor").post("/clusters/import/", form, follow=True)))
    assert "Pod default/odd" in page
    assert reason in page


def test_a_text_with_nothing_but_a_broken_object_is_refused_and_names_it(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient]
) -> None:
    broken = bare_pod("broken", priority="high")
    reason = "Pod default/broken: spec.priority: must be a whole number, is a string"
    answer = api_as("editor").generic("POST", IMPORT, json.dumps(broken).encode(), content_type="application/json")  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert reason in answer.json()["detail"]
    form = {"name": "pasted", "text": json.dumps(broken)}
    refused = client_as("editor").post("/clusters/import/", form)
    assert refused.status_code >= 400
    assert reason in unescape(html_of(refused))
    assert not Snapshot.objects.exists()


def test_ten_thousand_labels_are_taken_and_shown(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient]
) -> None:
    many = bare_pod("many")
    many["metadata"]["labels"] = {f"label-{number}": "x" for number in range(10_000)}
    assert imported(api_as("editor"), [many]).json()["snapshot"]["problems"] == []
    assert client_as("viewer").get("/decision/bent/default/many/").status_code == 200


@pytest.mark.parametrize("cpu", ["0." + "0" * 5_000, "9" * 5_000, "1" + "0" * 5_000 + "e-5000"])
def test_a_quantity_of_many_digits_is_imported(api_as: Callable[[str], APIClient], cpu: str) -> None:
    pod = bare_pod("many-digits")
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    answer = imported(api_as("editor"), [pod])
    assert answer.status_code in (200, 201), answer.content[:500]
    assert PodRow.objects.filter(snapshot=Snapshot.objects.latest("taken_at"), name="many-digits").exists()
