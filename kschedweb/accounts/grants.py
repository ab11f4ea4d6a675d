"""Grants: who has which role in which clusters. See docs/rights.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction

from kschedweb.accounts import audit, places
from kschedweb.accounts.administrators import keep_one
from kschedweb.accounts.grounds import grounds
from kschedweb.accounts.models import Grant, Scope, User
from kschedweb.accounts.reach import everything
from kschedweb.accounts.roles import Role
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kschedweb.accounts.signin.rules import GrantRule

MOST_LABELS = 20


def label_read(text: str, path: str = "label") -> str:
    """``text`` where it is like key=value; raises ApplicationError."""
    try:
        return places.label_read(text)
    except ValueError as error:
        raise ApplicationError.at(path, f"{error}.") from None


def namespaces_read(names: Iterable[str]) -> list[str]:
    """``names`` in order, each once; raises ApplicationError."""
    try:
        return places.namespaces_read(names)
    except ValueError as error:
        raise ApplicationError.at("namespaces", f"{error}.") from None


def cluster_names() -> dict[UUID, str]:
    """The names of all clusters by their ids."""
    with everything():
        return {ground.id: ground.name for ground in grounds()}


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
    """Grant ``role`` to a person or a group, in ``cluster``, in those with ``label``, or in all where neither is given;
    there in ``namespaces``, or in all of them.

    Raises ApplicationError at the field that is wrong, and Conflict where it was granted already.
    """
    person = _person(user, group)
    if role not in Role.values or role == Role.NONE:
        raise ApplicationError.at("role", "Choose one of viewer, editor, approver, admin.")
    if cluster and label:
        raise ApplicationError.at("label", "Name a cluster or a label, not both.")
    scope, found = Scope.ALL, None
    if cluster:
        scope, found = Scope.CLUSTER, next((pk for pk, name in cluster_names().items() if name == cluster), None)
        if found is None:
            raise ApplicationError.at("cluster", f"There is no cluster {cluster}.")
    elif label:
        scope = Scope.LABEL
        label_read(label)
    what: dict[str, Any] = {
        "user": person,
        "group": group.strip(),
        "role": role,
        "scope": scope,
        "cluster": found,
        "label": label,
    }
    what["namespaces"] = namespaces_read(namespaces)
    if Grant.objects.filter(**what).exists():
        raise Conflict("This was granted already.")
    grant = Grant.objects.create(**what, created_by=actor)
    audit.record(actor, "grant.given", grant, holder_of(grant), **_told(grant))
    return grant


@transaction.atomic
def grant_take(*, actor: User | None, grant: Grant) -> None:
    """Take a grant back; it counts no more from the next request on. Raises Conflict for the last admin's."""
    keep_one(without=grant)
    audit.record(actor, "grant.taken", grant, holder_of(grant), **_told(grant))
    grant.delete()


def _told(grant: Grant) -> dict[str, object]:
    spaces = {"namespaces": grant.namespaces} if grant.namespaces else {}
    return {"role": grant.role, "clusters": where_of(grant), **spaces}


def by_rules() -> list[tuple[str, GrantRule]]:
    """Those that rules give to groups, by the label of the provider: settings say them, not this site."""
    found = [(one.label, rule) for one in settings.IDENTITY_PROVIDERS.values() for rule in one.rules.grants]
    if settings.REMOTE_HEADER is not None:
        found += [(settings.REMOTE_HEADER.name, rule) for rule in settings.REMOTE_HEADER.rules.grants]
    return found


def holder_of(grant: Grant) -> str:
    """Who has it: the person's name, or the group's with a word before."""
    return grant.user.username if grant.user else f"group {grant.group}"


def where_of(grant: Grant) -> str:
    """The clusters that it is about, as one writes it."""
    if grant.scope == Scope.CLUSTER and grant.cluster:
        return cluster_names().get(grant.cluster, "a cluster that was deleted")
    return grant.label or "all clusters"


def _person(user: str, group: str) -> User | None:
    if bool(user) == bool(group.strip()):
        raise ApplicationError.at("user", "Name a person or a group, one of the two.")
    if not user:
        return None
    found = User.objects.filter(username=user).first()
    if found is None:
        raise ApplicationError.at("user", f"There is nobody called {user}.")
    return found
