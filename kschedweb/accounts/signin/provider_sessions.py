"""Sessions that began at an identity provider last as long as it says so, with the groups that it names now.

The first request after the interval asks the provider, with the session's refresh token, and the answer holds for that
request already. Without a refresh token nobody can be asked, and the session ends then.
"""

from __future__ import annotations

from datetime import timedelta
from math import inf
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import requests
import structlog
from allauth.socialaccount.adapter import get_adapter
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.dispatch import receiver
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.accounts.models import ProviderSession
from kschedweb.accounts.sealing import seal, unseal
from kschedweb.accounts.signin.external_identity import SignInRefused, person_accept
from kschedweb.accounts.signin.identity_tokens import ProviderAway, TokenError, document_of, identity_verified
from kschedweb.accounts.signin.openid import Identity, external_identity_of
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.models import User
    from kschedweb.accounts.signin.configuration import Provider

# In the session: a primary key, and seconds of the epoch.
ROW, ASK_AT = "provider_session", "provider_ask_at"
# Intervals that a provider may be away before its sessions end.
PATIENCE = 3

logger = structlog.get_logger(__name__)


class SessionOver(Exception):
    """The provider says that the session is over. The message is the reason in the audit trail."""


@receiver(user_logged_in, dispatch_uid="provider session began")
def note_provider_session(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Note the session of a sign-in at a provider. Other logins are ignored."""
    identity: Identity | None = getattr(request, "identity", None)
    if identity is None:
        return
    if not request.session.session_key:
        request.session.save()
    key = request.session.session_key
    assert key is not None
    now = timezone.now()
    row = ProviderSession.objects.create(
        user=user,
        provider=identity.provider.id,
        subject=identity.outsider.subject,
        sid=identity.sid,
        session_key=key,
        id_token=seal(identity.id_token),
        refresh_token=seal(identity.refresh_token) if identity.refresh_token else "",
        asked_at=now,
        answered_at=now,
        expires_at=now + timedelta(seconds=settings.SESSION_COOKIE_AGE),
    )
    request.session[ROW] = row.pk
    request.session[ASK_AT] = time() + settings.OIDC_RECHECK_SECONDS


class ProviderMiddleware:
    """Asks the provider of the session when it is due, before anything is decided about the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.session.get(ASK_AT, inf) < time():
            _recheck_session(request)
        return self.get_response(request)


def _recheck_session(request: HttpRequest) -> None:
    row = ProviderSession.objects.select_related("user").filter(pk=request.session[ROW]).first()
    if row is None or not request.user.is_authenticated:
        end_session(request, row, "ended elsewhere")
        return
    request.session[ASK_AT] = time() + settings.OIDC_RECHECK_SECONDS
    # One of several requests at once asks, because a provider may accept a refresh token only once.
    if not ProviderSession.objects.filter(pk=row.pk, asked_at=row.asked_at).update(asked_at=timezone.now()):
        return
    try:
        request.user = refresh_session(row)
    except SessionOver as over:
        end_session(request, row, str(over))
    except ProviderAway as away:
        logger.warning("identity_provider_away", provider=row.provider, reason=str(away))
        silent = (timezone.now() - row.answered_at).total_seconds()
        if silent > PATIENCE * settings.OIDC_RECHECK_SECONDS:
            end_session(request, row, "the provider is away")


def refresh_session(row: ProviderSession) -> User:
    """Ask the provider about the session of ``row``. Returns the person as they are now. Raises SessionOver."""
    provider: Provider | None = settings.IDENTITY_PROVIDERS.get(row.provider)
    refresh_token = unseal(row.refresh_token) if row.refresh_token else None
    if provider is None or refresh_token is None:
        raise SessionOver("nobody can be asked")
    answer = _exchange_token(provider, refresh_token)
    try:
        claims = identity_verified(provider, answer.get("id_token"), nonce=None)
    except TokenError as error:
        raise SessionOver(f"identity token {error}") from None
    if claims["sub"] != row.subject:
        raise SessionOver("the answer is about somebody else")
    row.id_token = seal(answer["id_token"])
    # A provider that rotates refresh tokens gives a new one; others give none.
    row.refresh_token = seal(str(answer.get("refresh_token") or refresh_token))
    row.answered_at = timezone.now()
    row.save(update_fields=["id_token", "refresh_token", "answered_at"])
    try:
        return person_accept(outsider=external_identity_of(provider, claims), rules=provider.rules)
    except SignInRefused as refused:
        raise SessionOver(refused.reason) from None


def _exchange_token(provider: Provider, refresh_token: str) -> Json:
    """Return new tokens for a refresh token. Raises SessionOver if the provider refuses, ProviderAway if it fails."""
    body = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": provider.client_id}
    if provider.client_secret:
        body["client_secret"] = provider.client_secret
    document = document_of(provider)
    auth = None
    if _uses_basic_auth(document) and provider.client_secret:
        auth = requests.auth.HTTPBasicAuth(provider.client_id, body.pop("client_secret"))
    try:
        with get_adapter().get_requests_session() as session:
            answer = session.post(document["token_endpoint"], data=body, auth=auth, allow_redirects=False)
            payload = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise ProviderAway(type(error).__name__) from None
    if answer.status_code == 400 and isinstance(payload, dict) and payload.get("error") == "invalid_grant":
        raise SessionOver("ended at the provider")
    if answer.status_code != 200 or not isinstance(payload, dict):
        raise ProviderAway(f"status {answer.status_code}")
    return payload


def _uses_basic_auth(document: Json) -> bool:
    """Return whether the client's secret goes in a header, as allauth decides for the first exchange."""
    methods = document.get("token_endpoint_auth_methods_supported", [])
    return "client_secret_post" not in methods and "client_secret_basic" in methods


def end_session(request: HttpRequest, row: ProviderSession | None, reason: str) -> None:
    """End this session on this site."""
    user = row.user if row else None
    request.session.flush()
    request.user = AnonymousUser()
    if row is not None and user is not None:
        row.delete()
        audit.record(user, "login.ended", user, user.username, by=row.provider, reason=reason)


def sessions_end(provider: Provider, *, subject: str, sid: str) -> int:
    """End the sessions that the provider names: one by ``sid``, or all of ``subject``. Returns their number."""
    conditions = {"provider": provider.id, **({"sid": sid} if sid else {}), **({"subject": subject} if subject else {})}
    with transaction.atomic():
        rows = list(ProviderSession.objects.filter(**conditions).select_related("user"))
        for row in rows:
            SessionStore(row.session_key).delete()
            row.delete()
            audit.record(row.user, "login.ended", row.user, row.user.username, by=provider.id, reason="ended there")
    return len(rows)


def provider_logout_url(request: HttpRequest, back: str) -> str | None:
    """Return the address at which the browser ends its session at the provider, too; ``back`` is where it returns.

    ``None`` if the session did not begin at a provider, or that has no such address. Forgets the session's row.
    """
    row = ProviderSession.objects.filter(pk=request.session[ROW]).first() if ROW in request.session else None
    if row is None:
        return None
    row.delete()
    provider = settings.IDENTITY_PROVIDERS.get(row.provider)
    if provider is None:
        return None
    try:
        address = document_of(provider).get("end_session_endpoint")
    except ProviderAway:
        return None
    if not isinstance(address, str) or not address.startswith(("https://", "http://")):
        return None
    query = {"client_id": provider.client_id, "post_logout_redirect_uri": back}
    if id_token := unseal(row.id_token):
        query["id_token_hint"] = id_token
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"
