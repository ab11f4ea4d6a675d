"""A classic policy as a profile: the page, REST, and the policy that is made of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from kschedweb.engine.releases import load
from kschedweb.policies import selectors, services
from kschedweb.policies.dialect import PolicyKind
from tests.support.html import elements, html_of
from tests.support.seed_classic import POLICY, classic

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
PAGE, API_ADDRESS = "/policies/old/profile/", "/api/v1/policies/old/convert/"
SUMMARY = "3 of 12 rules have an exact counterpart, 7 a near one, 2 have none."


@pytest.fixture
def client(client_as: Callable[[str], Client]) -> Client:
    return client_as("editor")


@pytest.fixture
def old(editor: User) -> str:
    return classic(editor)


def test_the_page_says_what_became_of_each_rule(client: Client, old: str) -> None:
    page = html_of(client.get(PAGE))
    assert SUMMARY in page
    for rule in [*POLICY["predicates"], *POLICY["priorities"]]:
        assert rule["name"] in page
    assert "key: retiring" in page
    assert 'href="/classic/GeneralPredicates/"' in page
    assert 'href="/migration/?classic=old@1"' in page


def test_the_download_is_what_kube_scheduler_takes(client: Client, old: str) -> None:
    answer = client.get(f"{PAGE}download/?revision=1")
    assert answer["Content-Disposition"] == 'attachment; filename="old-1-profile.yaml"'
    assert answer.content.decode().startswith(f"# Converted from the classic policy old, revision 1.\n# {SUMMARY}\n")
    assert load(answer.content.decode()).valid


def test_a_policy_is_made_of_it_that_says_where_it_comes_from(client: Client, old: str) -> None:
    answer = client.post(PAGE, {"name": "new-one"})
    assert (answer.status_code, answer["Location"]) == (302, "/policies/new-one/")
    converted = selectors.revision_get(selectors.policy_get("new-one"))
    assert (converted.policy.kind, converted.comment) == (PolicyKind.PROFILES, "Converted from old, revision 1")
    weights = {
        plugin.name: plugin.weight for plugin in selectors.load_configuration(converted).profiles[0].points["score"]
    }
    assert (weights["PodTopologySpread"], weights["NodeAffinity"]) == (2, 2)


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [("default", 409, "A policy named default exists already"), ("Not Good", 400, "Lower-case letters")],
)
def test_a_name_that_cannot_be_used_is_told_beside_the_field(
    client: Client, old: str, name: str, status: int, message: str
) -> None:
    answer = client.post(PAGE, {"name": name})
    assert answer.status_code == status
    assert message in " ".join(answer.context["form"].errors["name"])
    assert elements(answer, "#id_name-error")
    assert SUMMARY in html_of(answer)


def test_a_viewer_looks_and_keeps_nothing(client_as: Callable[[str], Client], old: str) -> None:
    viewer = client_as("viewer")
    assert not elements(viewer.get(PAGE), "#main form input[name=name]")
    assert elements(client_as("editor").get(PAGE), "#main form input[name=name]")
    assert viewer.post(PAGE, {"name": "mine"}).status_code == 403


def test_a_policy_of_profiles_is_not_converted(client: Client, api_as: Callable[[str], APIClient]) -> None:
    for answer in (
        client.get("/policies/default/profile/"),
        client.get("/policies/default/profile/download/"),
        api_as("viewer").post("/api/v1/policies/default/convert/"),
    ):
        assert answer.status_code == 422
        assert "has profiles already" in html_of(answer)


def test_how_it_was_started_counts(client: Client, editor: User) -> None:
    document = json.dumps({"kind": "Policy", "apiVersion": "v1"})
    services.policy_create(name="old", document=document, author=editor, process={"version": "1.9"})
    assert "The policy names no rule." in html_of(client.get(PAGE))


def test_rest_answers_with_the_document_and_saves_nothing(api_as: Callable[[str], APIClient], old: str) -> None:
    answer = api_as("viewer").post(API_ADDRESS, {"revision": 1})
    body = answer.json()
    assert answer.status_code == 200
    assert (body["policy"], body["revision"], body["summary"]) == ("old", 1, SUMMARY)
    assert yaml.safe_load(body["yaml"]) == body["document"]
    assert load(body["document"]).valid
    untranslated = [note["name"] for note in body["notes"] if note["kind"] == "none"]
    assert untranslated == ["CheckServiceAffinity", "NodePreferAvoidPodsPriority"]
    assert {remark["name"] for remark in body["remarks"]} >= {"PrioritySort", "Equal nodes"}
    assert api_as("viewer").post(API_ADDRESS, {"revision": 7}).status_code == 404
    assert selectors.policy_list().count() == 2


def test_what_kube_scheduler_would_not_start_with_is_told(client: Client, editor: User) -> None:
    extender = {"urlPrefix": "https://x", "tlsConfig": {"insecure": True, "caFile": "/etc/ca.pem"}}
    document = json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [extender]})
    services.policy_create(name="old", document=document, author=editor)
    answer = client.get(PAGE)
    assert answer.status_code == 422
    assert "would not start" in html_of(answer)


@pytest.mark.parametrize("body", [{"revision": 0}, {"revision": "newest"}, {"revision": 2**40}, {"revision": None}, []])
def test_a_question_that_names_no_revision_is_refused(
    api_as: Callable[[str], APIClient], old: str, body: object
) -> None:
    assert api_as("viewer").post(API_ADDRESS, body, format="json").status_code == 400
