"""People, the tokens they give to programs, and the record of what was changed."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from kschedweb.accounts.roles import Action, Role


class User(AbstractUser):
    """A person; the role says what they may do (see roles.py)."""

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)


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


class AuditEntry(models.Model):
    """Who changed what. Written by services only, never changed, never a secret inside."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150)
    verb = models.CharField(max_length=64)  # "policy.saved", "cluster.connected", "token.created" …
    object_type = models.CharField(max_length=32)
    object_id = models.CharField(max_length=64)
    object_name = models.CharField(max_length=253)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ("-at", "-id")
