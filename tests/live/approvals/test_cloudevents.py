"""Webhooks as CloudEvents, and what they tell of decisions and runs; against a receiver on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from kschedweb.engine.json_types import Json
from kschedweb.live.approvals.models import ApprovalRequest, Delivery, Endpoint
from kschedweb.live.approvals.webhooks import decision_messages
from kschedweb.live.approvals.webhooks import services as webhooks
from kschedweb.playground.runs import services as runs
from tests.live.approvals.conftest import scheduler_row
from tests.support import seed_live, seed_runs
from tests.support.receiver import Receiver, listening, signature

if TYPE_CHECKING:
    from pytest_django import Settings
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOW_INSECURE = ["127.0.0.1"], True
    with listening() as server:
        yield server


@pytest.fixture
def endpoint(receiver: Receiver, admin: User) -> tuple[Endpoint, str]:
    return webhooks.endpoint_save(
        user=admin, name="bus", url=receiver.url, events=list(webhooks.EVENTS), format="cloudevents"
    )


def take_events(receiver: Receiver) -> list[Json]:
    """Send all that is due and return the events that arrived since the last call."""
    for pk in webhooks.list_due(now=timezone.now()):
        webhooks.delivery_try(pk)
    events = [json.loads(body) for _, body in receiver.got]
    receiver.got.clear()
    return events


def test_a_request_is_a_cloud_event_with_the_same_signature(
    hold_pod: Callable[..., ApprovalRequest], receiver: Receiver, endpoint: tuple[Endpoint, str]
) -> None:
    row = hold_pod()
    for pk in webhooks.list_due(now=timezone.now()):
        webhooks.delivery_try(pk)
    ((headers, body),) = receiver.got
    assert headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert headers["webhook-signature"] == signature(endpoint[1], headers, body)
    event = json.loads(body)
    assert event["specversion"] == "1.0"
    assert event["id"] == headers["webhook-id"] == str(Delivery.objects.get().pk)
    assert (event["type"], event["subject"]) == ("dev.kschedweb.request.opened", row.pod)
    assert event["source"] == f"/clusters/{row.scheduler.cluster.name}"
    assert datetime.fromisoformat(event["time"]).tzinfo is not None
    assert event["data"]["id"] == str(row.pk)
    # The attributes are what the specification allows: lower-case letters and digits, none of them empty.
    assert all(name.isalnum() and name.islower() and event[name] for name in event)


def test_a_message_stays_what_it_was_when_the_form_is_changed(
    hold_pod: Callable[..., ApprovalRequest], receiver: Receiver, endpoint: tuple[Endpoint, str]
) -> None:
    hold_pod()
    Endpoint.objects.update(format="standard")
    for pk in webhooks.list_due(now=timezone.now()):
        webhooks.delivery_try(pk)
    ((headers, body),) = receiver.got
    assert (headers["content-type"].split(";")[0], "specversion" in json.loads(body)) == (
        "application/cloudevents+json",
        True,
    )


def test_decisions_are_told_in_batches_and_once(
    receiver: Receiver, endpoint: tuple[Endpoint, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_messages, "MAX_DECISIONS", 2)
    live = scheduler_row()
    now = timezone.now()
    assert decision_messages.decisions_tell(now=now) == 0  # the first look begins here
    for number in range(3):
        decision_row = seed_live.decision(live, f"batch-{number}", "bound" if number else "unschedulable")
        type(decision_row).objects.filter(pk=decision_row.pk).update(at=now + timedelta(seconds=number))
    later = now + timedelta(seconds=30)
    assert decision_messages.decisions_tell(now=later) == 1
    assert decision_messages.decisions_tell(now=later) == 0
    (event,) = [event for event in take_events(receiver) if event["type"].endswith("decisions.made")]
    data = event["data"]
    assert (event["source"], event["subject"]) == (f"/clusters/{live.cluster.name}", live.scheduler_name)
    assert (data["counts"], data["more"]) == ({"unschedulable": 1, "bound": 2}, 1)
    assert [decision["pod"] for decision in data["decisions"]] == ["batch-0", "batch-1"]
    assert datetime.fromisoformat(data["until"]).astimezone(UTC) == later - decision_messages.LATE
    assert decision_messages.decisions_tell(now=later + timedelta(days=1)) == 0


def test_a_run_that_is_done_is_told_once(receiver: Receiver, endpoint: tuple[Endpoint, str], editor: User) -> None:
    run = runs.run_start(user=editor, revision=seed_runs.scenario(editor), policy="default")
    runs.run_do(run=run, step=lambda *_: None)
    (event,) = take_events(receiver)
    assert (event["type"], event["subject"]) == ("dev.kschedweb.run.finished", str(run.pk))
    assert (event["data"]["policy"], event["data"]["seed"]) == (run.label, run.seed)
    run.refresh_from_db()
    runs.run_do(run=run, step=lambda *_: None)
    assert take_events(receiver) == []


def test_the_form_is_chosen_over_rest(api_as: Callable[[str], APIClient], receiver: Receiver) -> None:
    api = api_as("admin")
    created = api.post(
        "/api/v1/webhooks/",
        {"name": "bus", "url": receiver.url, "events": ["run.finished", "decisions.made"], "format": "cloudevents"},
        format="json",
    )
    assert (created.status_code, created.json()["format"]) == (201, "cloudevents")
    wrong = api.patch(f"/api/v1/webhooks/{created.json()['id']}/", {"format": "xml"}, format="json")
    assert (wrong.status_code, wrong.json()["errors"][0]["path"]) == (400, "format")
    changed = api.patch(f"/api/v1/webhooks/{created.json()['id']}/", {"format": "standard"}, format="json")
    assert changed.json()["format"] == "standard"
