"""Changes of people, sessions and tokens."""

from __future__ import annotations

import secrets
from datetime import timedelta

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kschedweb.accounts import audit, tokens
from kschedweb.accounts.administrators import keep_one, list_administrators
from kschedweb.accounts.models import Density, Token, User
from kschedweb.accounts.roles import Action, Role
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.languages import supported_language
from kschedweb.web.moments import zone_names

MAX_TOKEN_DAYS = 365
# Active tokens of a person.
MAX_TOKENS = 100


def temporary_password() -> str:
    """Return about 100 random bits that can be read out over a telephone: four groups of five."""
    # Without i, l, o, 0 and 1, which are hard to tell apart.
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


def user_create(*, actor: User | None, username: str, role: str, email: str = "") -> tuple[User, str]:
    """Create a person with a temporary password, which is returned and shown once."""
    user = User(username=username, role=role, email=email, must_change_password=True)
    password = temporary_password()
    # Before the transaction, because hashing takes long, and others could not write meanwhile.
    user.set_password(password)
    user.full_clean()
    namesakes = User.objects.filter(username__iexact=username)
    name_conflict = Conflict.at("username", "This name is taken.")
    if namesakes.exists():
        raise name_conflict
    with conflict_where(namesakes, name_conflict):
        user.save()
        audit.record(actor, "user.created", user, user.username, role=role)
    return user, password


@transaction.atomic
def user_change_role(*, actor: User, user: User, role: str) -> User:
    """Change the role from the person's next request on, tokens included."""
    user = User.objects.select_for_update().get(pk=user.pk)
    if role == user.role:
        return user
    if user.provider:
        raise Conflict(f"The role of {user.username} follows from groups at the identity provider: change them there.")
    before, user.role = user.role, role
    if before == Role.ADMIN and not user.everywhere(Action.ADMINISTER):
        # Read anew: ``user`` has the new role already, and is not saved yet.
        keep_one(user=User.objects.get(pk=user.pk))
    user.save(update_fields=["role"])
    audit.record(actor, "user.role-changed", user, user.username, before=before, after=role)
    return user


@transaction.atomic
def user_set_active(*, actor: User, user: User, active: bool) -> User:
    """Activate or deactivate a person. Deactivating ends sessions and tokens; activating brings back neither."""
    user = User.objects.select_for_update().get(pk=user.pk)
    if active == user.is_active:
        return user
    if not active:
        keep_one(user=user)
    user.is_active = active
    user.session_epoch += 1
    user.save(update_fields=["is_active", "session_epoch"])
    audit.record(actor, "user.activated" if active else "user.deactivated", user, user.username)
    if not active:
        tokens_revoke(actor=actor, user=user)
    return user


@transaction.atomic
def user_change(*, actor: User, user: User, role: str | None = None, is_active: bool | None = None) -> User:
    """Make both changes or neither; ``None`` leaves one as it is."""
    if role is not None:
        user = user_change_role(actor=actor, user=user, role=role)
    if is_active is not None:
        user = user_set_active(actor=actor, user=user, active=is_active)
    return user


def user_reset_password(*, actor: User | None, user: User) -> str:
    """Return a new temporary password, shown once. The person's sessions end and their tokens are revoked."""
    if not user.has_usable_password():
        raise Conflict(f"{user.username} has no password here: an identity provider signs them in.")
    password = temporary_password()
    _password_set(actor, user, password, "user.password-reset", temporary=True)
    return password


@transaction.atomic
def user_remove_factors(*, actor: User | None, user: User) -> None:
    """Remove every second factor of ``user``. Their sessions end."""
    removed, _ = Authenticator.objects.filter(user=user).delete()
    if removed:
        User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
        audit.record(actor, "user.factors-removed", user, user.username)


def password_renew(*, user: User, password: str) -> None:
    """Set the password of somebody who has the mailed link, which the form checked. All their sessions end."""
    _password_set(user, user, password, "user.password-renewed", temporary=False)


def password_change(*, user: User, password: str) -> None:
    """Set the person's own new password, which the form checked. Their other sessions end."""
    _password_set(user, user, password, "user.password-changed", temporary=False)


def _password_set(actor: User | None, user: User, password: str, verb: str, *, temporary: bool) -> None:
    # Before the transaction, as in ``user_create``.
    user.set_password(password)
    user.must_change_password = temporary
    with transaction.atomic():
        user.save(update_fields=["password", "must_change_password"])
        audit.record(actor, verb, user, user.username)
        if temporary:
            tokens_revoke(actor=actor, user=user)


def tokens_revoke(*, actor: User | None, user: User) -> None:
    """Revoke all tokens of somebody who is to be kept out, or who may not be who logs in."""
    for token in Token.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now()):
        token_revoke(actor=actor, token=token)


def user_display(
    *, user: User, time_zone: str | None = None, language: str | None = None, density: str | None = None
) -> User:
    """Set how pages look to ``user``; ``None`` keeps a part. Only they see it, so the audit trail does not have it."""
    if time_zone and time_zone not in zone_names():
        raise ApplicationError.at(
            "time_zone", f"There is no time zone {time_zone[:64]}. Choose one such as Asia/Tokyo."
        )
    if language and not supported_language(language):
        codes = ", ".join(code for code, _ in settings.LANGUAGES)
        raise ApplicationError.at("language", f"Choose one of {codes}, or leave it out.")
    if density is not None and density not in Density.values:
        raise ApplicationError.at(
            "density", f"Choose one of {', '.join(filter(None, Density.values))}, or leave it out."
        )
    user.time_zone = user.time_zone if time_zone is None else time_zone
    user.density = user.density if density is None else density
    user.language = user.language if language is None else language
    user.save(update_fields=["time_zone", "language", "density"])
    return user


@transaction.atomic
def sessions_end(*, user: User) -> None:
    """End every session of ``user``. The caller keeps its own by ``update_session_auth_hash``."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db()
    audit.record(user, "user.sessions-ended", user, user.username)


def admin_ensure(*, username: str, password: str = "") -> tuple[User | None, str]:
    """Make the first admin unless there is an active one (then ``None``). Returns the password in use."""
    if any(list_administrators()):
        return None, ""
    user = User.objects.filter(username=username).first() or User(username=username)
    if password:
        validate_password(password, user)
    password = password or temporary_password()
    user.role, user.is_active = Role.ADMIN, True
    user.set_password(password)
    with transaction.atomic():
        user.save()
        audit.record(None, "user.created", user, user.username, role=Role.ADMIN)
    return user, password


@transaction.atomic
def token_create(*, user: User, name: str, scope: Action | str, days: int) -> tuple[Token, str]:
    """Create a token for ``user``'s programs. Returns it and its key, which is shown once and not stored."""
    if not user.may(scope):
        message = "Your role does not allow this scope."
        raise ApplicationError.at("scope", message)
    if not 1 <= days <= MAX_TOKEN_DAYS:
        message = f"A token lives for 1 to {MAX_TOKEN_DAYS} days."
        raise ApplicationError.at("days", message)
    # The row is locked, so that a reset or a deactivation is either seen here, or sees this token.
    if not User.objects.select_for_update().filter(pk=user.pk, password=user.password, is_active=True).exists():
        raise Conflict("Your account was changed in the meantime. Log in again.")
    now = timezone.now()
    if Token.objects.filter(user=user, revoked_at=None, expires_at__gt=now).count() >= MAX_TOKENS:
        raise Conflict(f"You have {MAX_TOKENS} tokens. Revoke one first.")
    key, prefix = tokens.new_key()
    token = Token.objects.create(
        user=user,
        name=name,
        prefix=prefix,
        digest=tokens.compute_digest(key),
        scope=scope,
        expires_at=now + timedelta(days=days),
    )
    audit.record(user, "token.created", token, name, scope=scope, days=days, token_prefix=prefix)
    return token, key


@transaction.atomic
def token_revoke(*, actor: User | None, token: Token) -> Token:
    """Revoke the token, which stops working at once. Revoking it again changes nothing."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(actor, "token.revoked", token, token.name, token_prefix=token.prefix, owner=token.user.username)
    token.refresh_from_db()
    return token
