"""Scheduling policies: named documents with immutable revisions."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models

from kschedweb.policies.dialect import CheckedText, Dialect, PolicyKind
from kschedweb.policies.dialects import DIALECTS


class Policy(models.Model):
    """A named document of one kind; its texts are its revisions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=63, unique=True)
    description = models.CharField(max_length=500, blank=True)
    kind = models.CharField(
        max_length=16, choices=PolicyKind, default=PolicyKind.PROFILES, db_default=PolicyKind.PROFILES
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    # The number of the newest revision; set by ``selectors.policy_list``.
    newest: int

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    @property
    def written_here(self) -> bool:
        """True if people change it here, and not in a git repository."""
        file = getattr(self, "file", None)
        return file is None or file.removed

    @property
    def dialect(self) -> Dialect[Any, Any]:
        return DIALECTS[self.kind]


class Revision(models.Model):
    """A saved document of a policy: valid when saved, never changed, numbered from 1."""

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    # The YAML as written, with comments.
    document = models.TextField()
    # Of a classic policy: the start options of kube-scheduler (docs/classic.md).
    process = models.JSONField(default=dict, db_default={})
    comment = models.CharField(max_length=500, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="revision_number_once_a_policy")]

    @property
    def by(self) -> str:
        """The name of the author: a user of the site, or the author of its commit; "" for the site itself."""
        commit = getattr(self, "commit", None)
        return commit.author if commit else self.author.username if self.author else ""

    def checked(self) -> CheckedText:
        """Return the document, checked by the engine."""
        checked: CheckedText = self.policy.dialect.check(self.document, self.process)
        return checked
