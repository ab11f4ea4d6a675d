"""The configurations that the articles print, over REST, on the pages and from revision to revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from kschedweb.engine.releases import load
from kschedweb.policies import selectors, services
from kschedweb.policies.dialects import check_either
from kschedweb.policies.models import Policy
from kschedweb.policies.validation import check_profiles
from tests.support.formfields import fields as form_fields
from tests.support.html import elements
from tests.support.printed import GROUP, PERCENTAGE, PRINTED, WATER_LEVEL, Printed, of_today

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
BROKEN = f"apiVersion: {GROUP}/v1beta2\nkind: KubeSchedulerConfiguration\n\nparallelism: 0\n"


def fields(answer: Any) -> dict[str, str]:
    found = form_fields(answer.content.decode(), "policy-form")
    return found | {"document": found["document"].replace("\r\n", "\n")}


def holds_both(policy: Policy, one: Printed, first: int = 1) -> None:
    """Revision ``first`` is what was given, and the next one the same in v1, with the notes."""
    given, made = (selectors.revision_get(policy, first + step) for step in (0, 1))
    assert given.document == one.text
    assert made.comment == f"Converted from {one.document['apiVersion']}, revision {first}"
    assert load(made.document).conversion is None
    assert load(made.document).configuration == load(of_today(one)).configuration
    assert made.document.startswith(f"# {one.document['apiVersion']} became v1")
    assert selectors.revision_changes(given, made) == []
    assert selectors.policy_get(policy.name).newest == first + 1


@pytest.mark.parametrize("one", PRINTED, ids=lambda one: one.name)
def test_the_page_of_a_new_policy_takes_it(one: Printed, client: Client, editor: User) -> None:
    client.force_login(editor)
    answer = client.post("/policies/new/", {"name": "printed", "document": one.text}, follow=True)
    assert answer.status_code == 200
    assert "revision 2 is what it becomes in v1" in answer.content.decode()
    holds_both(selectors.policy_get("printed"), one)


@pytest.mark.parametrize("one", PRINTED, ids=lambda one: one.name)
def test_the_editor_takes_it(one: Printed, client: Client, editor: User) -> None:
    policy = services.policy_create(name="mine", document=services.DEFAULT_DOCUMENT, author=editor)
    client.force_login(editor)
    sent = fields(client.get("/policies/mine/")) | {"document": one.text}
    assert "becomes v1" in client.post(reverse("policy-preview", args=["mine"]), sent).content.decode()
    asked = client.post("/policies/mine/", sent | {"save": "1"})  # that it becomes v1 is a warning
    accepted = [element["value"] for element in elements(asked, "input[name=accepted_warnings]")]
    answer = client.post("/policies/mine/", sent | {"save": "1", "accepted_warnings": accepted}, follow=True)
    assert answer.status_code == 200
    holds_both(policy, one, 2)
    assert client.get("/policies/mine/?revision=2").status_code == 200
    assert client.get("/policies/mine/effective/?revision=2").status_code == 200
    assert client.get("/policies/mine/diff/?from=2&to=3").status_code == 200


@pytest.mark.parametrize("one", PRINTED, ids=lambda one: one.name)
def test_rest_takes_it(one: Printed, api_as: Callable[[str], APIClient]) -> None:
    editor_api = api_as("editor")
    verdict = editor_api.post("/api/v1/policies/validate/", {"document": one.text}, format="json").json()
    assert verdict["valid"]
    assert verdict["defaulted"] == load(of_today(one)).defaulted
    assert verdict["warnings"][0]["path"] == "apiVersion"
    made = editor_api.post("/api/v1/policies/", {"name": "printed", "document": one.text}, format="json")
    assert made.status_code == 201
    assert made["ETag"] == '"2"'
    holds_both(selectors.policy_get("printed"), one)


def test_restoring_the_old_document_converts_it_again(editor: User) -> None:
    policy = services.policy_create(name="printed", document=WATER_LEVEL, author=editor)
    made = services.revision_restore(policy=policy, number=1, expected=2, author=editor)
    assert made.number == 4
    assert selectors.revision_get(policy, 3).document == WATER_LEVEL


def test_a_problem_stands_at_its_line(editor: User) -> None:
    (problem,) = check_profiles(BROKEN).errors
    assert (problem.line, problem.path) == (4, "parallelism")
    with pytest.raises(services.InvalidPolicyDocument):
        services.policy_create(name="broken", document=BROKEN, author=editor)
    assert not Policy.objects.filter(name="broken").exists()


def test_a_private_key_is_found_in_whatever_letters() -> None:
    text = f"""\
apiVersion: {GROUP}/v1alpha2
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: https://x
  TLSCONFIG: {{keyData: aGk=}}
"""
    assert [problem.path for problem in check_either(text).secrets] == ["extenders[0].tlsConfig.keyData"]


@pytest.mark.parametrize("document", [PERCENTAGE, WATER_LEVEL])
def test_the_form_shows_and_changes_what_it_becomes(document: str, client: Client, editor: User) -> None:
    services.policy_create(name="mine", document=document, author=editor)
    client.force_login(editor)
    page = "/policies/mine/"
    sent = fields(client.get(page)) | {"document": document}
    pasted = fields(client.post(page, sent))
    assert pasted["document"] == document
    again = fields(client.post(page, pasted))
    assert again["document"] == document
    changed = fields(client.post(page, again | {"general.parallelism": "5"}))
    assert "parallelism: 5" in changed["document"]
    assert f"apiVersion: {GROUP}/v1\n" in changed["document"]
    assert load(changed["document"]).valid
    back = fields(client.post(page, changed | {"document": document}))
    assert back["document"] == document
    typed = fields(client.post(page, again | {"document": services.DEFAULT_DOCUMENT}))
    assert typed["document"] == services.DEFAULT_DOCUMENT
