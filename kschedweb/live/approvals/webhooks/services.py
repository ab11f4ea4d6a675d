"""Endpoints and their messages. A message is stored before it is sent, and is sent again until it arrives."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.celery import app
from kschedweb.clusters.connecting.addresses import AddressError, endpoint_check
from kschedweb.clusters.connecting.credentials import text_open, text_seal
from kschedweb.clusters.connecting.messages import Posted
from kschedweb.live.approvals.models import (
    ApprovalRequest,
    Delivered,
    Delivery,
    Endpoint,
    EndpointSecret,
    MessageFormat,
    WebhookEvent,
)
from kschedweb.live.approvals.webhooks import messages
from kschedweb.live.approvals.webhooks.messages import CARRIES, WebhookMessage, send_message
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.models import User

logger = structlog.get_logger(__name__)

TASK = "kschedweb.approvals.webhooks.tasks.deliver"
# Seconds before the second, third, … try. Each is up to a fifth longer, so that not all come back at once.
PAUSES = (5, 20, 80, 320, 1280, 5120, 20480)
# A try that has not ended by then died with its process.
CLAIM = timedelta(seconds=60)
MOST_ENDPOINTS = 20
LONGEST_ERROR = 300
EVENTS = (WebhookEvent.OPENED, WebhookEvent.DECIDED, WebhookEvent.EXPIRED, WebhookEvent.DECISIONS, WebhookEvent.RUN)


@transaction.atomic
def endpoint_save(
    *,
    user: User,
    name: str,
    url: str,
    events: Iterable[str],
    active: bool = True,
    format: str = MessageFormat.STANDARD,
    endpoint: Endpoint | None = None,
) -> tuple[Endpoint, str]:
    """Create or change an endpoint. Return it with the secret of a new one, which is shown once, else "".

    Raises ``ApplicationError`` at the field ``url`` for an address that the operator does not allow.
    """
    _check_endpoint(url, list(events), endpoint)
    is_new = endpoint is None
    row = endpoint or Endpoint(created_by=user)
    row.name, row.url, row.events, row.active, row.format = name, url.strip(), list(events), active, format
    row.problem = "" if active else row.problem
    namesakes = Endpoint.objects.filter(name=name).exclude(pk=row.pk)
    with conflict_where(namesakes, Conflict.at("name", "Another endpoint has this name.")):
        row.save()
    audit.record(user, "webhook.created" if is_new else "webhook.changed", row, name, url=row.url, active=active)
    return row, _new_secret(row) if is_new else ""


def _check_endpoint(url: str, events: list[str], endpoint: Endpoint | None) -> None:
    if not events or not set(events) <= set(EVENTS):
        raise _field_error("events", f"Choose at least one of {', '.join(EVENTS)}.")
    if endpoint is None and Endpoint.objects.count() >= MOST_ENDPOINTS:
        raise Conflict(
            gettext("There are %(most_endpoints)s endpoints already. Delete one first.")
            % {"most_endpoints": MOST_ENDPOINTS}
        )
    try:
        endpoint_check(url, carries=CARRIES)
    except AddressError as error:
        raise _field_error("url", error.detail) from None


@transaction.atomic
def secret_renew(*, user: User, endpoint: Endpoint) -> str:
    """Give the endpoint a new secret, shown once, which signs its messages from now on."""
    secret = _new_secret(endpoint)
    audit.record(user, "webhook.secret-renewed", endpoint, endpoint.name)
    return secret


def _new_secret(endpoint: Endpoint) -> str:
    secret = messages.new_secret()
    row = EndpointSecret.objects.filter(pk=endpoint.pk).first() or EndpointSecret(endpoint=endpoint)
    text_seal(row, secret)
    row.save()
    return secret


@transaction.atomic
def endpoint_delete(*, user: User, endpoint: Endpoint) -> None:
    """Delete an endpoint with its deliveries."""
    audit.record(user, "webhook.deleted", endpoint, endpoint.name, url=endpoint.url)
    endpoint.delete()


@transaction.atomic
def endpoint_test(*, user: User, endpoint: Endpoint) -> Delivery:
    """Queue a test message, even to an endpoint that is switched off."""
    audit.record(user, "webhook.tested", endpoint, endpoint.name)
    return queue_delivery(endpoint, WebhookMessage(WebhookEvent.TEST, timezone.now(), messages.test_data()))


def queue_event(event: str, row: ApprovalRequest, delay: timedelta = timedelta()) -> None:
    """Queue a message about ``row`` for every endpoint that wants ``event``, within the caller's transaction.

    It is sent after ``delay``.
    """
    wanting = [receiver for receiver in Endpoint.objects.filter(active=True) if event in receiver.events]
    if not wanting:
        return
    row.refresh_from_db()
    message = WebhookMessage(
        event, timezone.now(), messages.describe_request(row), f"/clusters/{row.scheduler.cluster.name}", row.pod
    )
    for endpoint in wanting:
        if not Delivery.objects.filter(endpoint=endpoint, request=row, event=event).exists():
            queue_delivery(endpoint, message, row, delay)


def announce_message(message: WebhookMessage) -> None:
    """Queue a message that is about no request for every endpoint that wants it, in the caller's transaction."""
    for endpoint in Endpoint.objects.filter(active=True):
        if message.event in endpoint.events:
            queue_delivery(endpoint, message)


def queue_delivery(
    endpoint: Endpoint, message: WebhookMessage, row: ApprovalRequest | None = None, delay: timedelta = timedelta()
) -> Delivery:
    """Store a message to ``endpoint``, and have it sent ``delay`` after the caller's transaction has ended."""
    now = timezone.now()
    delivery = Delivery(endpoint=endpoint, event=message.event, request=row, next_at=now + delay, created_at=now)
    delivery.format = endpoint.format
    delivery.body = message.render_body(endpoint.format, str(delivery.pk))
    delivery.save(force_insert=True)

    def send_task() -> None:
        app.send_task(TASK, [str(delivery.pk)], countdown=delay.total_seconds() or None)

    # Robust, since an unreachable broker must not fail the request: beat finds the row later.
    transaction.on_commit(send_task, robust=True)
    return delivery


def delivery_claim(*, delivery_id: UUID | str, now: datetime) -> Delivery | None:
    """Return the message to exactly one caller for one try, None if it is not due."""
    due = Q(pk=delivery_id, state=Delivered.PENDING, next_at__lte=now)
    # The conditional UPDATE is the claim: of several workers only one changes the row.
    if not Delivery.objects.filter(due).update(attempts=F("attempts") + 1, next_at=now + CLAIM):
        return None
    return Delivery.objects.select_related("endpoint").get(pk=delivery_id)


def delivery_try(delivery_id: UUID | str) -> bool:
    """Try once to send a message. Return False if that failed, or if it is not due or claimed by another process."""
    delivery = delivery_claim(delivery_id=delivery_id, now=timezone.now())
    if delivery is None:
        return False
    try:
        secret = secret_of(delivery.endpoint)
        kind = messages.CONTENT_TYPES[MessageFormat(delivery.format)]
        url, number = delivery.endpoint.url, str(delivery.pk)
        answer = send_message(url=url, secret=secret, message_id=number, body=delivery.body, kind=kind)
    except ApplicationError as error:
        answer = Posted(error=error.detail)
    delivery_conclude(delivery=delivery, answer=answer, now=timezone.now())
    return answer.ok


def secret_of(endpoint: Endpoint) -> str:
    """Return the secret that signs the endpoint's messages."""
    row = EndpointSecret.objects.select_related("endpoint").filter(pk=endpoint.pk).first()
    if row is None:
        raise ApplicationError(f"Endpoint {endpoint.name} has no secret: renew it.", status=409)
    return text_open(row)


@transaction.atomic
def delivery_conclude(*, delivery: Delivery, answer: Posted, now: datetime) -> None:
    """Record how a try went: the message has arrived, is retried later, or is given up."""
    values: dict[str, object] = {"status": answer.status, "error": answer.error[:LONGEST_ERROR]}
    if answer.ok:
        values |= {"state": Delivered.DELIVERED, "next_at": None, "ended_at": now}
    elif answer.wants_no_more or delivery.attempts > len(PAUSES):
        values |= {"state": Delivered.FAILED, "next_at": None, "ended_at": now}
    else:
        pause = PAUSES[delivery.attempts - 1]
        values["next_at"] = now + timedelta(seconds=pause * random.uniform(1, 1.2))  # noqa: S311
    pending = Delivery.objects.filter(pk=delivery.pk, state=Delivered.PENDING, attempts=delivery.attempts)
    if pending.update(**values) and answer.wants_no_more:
        problem = "It answered 410 Gone, so it was switched off."
        Endpoint.objects.filter(pk=delivery.endpoint_id).update(active=False, problem=problem)
        audit.record(None, "webhook.switched-off", delivery.endpoint, delivery.endpoint.name, reason=problem)


def list_due(*, now: datetime) -> list[str]:
    """Return the ids of the messages to be sent now."""
    rows = Delivery.objects.filter(state=Delivered.PENDING, next_at__lte=now).order_by("next_at")
    return [str(pk) for pk in rows.values_list("pk", flat=True)[:500]]


def _field_error(path: str, message: str) -> ApplicationError:
    return ApplicationError(message, errors=[FieldProblem(path=path, message=message)])
