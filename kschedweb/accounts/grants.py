"""Grants: roles of people and groups in clusters. See docs/rights.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction

from kschedweb.accounts import audit, grant_syntax
from kschedweb.accounts.administrators import keep_one
from kschedweb.accounts.grant_targets import list_clusters
from kschedweb.accounts.models import Grant, GrantScope, User
from kschedweb.accounts.reach import unrestricted
from kschedweb.accounts.roles import Role
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kschedweb.accounts.signin.rules import GrantRule

# Labels of one cluster.
MOST_LABELS = 20


def label_read(text: str, path: str = "label") -> str:
    """Return ``text`` if it is like key=value. Raises ApplicationError at ``path``."""
    try:
        return grant_syntax.label_read(text)
    except ValueError as error:
        raise ApplicationError.at(path, f"{error}.") from None


def namespaces_read(names: Iterable[str]) -> list[str]:
    """Return ``names`` in order, each once. Raises ApplicationError."""
    try:
        return grant_syntax.namespaces_read(names)
    except ValueError as error:
        raise ApplicationError.at("namespaces", f"{error}.") from None


def cluster_names() -> dict[UUID, str]:
    """Return the names of all clusters by their ids."""
    with unrestricted():
        return {cluster_ref.id: cluster_ref.name for cluster_ref in list_clusters()}


@transaction.atomic
def grant_give(
    *,
    actor: User | None,
    user: str = "",
    group: str = "",
    role: str,
    cluster: str = "",
    label: str = "",
    namespaces: Iterable[str] = (),
) -> Grant:
    """Grant ``role`` to a person or a group: in ``cluster``, in clusters with ``label``, or else in all.

    It covers ``namespaces`` there, or all of them. Raises ApplicationError at the field that is wrong, and Conflict if
    it was granted already.
    """
    person = _find_person(user, group)
    if role not in Role.values or role == Role.NONE:
        raise ApplicationError.at("role", "Choose one of viewer, editor, approver, admin.")
    if cluster and label:
        raise ApplicationError.at("label", "Name a cluster or a label, not both.")
    scope, cluster_id = GrantScope.ALL, None
    if cluster:
        scope, cluster_id = (
            GrantScope.CLUSTER,
            next((pk for pk, name in cluster_names().items() if name == cluster), None),
        )
        if cluster_id is None:
            raise ApplicationError.at("cluster", f"There is no cluster {cluster}.")
    elif label:
        scope = GrantScope.LABEL
        label_read(label)
    fields: dict[str, Any] = {
        "user": person,
        "group": group.strip(),
        "role": role,
        "scope": scope,
        "cluster": cluster_id,
        "label": label,
    }
    fields["namespaces"] = namespaces_read(namespaces)
    if Grant.objects.filter(**fields).exists():
        raise Conflict("This was granted already.")
    grant = Grant.objects.create(**fields, created_by=actor)
    audit.record(actor, "grant.given", grant, holder_of(grant), **_audit_details(grant))
    return grant


@transaction.atomic
def grant_take(*, actor: User | None, grant: Grant) -> None:
    """Take a grant back, from the next request on. Raises Conflict for the last admin's."""
    keep_one(ignored_grant=grant)
    audit.record(actor, "grant.taken", grant, holder_of(grant), **_audit_details(grant))
    grant.delete()


def _audit_details(grant: Grant) -> dict[str, object]:
    spaces = {"namespaces": grant.namespaces} if grant.namespaces else {}
    return {"role": grant.role, "clusters": where_of(grant), **spaces}


def by_rules() -> list[tuple[str, GrantRule]]:
    """Return the grants that rules give to groups, with the label of the provider. They come from settings."""
    rules = [
        (provider.label, rule) for provider in settings.IDENTITY_PROVIDERS.values() for rule in provider.rules.grants
    ]
    if settings.REMOTE_HEADER is not None:
        rules += [(settings.REMOTE_HEADER.name, rule) for rule in settings.REMOTE_HEADER.rules.grants]
    return rules


def holder_of(grant: Grant) -> str:
    """Return the holder: the person's name, or the group's after a word."""
    return grant.user.username if grant.user else f"group {grant.group}"


def where_of(grant: Grant) -> str:
    """Return the clusters that the grant covers, in words."""
    if grant.scope == GrantScope.CLUSTER and grant.cluster:
        return cluster_names().get(grant.cluster, "a cluster that was deleted")
    return grant.label or "all clusters"


def _find_person(user: str, group: str) -> User | None:
    if bool(user) == bool(group.strip()):
        raise ApplicationError.at("user", "Name a person or a group, one of the two.")
    if not user:
        return None
    person = User.objects.filter(username=user).first()
    if person is None:
        raise ApplicationError.at("user", f"There is nobody called {user}.")
    return person
