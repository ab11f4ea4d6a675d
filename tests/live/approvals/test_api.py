"""REST: who waits, and deciding about them; as a chat tool does it with a token of scope approve."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from rest_framework.test import APIClient

from kschedweb.accounts import services as accounts
from kschedweb.live.approvals.models import ApprovalRequest

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

HoldPod = Callable[..., ApprovalRequest]
URL = "/api/v1/approvals/"


def test_the_list_is_filtered_and_tells_who_is_missing(hold_pod: HoldPod, api_as: Callable[[str], APIClient]) -> None:
    hold_pod("a", approvals=[{"role": "approver", "count": 2}])
    other = hold_pod("b", namespace="kube-system")
    rows = api_as("viewer").get(f"{URL}?state=waiting&namespace=default").json()["results"]
    assert [(row["name"], row["missing"], row["why"]) for row in rows] == [
        ("a", {"approver": 2}, ["it is in namespace default"])
    ]
    detail = api_as("viewer").get(f"{URL}{other.pk}/").json()
    assert detail["decision"]["top"][0]["node"] == "node-1"
    assert detail["ask"]["node"]["pods"] == [3, 110]


def test_a_chat_tool_approves_with_a_token_that_may_do_nothing_else(hold_pod: HoldPod, approver: User) -> None:
    row = hold_pod()
    _, key = accounts.token_create(user=approver, name="chat", scope="approve", days=1)
    client = APIClient(headers={"Authorization": f"Bearer {key}", "Idempotency-Key": "message-1"})
    response = client.post(f"{URL}{row.pk}/approve/", {"reason": "seen"}, format="json")
    assert (response.status_code, response.json()["state"]) == (200, "approved")
    assert response.json()["votes"][0] | {"at": ""} == {
        "username": "approver", "role": "approver", "verdict": "approve", "reason": "seen", "at": ""
    }  # fmt: skip
    replayed = client.post(f"{URL}{row.pk}/approve/", {"reason": "seen"}, format="json")
    assert (replayed.status_code, replayed["Idempotency-Replayed"]) == (200, "true")
    assert client.post("/api/v1/policies/", {}, format="json", headers={"Idempotency-Key": ""}).status_code == 403


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("editor", 403), ("approver", 403), ("admin", 200)])
def test_who_may_not_decide_is_told_so(
    hold_pod: HoldPod, api_as: Callable[[str], APIClient], role: str, status: int
) -> None:
    row = hold_pod(approvals=[{"role": "admin", "count": 1}])
    answer = api_as(role).post(f"{URL}{row.pk}/approve/", {})
    assert answer.status_code == status
    assert row.votes.count() == (0 if status == 403 else 1)


@pytest.mark.parametrize(
    ("body", "status", "path"), [({}, 400, "reason"), ({"reason": ""}, 400, "reason"), ({"reason": "no"}, 200, "")]
)
def test_a_denial_needs_a_reason(
    hold_pod: HoldPod, api_as: Callable[[str], APIClient], body: dict[str, Any], status: int, path: str
) -> None:
    answer = api_as("approver").post(f"{URL}{hold_pod().pk}/deny/", body)
    assert answer.status_code == status
    assert [error["path"] for error in answer.json().get("errors", [])] == ([path] if path else [])


def test_what_was_decided_is_a_conflict_and_what_is_not_there_not_found(
    hold_pod: HoldPod, api_as: Callable[[str], APIClient]
) -> None:
    row = hold_pod()
    client = api_as("approver")
    client.post(f"{URL}{row.pk}/deny/", {"reason": "no"})
    assert client.post(f"{URL}{row.pk}/approve/", {}).status_code == 409
    assert client.post(f"{URL}6f9f3a1c-0000-4000-8000-000000000000/approve/", {}).status_code == 404


def test_many_are_decided_at_once_and_each_outcome_is_told(
    hold_pod: HoldPod, api_as: Callable[[str], APIClient]
) -> None:
    rows = [hold_pod(name) for name in "abc"]
    held_by_admin = hold_pod("d", approvals=[{"role": "admin", "count": 1}])
    body = {"requests": [str(row.pk) for row in [*rows, held_by_admin]], "verdict": "approve"}
    outcomes = api_as("approver").post(f"{URL}decide/", body).json()["results"]
    assert [outcome["state"] for outcome in outcomes] == ["approved"] * 3 + ["waiting"]
    assert [bool(outcome["problem"]) for outcome in outcomes] == [False] * 3 + [True]
