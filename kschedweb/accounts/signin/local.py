"""Logins with a password: for everybody who has one, or for one administrator alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def password_allowed(user: User) -> bool:
    return settings.LOCAL_ACCOUNTS or user.get_username() == settings.BREAK_GLASS


def ways_in() -> dict[str, object]:
    """Return the ways to sign in that the login page offers."""
    return {
        "providers": list(settings.IDENTITY_PROVIDERS.values()),
        "local_accounts": settings.LOCAL_ACCOUNTS,
        "mail": bool(settings.EMAIL_URL),
    }
