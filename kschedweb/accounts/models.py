"""People, the tokens that they give to programs, and the audit trail."""

from __future__ import annotations

import uuid
from functools import cache
from uuid import UUID

from django.apps import apps
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F
from django.db.models.functions import Upper
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property

from kschedweb.accounts.grant_syntax import HeldGrant, has_label
from kschedweb.accounts.grant_targets import ClusterRef, list_clusters
from kschedweb.accounts.reach import ClusterPart, Reach, unrestricted
from kschedweb.accounts.roles import RANKS, Action, Role, role_allows, scope_allows
from kschedweb.accounts.signin.configuration import rules_of
from kschedweb.accounts.signin.rules import RoleRule
from kschedweb.web.translating import gettext_lazy as _


class Density(models.TextChoices):
    """The room that rows of tables take."""

    AS_DESIGNED = "", _("As designed")
    COMFORTABLE = "comfortable", _("Comfortable")
    COMPACT = "compact", _("Compact")


class User(AbstractUser):
    """A person. The role says what they may do in all clusters (see roles.py); grants add more in some of them."""

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)
    # True for a temporary password, which an admin has seen.
    must_change_password = models.BooleanField(default=False)
    # Sessions of an earlier epoch are over.
    session_epoch = models.PositiveIntegerField(default=0)
    # "" is the browser's.
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    # "" is the browser's.
    language = models.CharField(max_length=16, blank=True, default="", db_default="")
    density = models.CharField(max_length=16, blank=True, default="", db_default="", choices=Density.choices)
    # The owner of the role: an identity provider by its id, "header" (a proxy), or "" (admins of this site).
    provider = models.CharField(max_length=64, blank=True, default="", db_default="")
    # The names of groups that the provider gave last.
    provider_groups = models.JSONField(null=True, blank=True, default=None)

    class Meta:
        ordering = ("username", "id")

    @property
    def group_names(self) -> frozenset[str]:
        """The groups that the person's identity provider named when it was last asked."""
        return frozenset(self.provider_groups or ())

    @cached_property
    def grants(self) -> list[HeldGrant]:
        """The grants of the person, of their groups, and those that the provider's rules give to their groups."""
        candidates = Grant.objects.filter(models.Q(user=self.pk) | ~models.Q(group=""))
        stored_grants = [
            grant
            for grant in candidates
            if grant.user_id == self.pk or RoleRule(grant.group, grant.role).matches_any(self.group_names)
        ]
        return [*stored_grants, *rules_of(self.provider).grants_for(self.group_names)]

    @cached_property
    def _reaches(self) -> dict[str, Reach | None]:
        return {}

    def reach(self, action: str) -> Reach | None:
        """Return the clusters in which they may do ``action``; ``None`` for all, and for objects of no cluster."""
        if role_allows(self.role, action):
            return None
        if action not in self._reaches:
            self._reaches[action] = self._compute_reach(
                [grant for grant in self.grants if role_allows(grant.role, action)]
            )
        return self._reaches[action]

    def _compute_reach(self, grants: list[HeldGrant]) -> Reach | None:
        if any(grant.everywhere for grant in grants):
            return None
        whole, parts = [], dict[UUID, ClusterPart]()
        with unrestricted():
            for cluster in list_clusters() if grants else ():
                namespace_lists = [grant.namespaces for grant in grants if grant.covers(cluster)]
                # A grant without namespaces is for the whole cluster.
                if not all(namespace_lists):
                    whole.append(cluster)
                elif namespace_lists:
                    parts[cluster.id] = ClusterPart(cluster.name, frozenset().union(*namespace_lists))
        return Reach(
            self.pk, frozenset(cluster.id for cluster in whole), frozenset(cluster.name for cluster in whole), parts
        )

    def may(self, action: str) -> bool:
        """Return whether they may do ``action`` somewhere."""
        return role_allows(self.role, action) or any(role_allows(grant.role, action) for grant in self.grants)

    def everywhere(self, action: str) -> bool:
        """Return whether they may do ``action`` in all clusters, and so to objects of the whole site."""
        return self.reach(action) is None

    def role_in(self, cluster: UUID, namespace: str) -> str:
        """Return their role in ``namespace`` of ``cluster``: of several, the one that allows most."""
        roles = {self.role}
        if self.role != Role.ADMIN and self.grants:
            with unrestricted():
                cluster_ref = next((candidate for candidate in list_clusters() if candidate.id == cluster), None)
            matching_grants = [grant for grant in self.grants if cluster_ref and grant.covers(cluster_ref)]
            roles |= {grant.role for grant in matching_grants if not grant.namespaces or namespace in grant.namespaces}
        return max(roles, key=RANKS.index)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return Django's hash of the password with the epoch in it. A change of either ends every other session."""
        salt = "kschedweb.accounts.models.User.session"
        return salted_hmac(salt, f"{self.session_epoch}:{self.password}", secret=secret, algorithm="sha256").hexdigest()


class GrantScope(models.TextChoices):
    """The clusters that a grant covers."""

    ALL = "all", _("All clusters")
    CLUSTER = "cluster", _("One cluster")
    LABEL = "label", _("Clusters with a label")


class Grant(models.Model):
    """A role for a person, or for a group that an identity provider names, in all clusters or in some of them.

    It may be limited to namespaces there. Clusters are in an app above this one, so a cluster is named by its id
    (grant_targets.py).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    # A pattern in which ``*`` stands for anything; "" for a person's grant.
    group = models.CharField(max_length=191, blank=True, default="")
    # Any role but NONE.
    role = models.CharField(max_length=16, choices=Role.choices)
    scope = models.CharField(max_length=16, choices=GrantScope.choices)
    # The id of a cluster; null for other scopes.
    cluster = models.UUIDField(null=True, db_index=True)
    # "key=value"; "" for other scopes.
    label = models.CharField(max_length=127, blank=True, default="")
    # Names of namespaces; empty: all.
    namespaces = models.JSONField(default=list, db_default=[])
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("user__username", "group", "created_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user__isnull=True) ^ models.Q(group=""), name="grant_to_person_or_group"
            )
        ]

    @property
    def everywhere(self) -> bool:
        """True if it covers all clusters in whole."""
        return self.scope == GrantScope.ALL and not self.namespaces

    def covers(self, cluster: ClusterRef) -> bool:
        """Return whether it covers ``cluster``, in whole or in part."""
        if self.scope == GrantScope.CLUSTER:
            return self.cluster == cluster.id
        return self.scope == GrantScope.ALL or has_label(cluster.labels, self.label)


class Token(models.Model):
    """A program's key to the REST API. Only its digest is stored; the key is shown once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=64)
    # The first part of the key, by which a token is found and recognised.
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
        """One of "active", "expired" and "revoked"."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "active"

    def allows(self, action: str) -> bool:
        """Return whether the scope covers ``action``. The owner's role is checked separately."""
        return scope_allows(self.scope, action)


class AuditEntry(models.Model):
    """One change and its author. Only services write entries; they are never changed, and hold no secret."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    # The name at that time, which stays when the person is deleted.
    actor_name = models.CharField(max_length=150)
    # The address of the request that led to it.
    address = models.GenericIPAddressField(null=True)
    # "policy.saved", "cluster.connected", "token.created" …
    verb = models.CharField(max_length=64)
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

    @property
    def kind(self) -> str:
        """The kind of the object in words, such as "live scheduler" for ``livescheduler``."""
        return _object_kinds().get(self.object_type, self.object_type)


@cache
def _object_kinds() -> dict[str, str]:
    return {str(model._meta.model_name): str(model._meta.verbose_name) for model in apps.get_models()}


class ProviderSession(models.Model):
    """A session that began at an identity provider. The provider is asked about it at intervals."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    provider = models.CharField(max_length=64)
    # The provider's id of the person.
    subject = models.CharField(max_length=191, db_index=True)
    # The provider's id of its session.
    sid = models.CharField(max_length=255, blank=True, default="", db_index=True)
    session_key = models.CharField(max_length=40, unique=True)
    # Sealed (sealing.py), and so is the refresh token.
    id_token = models.TextField()
    refresh_token = models.TextField(blank=True, default="")
    # When the provider was last asked; it may not have answered.
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
