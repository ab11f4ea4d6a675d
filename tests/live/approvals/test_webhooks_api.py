"""REST of webhooks: only admins, the secret once, and the same rules as on the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.connecting.credentials import text_open
from kschedweb.live.approvals.models import Delivered, Endpoint, EndpointSecret
from kschedweb.live.approvals.webhooks import services as webhooks

if TYPE_CHECKING:
    from pytest_django import Settings
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

URL = "/api/v1/webhooks/"
CHAT = "https://192.0.2.9/hooks/approvals"  # of no machine
Api = Callable[[str], "APIClient"]


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["192.0.2.9"]


@pytest.fixture
def endpoint(db: None, admin: User) -> Endpoint:
    return webhooks.endpoint_save(user=admin, name="chat", url=CHAT, events=list(webhooks.EVENTS))[0]


def test_the_secret_is_shown_when_it_is_made_and_never_again(api_as: Api) -> None:
    api = api_as("admin")
    created = api.post(URL, {"name": "chat", "url": CHAT}, format="json", headers={"Idempotency-Key": "one"})
    assert created.status_code == 201, created.json()
    webhook = created.json()
    assert text_open(EndpointSecret.objects.get(pk=webhook["id"])) == webhook["secret"]
    assert (webhook["events"], webhook["active"]) == (["request.opened", "request.decided", "request.expired"], True)
    listed_text = str(api.get(URL).json()) + str(api.get(f"{URL}{webhook['id']}/").json())
    assert webhook["secret"] not in listed_text
    assert "chat" in listed_text
    repeated = api.post(URL, {"name": "chat", "url": CHAT}, format="json", headers={"Idempotency-Key": "one"})
    assert repeated.status_code == 409, "answers with secrets are not kept, so a repeated call is a new one"

    renewed = api.post(f"{URL}{webhook['id']}/secret/")
    assert renewed.status_code == 201
    assert renewed.json()["secret"] == text_open(EndpointSecret.objects.get(pk=webhook["id"])) != webhook["secret"]
    verbs = AuditEntry.objects.filter(verb__startswith="webhook.").values_list("verb", flat=True)
    assert sorted(verbs) == ["webhook.created", "webhook.secret-renewed"]


def test_an_address_over_http_is_refused_for_what_it_is(api_as: Api) -> None:
    answer = api_as("admin").post(URL, {"name": "chat", "url": CHAT.replace("https", "http")}, format="json")
    assert answer.status_code == 400
    message = "The server must be an https:// address: over http what the messages say could be read on the way."
    assert answer.json()["errors"] == [{"path": "url", "message": message}]


def test_what_is_not_given_stays(api_as: Api, endpoint: Endpoint) -> None:
    api = api_as("admin")
    changed = api.patch(f"{URL}{endpoint.pk}/", {"events": ["request.opened"]}, format="json")
    assert changed.status_code == 200
    assert changed.json() | {"created_at": ""} == {
        "id": str(endpoint.pk), "name": "chat", "url": CHAT, "events": ["request.opened"], "format": "standard",
        "active": True, "problem": "", "created_at": "",
    }  # fmt: skip
    assert api.patch(f"{URL}{endpoint.pk}/", {"active": False}, format="json").json()["active"] is False
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.url, endpoint.events, endpoint.active) == ("chat", CHAT, ["request.opened"], False)
    assert api.delete(f"{URL}{endpoint.pk}/").status_code == 204
    assert api.get(f"{URL}{endpoint.pk}/").status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        ({"url": CHAT}, 400, "name"),
        ({"name": "new", "url": "https://198.51.100.7/"}, 400, "url"),
        ({"name": "new", "url": "not an address"}, 400, "url"),
        ({"name": "new", "url": CHAT, "events": []}, 400, "events"),
        ({"name": "new", "url": CHAT, "events": ["everything"]}, 400, "events"),
        ({"name": "chat", "url": CHAT}, 409, "name"),
    ],
)
def test_what_is_wrong_is_told_beside_the_field(
    api_as: Api, endpoint: Endpoint, body: dict[str, Any], status: int, path: str
) -> None:
    answer = api_as("admin").post(URL, body, format="json")
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["errors"][0]["path"].startswith(path)


def test_a_test_is_a_delivery_that_is_listed(api_as: Api, endpoint: Endpoint) -> None:
    api = api_as("admin")
    response = api.post(f"{URL}{endpoint.pk}/test/", headers={"Idempotency-Key": "one"})
    replayed = api.post(f"{URL}{endpoint.pk}/test/", headers={"Idempotency-Key": "one"})
    assert (response.status_code, replayed.json()) == (202, response.json())
    (listed,) = api.get(f"{URL}{endpoint.pk}/deliveries/").json()["results"]
    assert (listed["id"], listed["event"], listed["approval"]) == (response.json()["id"], "test", None)
    assert listed["state"] in Delivered.values
    assert api.get(f"{URL}{endpoint.pk}/deliveries/?limit=1").status_code == 200


@pytest.mark.parametrize("role", ["viewer", "editor", "approver"])
def test_only_admins_see_where_messages_go(api_as: Api, endpoint: Endpoint, role: str) -> None:
    for address in (URL, f"{URL}{endpoint.pk}/", f"{URL}{endpoint.pk}/deliveries/"):
        assert api_as(role).get(address).status_code == 403
