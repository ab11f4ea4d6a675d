"""Objects bent at random and sent to the site: REST and pages understand them, or name them with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.engine.objects import reference
from kschedweb.playground import services as playground
from tests.support.hostile import bent, originals

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db

Json = dict[str, Any]
IMPORT = "/api/v1/clusters/import/?name=bent&replace=1"
PODS = 4  # as many of each cluster are looked at


def imported(client: APIClient, items: list[Json]) -> Any:
    taken = {reference(item) for item in items}
    body = json.dumps([*items, *(item for item in originals() if reference(item) not in taken)]).encode()
    return client.generic("POST", IMPORT, body, content_type="application/json")  # type: ignore[arg-type]


def ends_well(answer: Any, *, page: bool) -> None:
    """A page or an answer, or a refusal in words."""
    assert answer.status_code in (200, 404, 422), answer.content[:500]
    if answer.status_code != 200 and not page:
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"]


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(items=st.lists(bent(), min_size=5, max_size=5))
def test_no_bent_object_breaks_rest_or_a_page(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], items: list[Json]
) -> None:
    rest, pages = api_as("editor"), client_as("editor")
    before = Snapshot.objects.count()
    answer = imported(rest, items)
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
        ends_well(rest.get(f"/api/v1/clusters/bent/{kind}/"), page=False)
    for pod in PodRow.objects.filter(snapshot=snapshot).order_by("-pending", "name")[:PODS]:
        ends_well(rest.get(f"/api/v1/clusters/bent/pods/{pod.namespace}/{pod.name}/decision/"), page=False)
        ends_well(pages.get(f"/decision/bent/{pod.namespace}/{pod.name}/?node=node-1"), page=True)
    playground.forget()
