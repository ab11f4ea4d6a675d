"""Reads people, tokens and the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.mfa.models import Authenticator
from django.db.models import Exists, OuterRef
from django.http import Http404

from kschedweb.accounts.models import AuditEntry, Grant, Token, User

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet


def user_list() -> QuerySet[User]:
    """Return everybody, each with ``has_factor``, which says whether they have a second factor."""
    factors = Authenticator.objects.filter(user=OuterRef("pk"))
    return User.objects.order_by("username", "id").annotate(has_factor=Exists(factors))


def user_get(username: str) -> User:
    user = User.objects.filter(username=username).first()
    if user is None:
        raise Http404("There is nobody of this name.")
    return user


def token_list(user: User) -> QuerySet[Token]:
    """Return the person's tokens, newest first."""
    return Token.objects.filter(user=user).select_related("user")


def token_get(user: User, token_id: int) -> Token:
    """Return one of the person's tokens. Another person's is not found."""
    token = token_list(user).filter(pk=token_id).first()
    if token is None:
        raise Http404("There is no such token.")
    return token


def grant_list() -> QuerySet[Grant]:
    """Return every grant, ordered by holder."""
    return Grant.objects.select_related("user", "created_by")


def grant_get(grant_id: UUID) -> Grant:
    grant = grant_list().filter(pk=grant_id).first()
    if grant is None:
        raise Http404("There is no such grant.")
    return grant


def audit_list() -> QuerySet[AuditEntry]:
    """Return the audit trail, newest first."""
    return AuditEntry.objects.all()
