"""Requests for approval, the votes on them, and the webhooks that notify other programs of them.

A request changes its state only by conditional UPDATEs (transitions.py), so two processes never both win.
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
    """A pod that waits at Permit for people, with the node that was chosen for it.

    It is ``open`` until the scheduler has carried out the decision: a denied request until the pod's event was written.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="approval_requests")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    node = models.CharField(max_length=253)
    plugin = models.CharField(max_length=64)
    # The id of the LiveDecision, which may be deleted earlier than the request.
    decision_id = models.CharField(max_length=64)
    # As the engine's Decision.to_dict gives it.
    decision = models.JSONField(default=dict)
    # The plugin's request: see plugins/humanapproval.py.
    ask = models.JSONField(default=dict)
    # The creator of the pod, according to its annotation.
    created_by = models.CharField(max_length=253, blank=True)
    state = models.CharField(max_length=16, choices=ApprovalState.choices, default=ApprovalState.WAITING)
    open = models.BooleanField(default=True)
    # Why it was denied, superseded and so on.
    reason = models.TextField(blank=True)
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # When it was approved, denied or expired.
    decided_at = models.DateTimeField(null=True)
    # "" if nobody decided in time.
    decided_by = models.CharField(max_length=150, blank=True)
    # A verdict of a page can be undone until then, and is carried out only afterwards; null where it is carried out
    # at once.
    undo_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # The term of the leader that asked, then of the leader that binds.
    epoch = models.PositiveBigIntegerField(default=0)
    # A denial covers further requests about the same pod as it was, its node, and the policy's revision.
    # This is the digest of them, "" if it is not known.
    subject = models.CharField(max_length=64, default="", db_default="")
    # How often the scheduler asked again after the denial.
    asked_again = models.PositiveIntegerField(default=0, db_default=0)
    asked_again_at = models.DateTimeField(null=True)
    # When the denial was lifted, so that people are asked again.
    reopened_at = models.DateTimeField(null=True)
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
        """Return ``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class VoteVerdict(models.TextChoices):
    APPROVE = "approve", _("Approved")
    DENY = "deny", _("Denied")


class Vote(models.Model):
    """The vote of one person on a request."""

    request = models.ForeignKey(ApprovalRequest, on_delete=models.CASCADE, related_name="votes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    username = models.CharField(max_length=150)
    # The role that the person had then.
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
    """Return the events that an endpoint gets by default: those of approvals."""
    return [WebhookEvent.OPENED, WebhookEvent.DECIDED, WebhookEvent.EXPIRED]


class Endpoint(models.Model):
    """The address of another program that is notified of requests, decisions and runs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=64, unique=True)
    url = models.CharField(max_length=500)
    events = models.JSONField(default=all_events)
    format = models.CharField(
        max_length=16, choices=MessageFormat.choices, default=MessageFormat.STANDARD, db_default=MessageFormat.STANDARD
    )
    # Live decisions up to here were sent; null before the first look.
    told_until = models.DateTimeField(null=True)
    active = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    # Why it was switched off.
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("name",)


class EndpointSecret(SealedRow):
    """The secret that signs an endpoint's messages."""

    purpose, kind = b"webhook", "webhook"

    endpoint = models.OneToOneField(Endpoint, primary_key=True, on_delete=models.CASCADE, related_name="secret")

    @property
    def opens(self) -> str:
        return self.endpoint.name


class Delivered(models.TextChoices):
    PENDING = "pending", _("Waiting to be sent")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Gave up")


class Delivery(models.Model):
    """One message to one endpoint. Its id stays the same over all tries, so that the receiver can drop repetitions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries")
    request = models.ForeignKey(ApprovalRequest, null=True, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32, choices=WebhookEvent.choices)
    # JSON, exactly as it is signed.
    body = models.TextField()
    format = models.CharField(
        max_length=16, choices=MessageFormat.choices, default=MessageFormat.STANDARD, db_default=MessageFormat.STANDARD
    )
    state = models.CharField(max_length=16, choices=Delivered.choices, default=Delivered.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When it is tried next; null once it has ended.
    next_at = models.DateTimeField(null=True)
    # HTTP status of the last answer.
    status = models.PositiveSmallIntegerField(null=True)
    # Error of the last try.
    error = models.CharField(max_length=300, blank=True)
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
