"""Grants: who has which role in which clusters. See docs/rights.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.accounts.grounds import grounds
from kschedweb.accounts.models import Grant, Scope, User
from kschedweb.accounts.reach import everything
from kschedweb.accounts.roles import Role
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from uuid import UUID

LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?=([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
MOST_LABELS = 20


def label_read(text: str, path: str = "label") -> str:
    """``text`` where it is like key=value; raises ApplicationError."""
    if not LABEL.fullmatch(text):
        raise ApplicationError.at(path, f"{text!r} is no label. Write key=value, such as env=prod.")
    return text


def cluster_names() -> dict[UUID, str]:
    """The names of all clusters by their ids."""
    with everything():
        return {ground.id: ground.name for ground in grounds()}


@transaction.atomic
def grant_give(
    *, actor: User | None, user: str = "", group: str = "", role: str, cluster: str = "", label: str = ""
) -> Grant:
    """Grant ``role`` to a person or a group, in ``cluster``, in those with ``label``, or in all where neither is given.

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
    what = {"user": person, "group": group.strip(), "role": role, "scope": scope, "cluster": found, "label": label}
    if Grant.objects.filter(**what).exists():
        raise Conflict("This was granted already.")
    grant = Grant.objects.create(**what, created_by=actor)
    audit.record(actor, "grant.given", grant, holder_of(grant), role=role, clusters=where_of(grant))
    return grant


@transaction.atomic
def grant_take(*, actor: User | None, grant: Grant) -> None:
    """Take a grant back; it counts no more from the next request on."""
    audit.record(actor, "grant.taken", grant, holder_of(grant), role=grant.role, clusters=where_of(grant))
    grant.delete()


def holder_of(grant: Grant) -> str:
    """Who has it: the person's name, or the group's with a word before."""
    return grant.user.username if grant.user else f"group {grant.group}"


def where_of(grant: Grant) -> str:
    """What it covers, as one writes it."""
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
