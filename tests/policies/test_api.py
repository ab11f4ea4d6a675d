"""Policies over REST: resources, lost updates, verdicts, roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from pytest_django import Settings
    from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db
POLICIES = "/api/v1/policies/"
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def api(api_as: Callable[[str], APIClient]) -> APIClient:
    return api_as("editor")


def save_revision(api: APIClient, document: str, match: str = "*", **fields: Any) -> Any:
    body = {"document": document, **fields}
    return api.post(f"{POLICIES}default/revisions/", body, headers={"If-Match": match} if match else {})


def test_the_list_and_one_policy_say_the_newest_revision(api: APIClient) -> None:
    (policy,) = api.get(POLICIES).json()["results"]
    assert (policy["name"], policy["revision"]) == ("default", 1)
    answer = api.get(f"{POLICIES}default/")
    assert answer.headers["ETag"] == '"1"'
    assert answer.json() == policy
    assert api.get(POLICIES, {"search": "nothing"}).json()["results"] == []


def test_a_policy_is_made_from_text_from_a_copy_and_from_nothing(api: APIClient) -> None:
    answer = api.post(POLICIES, {"name": "mine", "document": HEADER + "# mine\n", "comment": "why"})
    assert answer.status_code == 201
    assert answer.headers["Location"].endswith("/api/v1/policies/mine/")
    assert api.post(POLICIES, {"name": "copy", "copy_of": "mine"}).status_code == 201
    assert api.get(f"{POLICIES}copy/revisions/1/").json()["document"] == HEADER + "# mine\n"
    assert api.post(POLICIES, {"name": "plain"}).status_code == 201
    assert "default-scheduler" in api.get(f"{POLICIES}plain/revisions/1/").json()["document"]


@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        ({"name": "default"}, 409, "name"),
        ({"name": "Not a name"}, 400, "name"),
        ({"name": "validate"}, 400, "name"),
        ({"name": "x", "document": "a: ["}, 422, ""),
        ({"name": "x", "document": HEADER, "copy_of": "default"}, 400, "copy_of"),
        ({"name": "x", "copy_of": "nobody"}, 404, None),
        ({}, 400, "name"),
    ],
)
def test_what_cannot_be_made_is_told_where(api: APIClient, body: dict[str, str], status: int, path: str | None) -> None:
    answer = api.post(POLICIES, body)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert [error["path"] for error in answer.json()["errors"]] == ([] if path is None else [path])
    assert len(api.get(POLICIES).json()["results"]) == 1


@pytest.mark.parametrize("number", ["1" + ":00" * 200_000, "1" + ":00" * 200_000 + ".5", "9" * 5_000])
def test_a_hostile_number_is_answered_like_any_other_text(
    api_as: Callable[[str], APIClient], client_as: Callable[[str], Client], number: str
) -> None:
    """A number of base 60 is text to kube-scheduler; reading it as one takes time by the square of its length."""
    text = f"{HEADER}percentageOfNodesToScore: {number}\n"
    verdict = api_as("viewer").post(f"{POLICIES}validate/", {"document": text}).json()
    (error,) = verdict["errors"]
    assert (error["path"], error["line"]) == ("percentageOfNodesToScore", 3)
    page = client_as("editor").post("/policies/new/", {"name": "hostile", "document": text})
    assert page.status_code == 422
    assert [(item["path"], item["line"]) for item in page.context["problems"]] == [(error["path"], error["line"])]


def test_a_revision_needs_to_know_what_it_replaces(api: APIClient) -> None:
    assert save_revision(api, HEADER, match="").status_code == 428
    answer = save_revision(api, HEADER, match='"1"', comment="shorter")
    assert answer.status_code == 201
    assert answer.headers["ETag"] == '"2"'
    assert save_revision(api, HEADER + "# late\n", match='"1"').status_code == 412
    assert save_revision(api, HEADER + "# late\n", match="nonsense").status_code == 400
    assert save_revision(api, HEADER, match='"2"').status_code == 200
    numbers = [revision["number"] for revision in api.get(f"{POLICIES}default/revisions/").json()["results"]]
    assert numbers == [2, 1]


def test_the_document_comes_as_the_file_that_kube_scheduler_takes(api: APIClient) -> None:
    text = HEADER + "clientConnection: # ours\n  kubeconfig: /etc/kubernetes/scheduler.conf\n"
    save_revision(api, text)
    answer = api.get(f"{POLICIES}default/revisions/2/document")
    assert answer.content.decode() == text
    assert answer.headers["Content-Type"].startswith("application/yaml")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="default-2.yaml"'


def test_a_document_with_warnings_is_saved_once_they_are_accepted(api: APIClient) -> None:
    plugins = "plugins: {multiPoint: {enabled: [{name: NodeResourcesFit, weight: -3}]}}"
    text = f"{HEADER}profiles:\n- {plugins}\n"
    answer = save_revision(api, text, match='"1"')
    assert answer.status_code == 422
    (warning,) = answer.json()["errors"]
    assert (warning["path"], warning["line"]) == ("profiles[0].plugins.multiPoint.enabled[0].weight", 4)
    assert "accept_warnings" in answer.json()["detail"]
    assert save_revision(api, text, match='"1"', accept_warnings=True).status_code == 201
    assert save_revision(api, f"{text}# more\n", match='"2"').status_code == 201  # revision 2 has that warning already


def test_an_invalid_document_is_refused_with_line_and_column(api: APIClient) -> None:
    answer = save_revision(api, HEADER + "percentageOfNodesToScore: 101\n")
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["path"], error["line"], error["column"]) == ("percentageOfNodesToScore", 3, 27)
    assert "not in valid range [0-100]" in error["message"]


def test_restoring_is_a_new_revision(api: APIClient) -> None:
    before = api.get(f"{POLICIES}default/revisions/1/").json()["document"]
    save_revision(api, HEADER)
    url = f"{POLICIES}default/revisions/1/restore/"
    assert api.post(url, headers={"If-Match": '"1"'}).status_code == 412
    answer = api.post(url, headers={"If-Match": '"2"'})
    assert answer.status_code == 201
    assert (answer.json()["number"], answer.json()["document"]) == (3, before)


def test_a_diff_says_what_changes(api: APIClient) -> None:
    args = "args:\n      scoringStrategy:\n        type: MostAllocated\n"
    fit = f"profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    {args}"
    save_revision(api, HEADER + fit)
    body = api.get(f"{POLICIES}default/diff/").json()
    assert body["changes"] == [
        {"where": "default-scheduler", "what": "NodeResourcesFit", "before": "LeastAllocated", "after": "MostAllocated"}
    ]
    assert "+        type: MostAllocated" in body["patch"]
    assert api.get(f"{POLICIES}default/diff/", {"from": "2", "to": "2"}).json()["changes"] == []
    assert api.get(f"{POLICIES}default/diff/", {"from": "x"}).status_code == 400
    assert api.get(f"{POLICIES}default/diff/", {"from": "7"}).status_code == 404


def test_a_document_is_judged_without_being_saved(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("viewer")
    good = api.post(f"{POLICIES}validate/", {"document": HEADER}).json()
    assert good["valid"]
    assert good["defaulted"]["parallelism"] == 16
    (profile,) = good["effective"]
    assert profile["points"]["score"][0] == {"name": "TaintToleration", "weight": 3}
    assert profile["args"]["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"
    bad = api.post(f"{POLICIES}validate/", {"document": HEADER + "nope: 1\n"}).json()
    assert (bad["valid"], bad["defaulted"], bad["effective"]) == (False, None, None)
    assert [(error["path"], error["line"]) for error in bad["errors"]] == [("nope", 3)]


def test_description_and_deletion(api: APIClient) -> None:
    api.post(POLICIES, {"name": "mine"})
    assert api.patch(f"{POLICIES}mine/", {"description": "Packs."}).json()["description"] == "Packs."
    assert api.delete(f"{POLICIES}mine/").status_code == 204
    assert api.get(f"{POLICIES}mine/").status_code == 404
    assert api.delete(f"{POLICIES}default/").status_code == 409


def test_who_may_only_read_changes_nothing(api_as: Callable[[str], APIClient]) -> None:
    api = api_as("viewer")
    assert api.get(POLICIES).status_code == 200
    assert api.post(POLICIES, {"name": "mine"}).status_code == 403
    assert save_revision(api, HEADER).status_code == 403
    assert api.patch(f"{POLICIES}default/", {"description": "x"}).status_code == 403
    assert api.delete(f"{POLICIES}default/").status_code == 403
    assert api.post(f"{POLICIES}default/revisions/1/restore/").status_code == 403


def test_an_extender_that_no_live_scheduler_may_ask_is_noted_and_saved_all_the_same(
    api: APIClient, client_as: Callable[[str], Client], settings: Settings
) -> None:
    settings.EXTENDER_ALLOWLIST = ["10.9.0.0/16"]
    asking = HEADER + "extenders: [{urlPrefix: 'https://10.8.0.1/gate', filterVerb: filter}]\n"
    answer = save_revision(api, asking)
    assert answer.status_code == 201
    (note,) = answer.json()["notes"]
    assert note["path"] == "extenders[0].urlPrefix"
    assert note["message"].startswith("10.8.0.1 is ")
    verdict = api.post(f"{POLICIES}validate/", {"document": asking}).json()
    assert (verdict["valid"], verdict["notes"]) == (True, [note])
    page = client_as("viewer").get("/policies/default/").content.decode()
    assert "It can be saved, but no live scheduler can run it:" in page
    settings.EXTENDER_ALLOWLIST = ["10.8.0.1"]
    assert api.post(f"{POLICIES}validate/", {"document": asking}).json()["notes"] == []
    assert "no live scheduler can run it" not in client_as("viewer").get("/policies/default/").content.decode()
