"""Scenarios over REST: made, revised, copied, exchanged as a file, and guarded against lost updates."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.playground.scenarios import selectors, services, uploads
from kschedweb.playground.scenarios.models import Scenario
from tests.support.scenarios import EMPTY, MIB, NODES

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
BASE = "/api/v1/scenarios/"


@pytest.fixture
def client(api_as: Callable[[str], APIClient]) -> APIClient:
    return api_as("editor")


@pytest.fixture
def empty(editor: User) -> Scenario:
    return selectors.scenario_get(editor, services.scenario_create(text=EMPTY, author=editor).pk)


def scenario_address(scenario: Scenario, suffix: str = "") -> str:
    return f"{BASE}{scenario.pk}/{suffix}"


def error_paths(answer: Any) -> list[str]:
    assert answer["Content-Type"] == "application/problem+json"
    return [problem["path"] for problem in answer.json()["errors"]]


def test_a_scenario_is_made_listed_and_read(client: APIClient) -> None:
    response = client.post(BASE, {"document": EMPTY, "shared": True})
    assert response.status_code == 201
    assert (response["ETag"], response["Location"]) == ('"1"', f"http://testserver{BASE}{response.json()['id']}/")
    assert (response.json()["name"], response.json()["shared"], response.json()["created_by"]) == (
        "Nothing at all",
        True,
        "editor",
    )
    scenarios = client.get(BASE).json()["results"]
    assert [scenario["id"] for scenario in scenarios] == [response.json()["id"]]
    assert client.get(f"{BASE}?search=everything").json()["results"] == []


def test_a_document_with_errors_is_refused_with_their_places(client: APIClient) -> None:
    wrong = client.post(BASE, {"document": EMPTY + "changes:\n  - drainNodes: {}\n"})
    assert wrong.status_code == 422
    assert error_paths(wrong) == ["changes[0].drainNodes"]
    assert wrong.json()["errors"][0]["line"] == 8
    assert not Scenario.objects.exists()


def test_validation_saves_nothing(client: APIClient) -> None:
    good = client.post(f"{BASE}validate/", {"document": EMPTY}).json()
    assert good == {"valid": True, "errors": [], "warnings": []}
    bad = client.post(f"{BASE}validate/", {"document": "name: a\nspeed: 1\n"}).json()
    assert not bad["valid"]
    assert (bad["errors"][0]["path"], bad["errors"][0]["line"]) == ("speed", 2)
    assert not Scenario.objects.exists()


@pytest.mark.parametrize("number", ["1" + ":00" * 200_000, "1" + ":00" * 200_000 + ".5", "9" * 5_000])
def test_a_hostile_number_is_answered_like_any_other_text(
    api_as: Callable[[str], APIClient], client_as: Callable[[str], Client], empty: Scenario, number: str
) -> None:
    """A number of base 60 is text, as in a policy; reading it as one takes time by the square of its length."""
    text = f"{EMPTY}changes:\n  - addNodes: {{like: a, count: {number}}}\n"
    verdict = api_as("viewer").post(f"{BASE}validate/", {"document": text}).json()
    (error,) = verdict["errors"]
    assert (error["path"], error["line"]) == ("changes[0].addNodes.count", EMPTY.count("\n") + 2)
    assert error["message"] == "must be a whole number, is a string"
    page = client_as("editor").post(f"/scenarios/{empty.pk}/edit/preview/", {"document": text})
    assert page.status_code == 200
    assert "must be a whole number, is a string" in page.content.decode()


def test_a_revision_is_saved_where_nobody_was_faster(client: APIClient, empty: Scenario) -> None:
    body = {"document": EMPTY + "# more\n", "comment": "why"}
    assert client.post(scenario_address(empty, "revisions/"), body).status_code == 428
    response = client.post(scenario_address(empty, "revisions/"), body, headers={"If-Match": '"1"'})
    assert (response.status_code, response["ETag"], response.json()["comment"]) == (201, '"2"', "why")
    conflict = client.post(scenario_address(empty, "revisions/"), {"document": EMPTY}, headers={"If-Match": '"1"'})
    assert conflict.status_code == 412
    same = client.post(scenario_address(empty, "revisions/"), body, headers={"If-Match": '"2"'})
    assert (same.status_code, same.json()["number"]) == (200, 2)
    numbers = [row["number"] for row in client.get(scenario_address(empty, "revisions/")).json()["results"]]
    assert numbers == [2, 1]
    assert client.get(scenario_address(empty, "revisions/1/")).json()["document"] == EMPTY
    assert "+# more" in client.get(scenario_address(empty, "diff/")).json()["patch"]


def test_a_revision_is_restored(client: APIClient, empty: Scenario, editor: User) -> None:
    services.scenario_save(scenario=empty, text=EMPTY + "# two\n", author=editor, expected=1)
    response = client.post(scenario_address(empty, "revisions/1/restore/"), headers={"If-Match": '"2"'})
    assert (response.status_code, response.json()["document"]) == (201, EMPTY)


def test_a_scenario_is_renamed_shared_copied_and_deleted(client: APIClient, empty: Scenario) -> None:
    assert client.patch(scenario_address(empty), {"name": "Emptiness"}).status_code == 428
    response = client.patch(scenario_address(empty), {"name": "Emptiness", "shared": True}, headers={"If-Match": '"1"'})
    assert (response.json()["name"], response.json()["shared"], response.json()["revision"]) == ("Emptiness", True, 2)
    copy = client.post(scenario_address(empty, "copy/"), {"name": "Mine"})
    assert (copy.status_code, copy.json()["name"]) == (201, "Mine")
    assert client.delete(scenario_address(empty)).status_code == 204
    assert [item.name for item in Scenario.objects.all()] == ["Mine"]


def test_what_is_not_shared_does_not_exist_for_others(
    api_as: Callable[[str], APIClient], client: APIClient, empty: Scenario
) -> None:
    viewer = api_as("viewer")
    assert viewer.get(scenario_address(empty)).status_code == 404
    assert viewer.get(scenario_address(empty, "revisions/1/export/")).status_code == 404
    client.patch(scenario_address(empty), {"shared": True})
    assert viewer.get(scenario_address(empty)).status_code == 200
    assert viewer.patch(scenario_address(empty), {"shared": False}).status_code == 403


def test_an_export_is_imported(client: APIClient, empty: Scenario, editor: User) -> None:
    services.file_add(scenario=empty, upload=uploads.read_upload("nodes.csv", NODES.encode(), limit=MIB), author=editor)
    export = client.get(scenario_address(empty, "revisions/1/export/"))
    assert export["Content-Type"] == "application/gzip"
    response = client.post(f"{BASE}import/", export.content, content_type="application/gzip")
    assert (response.status_code, response.json()["name"], response.json()["remarks"]) == (201, "Nothing at all 2", [])
    files = client.get(f"{BASE}{response.json()['id']}/files/").json()["results"]
    assert [file["name"] for file in files] == ["nodes.csv"]


def test_an_imported_scenario_is_kept_with_what_an_api_server_would_refuse(client: APIClient) -> None:
    text = EMPTY + "objects:\n  - {kind: Pod, metadata: {name: A}, spec: {containers: [{name: c}]}}\n"
    response = client.generic("POST", f"{BASE}import/", text, content_type="application/yaml")
    line = text.count("\n")
    (remark,) = response.json()["remarks"]
    assert remark.startswith(
        f'line {line}: Pod "A" is invalid: metadata.name: Invalid value: "A": a lowercase RFC 1123'
    )


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/gzip", 400),
        (b"", "application/json", 400),
        (b"", "application/x-www-form-urlencoded", 400),
        (b"kind: Other\n", "application/yaml", 400),
        (b"\x1f\x8bnot really", "application/gzip", 400),
        (gzip.compress(b" " * (1 << 20)) * 200, "application/gzip", 413),
    ],
)
def test_what_is_no_scenario_is_refused(client: APIClient, body: bytes, kind: str, status: int) -> None:
    rejection = client.post(f"{BASE}import/", body, content_type=kind)
    assert rejection.status_code == status, rejection.content
    assert error_paths(rejection) == ["file"]
    assert not Scenario.objects.exists()


def test_a_file_is_kept_told_of_and_deleted(client: APIClient, empty: Scenario) -> None:
    files_address = f"{scenario_address(empty, 'files/')}?name=nodes.csv"
    response = client.post(files_address, NODES, content_type="text/csv")
    assert (response.status_code, response.json()["kind"], response.json()["lines"]) == (201, "openb-nodes", 2)
    assert response["Location"].endswith(scenario_address(empty, "files/nodes.csv/"))
    assert client.post(files_address, NODES, content_type="text/csv").status_code == 201
    assert client.post(files_address, NODES.replace("64000", "1000"), content_type="text/csv").status_code == 409
    assert client.post(files_address, b"", content_type="text/csv").status_code == 400
    assert client.delete(scenario_address(empty, "files/nodes.csv/")).status_code == 204
    assert client.get(scenario_address(empty, "files/nodes.csv/")).status_code == 404


def test_a_command_with_a_key_is_done_once(client: APIClient) -> None:
    headers = {"Idempotency-Key": "import-once"}
    first = client.post(f"{BASE}import/", EMPTY.encode(), content_type="application/yaml", headers=headers)
    second = client.post(f"{BASE}import/", EMPTY.encode(), content_type="application/yaml", headers=headers)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] == second.json()["id"]
    assert Scenario.objects.count() == 1
