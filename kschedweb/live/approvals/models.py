"""Requests for approval, the votes on them, and the webhooks that tell other programs of them.

A request changes its state by conditional UPDATEs alone (transitions.py): two processes never both win.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from kschedweb.accounts.roles import Role
from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import SealedRow
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.web.translating import gettext_lazy as _


class ApprovalState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    APPROVED = "approved", _("Approved")
    BINDING = "binding", _("Being bound")
    BOUND = "bound", _("Bound")
    DENIED = "denied", _("Denied")
    EXPIRED = "expired", _("Expired")
    FAILED = "failed", _("Binding failed")
    SUPERSEDED = "superseded", _("Superseded")


class ApprovalRequest(models.Model):
    """A pod that waits at Permit for people, with the node found for it.

    ``open`` until the scheduler has carried out what was decided: a denied request is open until the pod was told.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="approval_requests")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    node = models.CharField(max_length=253)
    plugin = models.CharField(max_length=64)
    decision_id = models.CharField(max_length=64)  # of the LiveDecision, which may be kept less long
    decision = models.JSONField(default=dict)  # as the engine's Decision.to_dict has it
    ask = models.JSONField(default=dict)  # what the plugin asks: see plugins/humanapproval.py
    created_by = models.CharField(max_length=253, blank=True)  # of the pod, according to its annotation
    state = models.CharField(max_length=16, choices=ApprovalState.choices, default=ApprovalState.WAITING)
    open = models.BooleanField(default=True)
    reason = models.TextField(blank=True)  # why it was denied, superseded, …
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)  # approved, denied or expired
    decided_by = models.CharField(max_length=150, blank=True)  # "": nobody did in time
    ended_at = models.DateTimeField(null=True)
    epoch = models.PositiveBigIntegerField(default=0)  # of the leader that asked, then of the one that binds
    # A denial covers further requests about the same: the pod as it was, its node, the policy's revision.
    subject = models.CharField(max_length=64, default="", db_default="")  # digest of these, "": not known
    asked_again = models.PositiveIntegerField(default=0, db_default=0)  # how often after it was denied
    asked_again_at = models.DateTimeField(null=True)
    reopened_at = models.DateTimeField(null=True)  # the denial was lifted: somebody wants to be asked again
    reopened_by = models.CharField(max_length=150, default="", db_default="")

    objects = Covered("scheduler", namespace="namespace")

    class Meta:
        ordering = ("expires_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["scheduler", "uid"], condition=Q(open=True), name="one_open_request_a_pod_and_scheduler"
            )
        ]
        indexes = [
            models.Index(fields=["open", "state", "expires_at"], name="request_open"),
            models.Index(fields=["-asked_at", "-id"], name="request_newest"),
            models.Index(fields=["namespace", "name"], name="request_by_pod"),
            models.Index(fields=["scheduler", "uid"], name="request_by_uid"),
            models.Index(fields=["state", "-asked_at", "-id"], name="request_by_state"),
            models.Index(fields=["namespace", "-asked_at", "-id"], name="request_by_namespace"),
            models.Index(fields=["decided_at"], name="request_decided"),
            models.Index(fields=["ended_at"], name="request_ended"),
        ]

    @property
    def pod(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class VoteVerdict(models.TextChoices):
    APPROVE = "approve", _("Approved")
    DENY = "deny", _("Denied")


class Vote(models.Model):
    """What one person said about a request; ``role`` is the one they had then."""

    request = models.ForeignKey(ApprovalRequest, on_delete=models.CASCADE, related_name="votes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    username = models.CharField(max_length=150)
    role = models.CharField(max_length=16, choices=Role.choices)
    verdict = models.CharField(max_length=16, choices=VoteVerdict.choices)
    reason = models.TextField(blank=True)
    at = models.DateTimeField()

    objects = Covered("request", part=True)

    class Meta:
        ordering = ("at", "id")
        constraints = [models.UniqueConstraint(fields=["request", "user"], name="one_vote_a_person")]


class WebhookEvent(models.TextChoices):
    OPENED = "request.opened", _("A pod waits")
    DECIDED = "request.decided", _("Approved or denied")
    EXPIRED = "request.expired", _("Nobody decided in time")
    DECISIONS = "decisions.made", _("Live schedulers decided, several decisions in one message")
    RUN = "run.finished", _("A run is done")
    TEST = "test", _("Test")


class MessageFormat(models.TextChoices):
    STANDARD = "standard", _("Standard Webhooks")
    CLOUDEVENTS = "cloudevents", _("CloudEvents 1.0 in JSON")


def all_events() -> list[str]:
    """The events that an endpoint gets if none were chosen: those of approvals."""
    return [WebhookEvent.OPENED, WebhookEvent.DECIDED, WebhookEvent.EXPIRED]


class Endpoint(models.Model):
    """The address of another program that is told of requests, decisions and runs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=64, unique=True)
    url = models.CharField(max_length=500)
    events = models.JSONField(default=all_events)
    format = models.CharField(
        max_length=16, choices=MessageFormat.choices, default=MessageFormat.STANDARD, db_default=MessageFormat.STANDARD
    )
    told_until = models.DateTimeField(null=True)  # of which live decisions; null before the first look
    active = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    problem = models.CharField(max_length=300, blank=True)  # why it was switched off

    class Meta:
        ordering = ("name",)


class EndpointSecret(SealedRow):
    """What an endpoint's messages are signed with."""

    purpose, kind = b"webhook", "webhook"

    endpoint = models.OneToOneField(Endpoint, primary_key=True, on_delete=models.CASCADE, related_name="secret")

    @property
    def opens(self) -> str:
        return self.endpoint.name


class Delivered(models.TextChoices):
    PENDING = "pending", _("To be sent")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Given up")


class Delivery(models.Model):
    """One message to one endpoint; its id stays the same over all tries, so that the receiver knows it again."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries")
    request = models.ForeignKey(ApprovalRequest, null=True, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32, choices=WebhookEvent.choices)
    body = models.TextField()  # JSON, as it is signed
    format = models.CharField(
        max_length=16, choices=MessageFormat.choices, default=MessageFormat.STANDARD, db_default=MessageFormat.STANDARD
    )
    state = models.CharField(max_length=16, choices=Delivered.choices, default=Delivered.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True)  # of the next try; null once it is over
    status = models.PositiveSmallIntegerField(null=True)  # of the last answer
    error = models.CharField(max_length=300, blank=True)  # of the last try
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = Covered("request")

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "request", "event"],
                condition=Q(request__isnull=False),
                name="one_delivery_an_event_and_endpoint",
            )
        ]
        indexes = [
            models.Index(fields=["state", "next_at"], name="delivery_due"),
            models.Index(fields=["endpoint", "-created_at", "-id"], name="delivery_newest"),
            models.Index(fields=["created_at"], name="delivery_made"),
        ]
