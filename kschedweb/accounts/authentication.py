"""Authenticates callers of REST: a program by ``Authorization: Bearer ksw_…``, or a page by its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.throttling import SimpleRateThrottle

from kschedweb.accounts import tokens
from kschedweb.accounts.addresses import client_network

if TYPE_CHECKING:
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

    from kschedweb.accounts.models import Token, User


def person_of_token(request: HttpRequest) -> str:
    """Return the owner of the token of ``request`` as a key for heavy.py; "" for none."""
    key = _bearer_key(request)
    token = None if key is None else tokens.token_of(key)
    return "" if token is None or token.current_state != "active" else f"user {token.user_id}"


def person_of_session(request: HttpRequest) -> str:
    """Return the owner of the session of ``request`` as a key for heavy.py; "" for none."""
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    user = SessionStore(key).get(SESSION_KEY) if key else None
    return "" if user is None else f"user {user}"


def _bearer_key(request: HttpRequest | Request) -> str | None:
    """Return the bearer key of ``request``; ``None`` if it has none."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


class StrangerThrottle(SimpleRateThrottle):
    """A limit for callers without a valid key or session, by address."""

    scope = "stranger"

    def get_cache_key(self, request: Request, view: APIView | None) -> str:
        return f"throttle_stranger_{client_network(request)}"


class CallerThrottle(SimpleRateThrottle):
    """A limit for each token, and for each person in a session."""

    scope = "caller"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        caller = f"token_{request.auth.pk}" if request.auth is not None else f"user_{request.user.pk}"
        return f"throttle_{caller}"


def _count_stranger(request: Request) -> None:
    throttle = StrangerThrottle()
    if not throttle.allow_request(request, None):  # type: ignore[arg-type]
        raise Throttled(throttle.wait())


class TokenAuthentication(authentication.BaseAuthentication):
    """Bearer tokens for programs."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        key = _bearer_key(request)
        if key is None:
            return None
        token = tokens.token_of(key)
        if token is None or token.current_state != "active" or not token.user.is_active:
            _count_stranger(request)
            tokens.record_denial(token, token.current_state if token else "unknown")
            raise AuthenticationFailed("The token is not valid: unknown, expired or revoked.")
        tokens.mark_used(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="kschedweb"'


class SessionAuthentication(authentication.SessionAuthentication):
    """Sessions for the pages' own calls, with Django's CSRF check. Callers with neither are counted."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        user_and_auth = super().authenticate(request)
        if user_and_auth is None:
            _count_stranger(request)
        return user_and_auth


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token made on the page Tokens, `ksw_…`."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
