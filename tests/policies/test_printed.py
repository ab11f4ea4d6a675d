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
BROKEN_CONFIGURATION = f"apiVersion: {GROUP}/v1beta2\nkind: KubeSchedulerConfiguration\n\nparallelism: 0\n"


def read_form(answer: Any) -> dict[str, str]:
    values = form_fields(answer.content.decode(), "policy-form")
    return values | {"document": values["document"].replace("\r\n", "\n")}


def holds_both(policy: Policy, manifest: Printed, first: int = 1) -> None:
    """Revision ``first`` is what was given, and the next one the same in v1, with the notes."""
    original, converted = (selectors.revision_get(policy, first + step) for step in (0, 1))
    assert original.document == manifest.text
    assert converted.comment == f"Converted from {manifest.document['apiVersion']}, revision {first}"
    assert load(converted.document).conversion is None
    assert load(converted.document).configuration == load(of_today(manifest)).configuration
    assert converted.document.startswith(f"# {manifest.document['apiVersion']} became v1")
    assert selectors.revision_changes(original, converted) == []
    assert selectors.policy_get(policy.name).newest == first + 1


@pytest.mark.parametrize("manifest", PRINTED, ids=lambda manifest: manifest.name)
def test_the_page_of_a_new_policy_takes_it(manifest: Printed, client: Client, editor: User) -> None:
    client.force_login(editor)
    answer = client.post("/policies/new/", {"name": "printed", "document": manifest.text}, follow=True)
    assert answer.status_code == 200
    assert "revision 2 is what it becomes in v1" in answer.content.decode()
    holds_both(selectors.policy_get("printed"), manifest)


@pytest.mark.parametrize("manifest", PRINTED, ids=lambda manifest: manifest.name)
def test_the_editor_takes_it(manifest: Printed, client: Client, editor: User) -> None:
    policy = services.policy_create(name="mine", document=services.DEFAULT_DOCUMENT, author=editor)
    client.force_login(editor)
    values = read_form(client.get("/policies/mine/")) | {"document": manifest.text}
    assert "becomes v1" in client.post(reverse("policy-preview", args=["mine"]), values).content.decode()
    warning_page = client.post("/policies/mine/", values | {"save": "1"})  # that it becomes v1 is a warning
    accepted_warnings = [element["value"] for element in elements(warning_page, "input[name=accepted_warnings]")]
    answer = client.post("/policies/mine/", values | {"save": "1", "accepted_warnings": accepted_warnings}, follow=True)
    assert answer.status_code == 200
    holds_both(policy, manifest, 2)
    assert client.get("/policies/mine/?revision=2").status_code == 200
    assert client.get("/policies/mine/effective/?revision=2").status_code == 200
    assert client.get("/policies/mine/diff/?from=2&to=3").status_code == 200


@pytest.mark.parametrize("manifest", PRINTED, ids=lambda manifest: manifest.name)
def test_rest_takes_it(manifest: Printed, api_as: Callable[[str], APIClient]) -> None:
    editor_api = api_as("editor")
    verdict = editor_api.post("/api/v1/policies/validate/", {"document": manifest.text}, format="json").json()
    assert verdict["valid"]
    assert verdict["defaulted"] == load(of_today(manifest)).defaulted
    assert verdict["warnings"][0]["path"] == "apiVersion"
    response = editor_api.post("/api/v1/policies/", {"name": "printed", "document": manifest.text}, format="json")
    assert response.status_code == 201
    assert response["ETag"] == '"2"'
    holds_both(selectors.policy_get("printed"), manifest)


def test_restoring_the_old_document_converts_it_again(editor: User) -> None:
    policy = services.policy_create(name="printed", document=WATER_LEVEL, author=editor)
    response = services.revision_restore(policy=policy, number=1, expected=2, author=editor)
    assert response.number == 4
    assert selectors.revision_get(policy, 3).document == WATER_LEVEL


def test_a_problem_stands_at_its_line(editor: User) -> None:
    (problem,) = check_profiles(BROKEN_CONFIGURATION).errors
    assert (problem.line, problem.path) == (4, "parallelism")
    with pytest.raises(services.InvalidPolicyDocument):
        services.policy_create(name="broken", document=BROKEN_CONFIGURATION, author=editor)
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
    values = read_form(client.get(page)) | {"document": document}
    pasted_values = read_form(client.post(page, values))
    assert pasted_values["document"] == document
    same_values = read_form(client.post(page, pasted_values))
    assert same_values["document"] == document
    changed_values = read_form(client.post(page, same_values | {"general.parallelism": "5"}))
    assert "parallelism: 5" in changed_values["document"]
    assert f"apiVersion: {GROUP}/v1\n" in changed_values["document"]
    assert load(changed_values["document"]).valid
    back = read_form(client.post(page, changed_values | {"document": document}))
    assert back["document"] == document
    typed_values = read_form(client.post(page, same_values | {"document": services.DEFAULT_DOCUMENT}))
    assert typed_values["document"] == services.DEFAULT_DOCUMENT
