"""Tells whether a session needs a second factor, and notes the ones that were shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.signals import (
    authentication_failed,
    authenticator_added,
    authenticator_removed,
    authenticator_reset,
    authenticator_used,
)
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.dispatch import receiver

from kschedweb.accounts import audit

if TYPE_CHECKING:
    from allauth.mfa.models import Authenticator
    from django.http import HttpRequest

    from kschedweb.accounts.models import User

# In the session: the primary key of the person who showed a factor.
FACTOR_SHOWN_KEY = "second_factor"


def is_factor_missing(request: HttpRequest, user: User) -> bool:
    """Return whether ``user`` logged in with a password, has a role that needs a second factor, and showed none."""
    if not (settings.SECOND_FACTOR_ROLES and user.has_usable_password()):
        return False
    if user.role not in settings.SECOND_FACTOR_ROLES and not any(
        grant.role in settings.SECOND_FACTOR_ROLES for grant in user.grants
    ):
        return False
    # People whom an identity provider or the proxy signed in have shown their factors there.
    if not any(
        record.get("method") == "password" for record in request.session.get(AUTHENTICATION_METHODS_SESSION_KEY, ())
    ):
        return False
    return bool(request.session.get(FACTOR_SHOWN_KEY) != user.pk)


@receiver(authenticator_used, dispatch_uid="second factor shown")
def on_factor_used(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    request.session[FACTOR_SHOWN_KEY] = user.pk


@receiver(authenticator_added, dispatch_uid="second factor added")
def on_factor_added(
    sender: object, request: HttpRequest, user: User, authenticator: Authenticator, **kwargs: Any
) -> None:
    request.session[FACTOR_SHOWN_KEY] = user.pk
    audit.record(user, "user.factor-added", user, user.username, kind=authenticator.type)


@receiver(authenticator_reset, dispatch_uid="recovery codes made")
def on_codes_reset(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    audit.record(user, "user.recovery-codes-made", user, user.username)


@receiver(authenticator_removed, dispatch_uid="second factor removed")
def on_factor_removed(
    sender: object, request: HttpRequest, user: User, authenticator: Authenticator, **kwargs: Any
) -> None:
    audit.record(user, "user.factor-removed", user, user.username, kind=authenticator.type)
    if not is_mfa_enabled(user):
        request.session.pop(FACTOR_SHOWN_KEY, None)


@receiver(authentication_failed, dispatch_uid="second factor wrong")
def on_factor_failed(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Count a wrong code as a wrong password."""
    user_login_failed.send(sender=__name__, credentials={"username": user.get_username()}, request=request)
