"""The pages of the sandbox: what they say, to whom, and what they do where no sandbox answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import demo_load
from kschedweb.sandbox import selectors
from kschedweb.sandbox.views import life_context
from tests.sandbox.test_services import DEPLOYMENT
from tests.support.html import elements, text
from tests.support.processes import wait_until
from tests.support.sandbox import use_sandbox

pytestmark = pytest.mark.django_db

AsRole = Callable[[str], Client]
ROW = "#created a[href=/sandbox/objects/Deployment/default/pair/]"


def test_an_editor_creates_finds_and_deletes(client_as: AsRole, cluster: Cluster) -> None:
    client = client_as("editor")
    answer = client.post("/sandbox/create/", {"text": DEPLOYMENT})
    assert (answer.status_code, answer["Location"]) == (302, "/sandbox/")
    assert len(elements(client.get("/sandbox/"), ROW)) == 1
    page = client.get("/sandbox/objects/Deployment/default/pair/")
    assert page.context["row"].by == client.get("/sandbox/").context["user"].username
    form = {"kind": "Deployment", "api_version": "apps/v1", "namespace": "default", "name": "pair"}
    assert client.post("/sandbox/delete/", form).status_code == 302
    assert not elements(client.get("/sandbox/"), ROW)
    assert client.get("/sandbox/objects/Deployment/default/pair/").status_code == 404


def test_a_text_that_is_refused_stays_with_its_error_beside_the_field(client_as: AsRole, cluster: Cluster) -> None:
    answer = client_as("editor").post("/sandbox/create/", {"text": "kind: Pod"})
    assert answer.status_code == 422
    assert elements(answer, "#id_text-error")
    assert answer.context["form"]["text"].value() == "kind: Pod"
    assert client_as("editor").post("/sandbox/create/", {"text": ""}).status_code == 400


def test_its_time_is_paused_and_set(client_as: AsRole, cluster: Cluster) -> None:
    client = client_as("editor")
    client.post("/sandbox/pace/", {"do": "pause"})
    assert selectors.get_pace().paused
    client.post("/sandbox/pace/", {"do": "speed", "speed": "10"})
    assert selectors.get_pace() == selectors.SandboxPace(paused=True, speed=10)
    client.post("/sandbox/pace/", {"do": "speed", "speed": "7"})
    assert selectors.get_pace().speed == 10
    client.post("/sandbox/pace/", {"do": "speed", "speed": "1"})


def test_its_overview_has_its_time_and_the_pods_that_come_and_go(client_as: AsRole, cluster: Cluster) -> None:
    client = client_as("editor")
    answer = client.post("/sandbox/pace/", {"do": "pause", "back": "overview"})
    assert (answer.status_code, answer["Location"]) == (302, f"/?cluster={cluster.name}")
    page = client.get("/sandbox/", headers={"HX-Request": "true"})
    assert elements(page, "#coming")
    assert {happening.kind for happening in page.context["of_pods"]} <= {"Pod"}
    assert selectors.get_pace().paused
    assert life_context(cluster)["pace"] == selectors.get_pace()
    client.post("/sandbox/pace/", {"do": "resume", "back": "overview"})
    assert not selectors.get_pace().paused


def test_a_viewer_sees_and_changes_nothing(client_as: AsRole, cluster: Cluster) -> None:
    client = client_as("viewer")
    page = client.get("/sandbox/")
    assert not elements(page, "#main form")
    assert client.post("/sandbox/create/", {"text": DEPLOYMENT}).status_code == 403


def test_new_events_are_told_and_nothing_moves(client_as: AsRole, cluster: Cluster) -> None:
    client = client_as("viewer")
    newest = client.get("/sandbox/").context["newest"]
    everything = elements(client.get("/sandbox/news/"), "[data-announce]")
    with selectors.open_client() as api:
        api.create(
            "/api/v1/namespaces/default/events",
            {"metadata": {"name": "news"}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "seed"}},
        )

    def told_exactly() -> bool:
        """Events of what tests before this one made may still come: it is asked until none does in between."""
        count = selectors.happenings_since(int(newest))
        (link,) = elements(client.get("/sandbox/news/", {"since": newest}), "[data-announce]")
        return count == selectors.happenings_since(int(newest)) and link["data-announce"] == f"{count} new"

    wait_until(told_exactly, "as many are told as there are")
    assert len(everything) <= 1
    assert client.get("/sandbox/news/", {"since": "-x"}).status_code == 200


def test_a_process_that_does_not_answer_is_named(client_as: AsRole, cluster: Cluster, settings: Settings) -> None:
    use_sandbox(settings, "http://127.0.0.1:9")
    page = client_as("editor").get("/sandbox/")
    assert page.context["trouble"] in text(page)
    assert client_as("editor").get("/sandbox/objects/Pod/default/seed/").status_code == 502


def test_a_site_without_one_says_so_and_does_not_offer_it(
    client_as: AsRole, cluster: Cluster, settings: Settings
) -> None:
    use_sandbox(settings, "")
    client = client_as("editor")
    answer = client.get("/sandbox/")
    assert answer.status_code == 404
    assert b"This site runs without a sandbox." in answer.content
    for address in ("/live/", "/approvals/", f"/clusters/{cluster.name}/"):
        assert not elements(client.get(address), "a[href=/sandbox/]"), address


def test_pages_without_anything_at_work_offer_the_sandbox(client_as: AsRole, cluster: Cluster) -> None:
    client = client_as("viewer")
    for address in ("/live/", "/approvals/", f"/clusters/{cluster.name}/"):
        assert elements(client.get(address), "#main a[href=/sandbox/]"), address


def test_the_overview_of_the_demo_leads_there(client_as: AsRole, cluster: Cluster, plain_demo: None) -> None:
    demo = demo_load()
    assert elements(client_as("viewer").get("/", {"cluster": demo.name}), "#main a[href=/sandbox/]")
