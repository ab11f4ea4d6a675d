"""People, the tokens they give to programs, and the record of what was changed."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F
from django.db.models.functions import Upper
from django.utils import timezone
from django.utils.crypto import salted_hmac

from kschedweb.accounts.roles import Action, Role, scope_allows
from kschedweb.web.translating import gettext_lazy as _


class Density(models.TextChoices):
    """How much room rows of tables take."""

    AS_DESIGNED = "", _("As designed")
    COMFORTABLE = "comfortable", _("Comfortable")
    COMPACT = "compact", _("Compact")


class User(AbstractUser):
    """A person; the role says what they may do (see roles.py)."""

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)
    must_change_password = models.BooleanField(default=False)  # it is a temporary one that an admin has seen
    session_epoch = models.PositiveIntegerField(default=0)  # sessions of an earlier epoch are over
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")  # "": the browser's
    language = models.CharField(max_length=16, blank=True, default="", db_default="")  # "": the browser's
    density = models.CharField(max_length=16, blank=True, default="", db_default="", choices=Density.choices)
    # Who decides about the role: an identity provider by its id, "header" (a proxy), or "" (admins of this site).
    provider = models.CharField(max_length=64, blank=True, default="", db_default="")
    provider_groups = models.JSONField(
        null=True, blank=True, default=None
    )  # a list of the names that the provider gave last

    class Meta:
        ordering = ("username", "id")

    @property
    def group_names(self) -> frozenset[str]:
        """The groups that the person's identity provider named when it was last asked."""
        return frozenset(self.provider_groups or ())

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Django's hash of the password, with the epoch in it: a change of either ends every other session."""
        salt = "kschedweb.accounts.models.User.session"
        return salted_hmac(salt, f"{self.session_epoch}:{self.password}", secret=secret, algorithm="sha256").hexdigest()


class Token(models.Model):
    """A program's key to the REST API. Only its digest is stored; the key is shown once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=64)
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    # The token may do what this scope and its owner's role both allow.
    scope = models.CharField(max_length=16, choices=Action.choices, default=Action.VIEW)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def current_state(self) -> str:
        """``active``, ``expired`` or ``revoked``."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "active"

    def allows(self, action: str) -> bool:
        """Whether the scope covers ``action``; the owner's role is asked besides."""
        return scope_allows(self.scope, action)


class AuditEntry(models.Model):
    """Who changed what. Written by services only, never changed, never a secret inside."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150)
    address = models.GenericIPAddressField(null=True)  # of the request that led to it
    verb = models.CharField(max_length=64)  # "policy.saved", "cluster.connected", "token.created" …
    object_type = models.CharField(max_length=32)
    object_id = models.CharField(max_length=64)
    object_name = models.CharField(max_length=253)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ("-at", "-id")
        indexes = [
            models.Index(Upper("actor_name"), F("at").desc(), F("id").desc(), name="audit_by_actor"),
            models.Index(Upper("object_name"), F("at").desc(), F("id").desc(), name="audit_by_name"),
            models.Index(fields=["object_type", "-at", "-id"], name="audit_by_kind"),
            models.Index(fields=["verb", "-at", "-id"], name="audit_by_verb"),
        ]


class ProviderSession(models.Model):
    """A session that began at an identity provider, which is asked about it again and again."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    provider = models.CharField(max_length=64)
    subject = models.CharField(max_length=191, db_index=True)
    sid = models.CharField(max_length=255, blank=True, default="", db_index=True)  # the provider's name of its session
    session_key = models.CharField(max_length=40, unique=True)
    id_token = models.TextField()  # sealed (sealing.py), as the next one is
    refresh_token = models.TextField(blank=True, default="")
    asked_at = models.DateTimeField()  # when the provider was asked last, and when it last answered
    answered_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
