"""Every change of people, sessions and tokens."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kschedweb.accounts import audit, tokens
from kschedweb.accounts.models import Token, User
from kschedweb.accounts.roles import Role, may
from kschedweb.errors import ApplicationError, Conflict
from kschedweb.saving import conflict_where

if TYPE_CHECKING:
    from kschedweb.accounts.roles import Action

MAX_TOKEN_DAYS = 365
MAX_TOKENS = 100


def temporary_password() -> str:
    """About 100 random bits that can be read out over a telephone: four groups of five."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


def _keep_an_admin(user: User) -> None:
    others = User.objects.select_for_update().filter(role=Role.ADMIN, is_active=True).exclude(pk=user.pk)
    if user.role == Role.ADMIN and user.is_active and not others.exists():
        raise Conflict("This is the last active admin. Make somebody else admin first.")


@transaction.atomic
def user_create(*, actor: User | None, username: str, role: str, email: str = "") -> tuple[User, str]:
    """A person with a temporary password, which is returned and shown once."""
    user = User(username=username, role=role, email=email, must_change_password=True)
    password = temporary_password()
    user.set_password(password)
    user.full_clean()
    namesakes = User.objects.filter(username__iexact=username)
    taken = Conflict.at("username", "This name is taken.")
    if namesakes.exists():
        raise taken
    with conflict_where(namesakes, taken):
        user.save()
    audit.record(actor, "user.created", user, user.username, role=role)
    return user, password


@transaction.atomic
def user_change_role(*, actor: User, user: User, role: str) -> User:
    """Takes effect on the person's next request, tokens included."""
    user = User.objects.select_for_update().get(pk=user.pk)
    if role == user.role:
        return user
    _keep_an_admin(user)
    before, user.role = user.role, role
    user.save(update_fields=["role"])
    audit.record(actor, "user.role-changed", user, user.username, before=before, after=role)
    return user


@transaction.atomic
def user_set_active(*, actor: User, user: User, active: bool) -> User:
    """A deactivated person's sessions and tokens stop working at once; nothing of theirs is deleted."""
    user = User.objects.select_for_update().get(pk=user.pk)
    if active == user.is_active:
        return user
    if not active:
        _keep_an_admin(user)
    user.is_active = active
    user.session_epoch += 1
    user.save(update_fields=["is_active", "session_epoch"])
    audit.record(actor, "user.activated" if active else "user.deactivated", user, user.username)
    return user


@transaction.atomic
def user_change(*, actor: User, user: User, role: str | None = None, is_active: bool | None = None) -> User:
    """Both changes or neither; ``None`` leaves one as it is."""
    if role is not None:
        user = user_change_role(actor=actor, user=user, role=role)
    if is_active is not None:
        user = user_set_active(actor=actor, user=user, active=is_active)
    return user


@transaction.atomic
def user_reset_password(*, actor: User | None, user: User) -> str:
    """A new temporary password, shown once; the person's sessions end."""
    user = User.objects.select_for_update().get(pk=user.pk)
    password = temporary_password()
    user.set_password(password)
    user.must_change_password = True
    user.save(update_fields=["password", "must_change_password"])
    audit.record(actor, "user.password-reset", user, user.username)
    return password


@transaction.atomic
def password_change(*, user: User, password: str) -> None:
    """The person's own new password (checked by the form); their other sessions end."""
    user.set_password(password)
    user.must_change_password = False
    user.save(update_fields=["password", "must_change_password"])
    audit.record(user, "user.password-changed", user, user.username)


@transaction.atomic
def sessions_end(*, user: User) -> None:
    """End every session of ``user``; the caller keeps its own by ``update_session_auth_hash``."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db()
    audit.record(user, "user.sessions-ended", user, user.username)


@transaction.atomic
def admin_ensure(*, username: str, password: str = "") -> tuple[User | None, str]:
    """Make the first admin unless there is an active one (then ``None``); returns the password in use."""
    if User.objects.filter(role=Role.ADMIN, is_active=True).exists():
        return None, ""
    user = User.objects.filter(username=username).first() or User(username=username)
    if password:
        validate_password(password, user)
    password = password or temporary_password()
    user.role, user.is_active = Role.ADMIN, True
    user.set_password(password)
    user.save()
    audit.record(None, "user.created", user, user.username, role=Role.ADMIN)
    return user, password


@transaction.atomic
def token_create(*, user: User, name: str, scope: Action | str, days: int) -> tuple[Token, str]:
    """A token for ``user``'s programs and its key, which is shown once and not kept."""
    if not may(user.role, scope):
        message = "Your role does not allow this scope."
        raise ApplicationError.at("scope", message)
    if not 1 <= days <= MAX_TOKEN_DAYS:
        message = f"A token lives for 1 to {MAX_TOKEN_DAYS} days."
        raise ApplicationError.at("days", message)
    now = timezone.now()
    if Token.objects.filter(user=user, revoked_at=None, expires_at__gt=now).count() >= MAX_TOKENS:
        raise Conflict(f"You have {MAX_TOKENS} tokens. Revoke one first.")
    key, prefix = tokens.new_key()
    token = Token.objects.create(
        user=user,
        name=name,
        prefix=prefix,
        digest=tokens.digest(key),
        scope=scope,
        expires_at=now + timedelta(days=days),
    )
    audit.record(user, "token.created", token, name, scope=scope, days=days, token_prefix=prefix)
    return token, key


@transaction.atomic
def token_revoke(*, actor: User, token: Token) -> Token:
    """The token stops working at once; revoking it again changes nothing."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(actor, "token.revoked", token, token.name, token_prefix=token.prefix, owner=token.user.username)
    token.refresh_from_db()
    return token
