"""Webhooks: what is sent, how it is signed, how often it is tried; against a receiver that listens on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.connecting.credentials import canary_check, keys_rotate
from kschedweb.live.approvals import services
from kschedweb.live.approvals.models import ApprovalRequest, Delivered, Delivery, Endpoint, EndpointSecret
from kschedweb.live.approvals.webhooks import messages
from kschedweb.live.approvals.webhooks import services as webhooks
from kschedweb.live.approvals.webhooks.messages import send_message
from kschedweb.web.errors import ApplicationError
from tests.support.receiver import Receiver, listening, signature

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

    from kschedweb.accounts.models import User

HoldPod = Callable[..., ApprovalRequest]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOW_INSECURE = ["127.0.0.1"], True
    with listening() as server:
        yield server


@pytest.fixture
def endpoint(receiver: Receiver, admin: User) -> tuple[Endpoint, str]:
    """One that is told everything, and its secret."""
    return webhooks.endpoint_save(user=admin, name="chat", url=receiver.url, events=list(webhooks.EVENTS))


def run_due() -> None:
    for pk in webhooks.list_due(now=timezone.now()):
        webhooks.delivery_try(pk)


def test_a_request_is_told_with_a_signature_that_the_receiver_can_check(
    hold_pod: HoldPod, receiver: Receiver, endpoint: tuple[Endpoint, str], settings: Settings
) -> None:
    settings.SITE_URL = "https://kschedweb.example.com"
    row = hold_pod()
    run_due()
    ((headers, body),) = receiver.got
    assert headers["webhook-signature"] == signature(endpoint[1], headers, body)
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    message = json.loads(body)
    assert message["type"] == "request.opened"
    assert (message["data"]["pod"], message["data"]["node"], message["data"]["state"]) == ("web-1", "node-1", "waiting")
    assert message["data"]["links"]["approve"] == f"https://kschedweb.example.com/api/v1/approvals/{row.pk}/approve/"
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.status, delivery.attempts) == (Delivered.DELIVERED, 204, 1)


def test_the_signature_is_that_of_the_specifications_example() -> None:
    """From the example that Standard Webhooks publishes with its libraries."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", '{"test": 2432232314}'
    signature = messages.sign_message(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_each_thing_is_told_once_to_those_who_want_to_know(
    hold_pod: HoldPod, receiver: Receiver, endpoint: tuple[Endpoint, str], approver: User, admin: User
) -> None:
    webhooks.endpoint_save(user=admin, name="expiries", url=receiver.url, events=["request.expired"])
    webhooks.endpoint_save(user=admin, name="off", url=receiver.url, events=list(webhooks.EVENTS), active=False)
    row, late = hold_pod("a"), hold_pod("b")
    services.request_decide(user=approver, request_id=row.pk, verdict="deny", reason="no")
    ApprovalRequest.objects.filter(pk=late.pk).update(expires_at=timezone.now())
    services.requests_expire()
    services.requests_expire()
    run_due()
    events = sorted((json.loads(body)["type"], json.loads(body)["data"]["pod"]) for _, body in receiver.got)
    assert events == [
        ("request.decided", "a"),
        ("request.expired", "b"),
        ("request.expired", "b"),
        ("request.opened", "a"),
        ("request.opened", "b"),
    ]
    denied = next(json.loads(body)["data"] for _, body in receiver.got if "request.decided" in body)
    assert (denied["state"], denied["reason"], denied["decidedBy"]) == ("denied", "denied by approver: no", "approver")


def test_a_try_that_fails_is_repeated_later_and_later_with_the_same_id_and_then_given_up(
    hold_pod: HoldPod, receiver: Receiver, endpoint: tuple[Endpoint, str]
) -> None:
    receiver.status = 500
    hold_pod()
    now, pauses = timezone.now(), []
    while (row := Delivery.objects.get()).state == Delivered.PENDING:
        Delivery.objects.update(next_at=now)
        assert not webhooks.delivery_try(row.pk)
        row.refresh_from_db()
        pauses.append((row.next_at - timezone.now()).total_seconds() if row.next_at else None)
    assert len(pauses) == len(webhooks.PAUSES) + 1 == len(receiver.got)
    for pause, planned in zip(pauses, webhooks.PAUSES, strict=False):
        assert pause is not None
        assert planned - 5 <= pause <= 1.2 * planned
    assert (row.state, row.error) == (Delivered.FAILED, "It answered 500.")
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1


def test_two_who_try_at_once_send_one_message(
    hold_pod: HoldPod, receiver: Receiver, endpoint: tuple[Endpoint, str]
) -> None:
    hold_pod()
    row = Delivery.objects.get()
    first = webhooks.delivery_claim(delivery_id=row.pk, now=timezone.now())
    assert first is not None
    assert webhooks.delivery_claim(delivery_id=row.pk, now=timezone.now()) is None
    assert webhooks.delivery_try(row.pk) is False
    # The one that claimed it died: a minute later it is due again.
    assert webhooks.list_due(now=timezone.now()) == []
    assert webhooks.list_due(now=timezone.now() + timedelta(seconds=61)) == [str(row.pk)]


def test_an_endpoint_that_is_gone_is_switched_off(
    hold_pod: HoldPod, receiver: Receiver, endpoint: tuple[Endpoint, str]
) -> None:
    receiver.status = 410
    hold_pod()
    run_due()
    row = Endpoint.objects.get()
    assert (row.active, row.problem) == (False, "It answered 410 Gone, so it was switched off.")
    assert AuditEntry.objects.filter(verb="webhook.switched-off").exists()


def test_nobody_is_sent_elsewhere(receiver: Receiver) -> None:
    receiver.status = 302
    outcome = send_message(url=receiver.url, secret=messages.new_secret(), message_id="m", body="{}")
    assert (outcome.status, outcome.error) == (302, "It answered 302 and sends elsewhere, which is not followed.")
    assert len(receiver.got) == 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/x", "must be an https"),
        ("https://169.254.169.254/latest", "no request may go to"),
        ("https://10.9.9.9/x", "not among the addresses"),
        ("https://user:secret@192.0.2.1/x", "user name or a password"),
        ("not an address", "characters that an address cannot have"),
    ],
)
def test_an_address_that_the_operator_does_not_allow_is_refused_beside_its_field(
    settings: Settings, admin: User, url: str, words: str
) -> None:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOW_INSECURE = ["192.0.2.0/24"], False
    with pytest.raises(ApplicationError, match=words) as caught:
        webhooks.endpoint_save(user=admin, name="x", url=url, events=["request.opened"])
    assert [error["path"] for error in caught.value.errors] == ["url"]
    assert not Endpoint.objects.exists()


def test_what_is_no_longer_allowed_is_not_sent_to(settings: Settings, receiver: Receiver) -> None:
    settings.CLUSTER_ALLOWLIST = ["192.0.2.0/24"]
    outcome = send_message(url=receiver.url, secret=messages.new_secret(), message_id="m", body="{}")
    assert outcome.status is None
    assert outcome.error
    assert not receiver.got


def test_who_does_not_answer_is_said_to_be_out_of_reach(receiver: Receiver) -> None:
    url = receiver.url
    receiver.shutdown()
    receiver.server_close()
    assert (
        send_message(url=url, secret=messages.new_secret(), message_id="m", body="{}").error == "It cannot be reached."
    )


def test_the_secret_is_sealed_shown_once_and_rotated_with_the_keys(
    endpoint: tuple[Endpoint, str], client_as: Callable[[str], Client], settings: Settings, admin: User
) -> None:
    row, secret = endpoint
    sealed = EndpointSecret.objects.get()
    assert secret.encode() not in bytes(sealed.ciphertext)
    assert secret not in client_as("admin").get(f"/approvals/webhooks/{row.pk}/").content.decode()
    assert not [entry for entry in AuditEntry.objects.all() if secret in str(entry.details)]
    settings.ENCRYPTION_KEYS = ["n" * 40, *settings.ENCRYPTION_KEYS]
    assert keys_rotate() == (1, [])
    assert webhooks.secret_of(row) == secret
    assert webhooks.secret_renew(user=admin, endpoint=row) != secret
    settings.ENCRYPTION_KEYS = ["o" * 40]
    assert canary_check() == ["chat"]


def test_a_test_is_sent_from_the_page_also_to_one_that_is_off(
    endpoint: tuple[Endpoint, str],
    receiver: Receiver,
    client_as: Callable[[str], Client],
    admin: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    row = endpoint[0]
    Endpoint.objects.update(active=False)
    client = client_as("admin")
    with django_capture_on_commit_callbacks() as callbacks:
        client.post(f"/approvals/webhooks/{row.pk}/test/")
    assert len(callbacks) == 1  # the message goes to the broker once the row is there
    assert webhooks.list_due(now=timezone.now())
    run_due()
    assert json.loads(receiver.got[0][1])["type"] == "test"
    page_text = " ".join(client.get(f"/approvals/webhooks/{row.pk}/").content.decode().split())
    assert "Delivered" in page_text
    assert webhooks.list_due(now=timezone.now()) == []


@pytest.mark.parametrize("role", ["viewer", "editor", "approver"])
def test_webhooks_are_for_admins(endpoint: tuple[Endpoint, str], client_as: Callable[[str], Client], role: str) -> None:
    for page in ("", "new/", f"{endpoint[0].pk}/"):
        assert client_as(role).get(f"/approvals/webhooks/{page}").status_code == 403
