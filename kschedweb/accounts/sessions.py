"""Limits of a session: the time since the login, and the time since the person last did something.

Requests that a page makes by itself do not count as activity: neither parts that poll nor streams.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver

from kschedweb.accounts import audit
from kschedweb.accounts.roles import Action
from kschedweb.accounts.signin.local import password_allowed

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.models import User

# frame/live.ts sets it.
POLL_HEADER = "X-Poll"
# In the session, in seconds of the epoch.
LOGIN_TIME_KEY, LAST_SEEN_KEY = "began", "seen"
# Seconds, so that reading does not become writing.
NOTED_EVERY = 60


def session_limits(user: User) -> tuple[int, int]:
    """Return the seconds after the login, and without activity (0: any), after which ``user``'s session is over."""
    if user.may(Action.ADMINISTER):
        return settings.ADMIN_SESSION_HOURS * 3600, settings.ADMIN_SESSION_IDLE_MINUTES * 60
    return settings.SESSION_HOURS * 3600, settings.SESSION_IDLE_MINUTES * 60


@receiver(user_logged_in, dispatch_uid="session began")
def note_login(sender: object, request: HttpRequest, user: User, **kwargs: Any) -> None:
    request.session[LOGIN_TIME_KEY] = request.session[LAST_SEEN_KEY] = int(time())


class SessionMiddleware:
    """Ends a session whose time is over, by what its person's role allows now, and notes activity."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            _check_session(request, request.user)
        return self.get_response(request)


def _check_session(request: HttpRequest, user: User) -> None:
    now, session = int(time()), request.session
    # Sessions of an older release have no time of their login.
    if LOGIN_TIME_KEY not in session:
        note_login(None, request, user)
    lifetime, idle = session_limits(user)
    # Local accounts may have been switched off during the session.
    if not (user.provider or password_allowed(user)):
        lifetime = 0
    if now - session[LOGIN_TIME_KEY] >= lifetime or (idle and now - session[LAST_SEEN_KEY] >= idle):
        session.flush()
        request.user = AnonymousUser()
        audit.record(user, "login.expired", user, user.get_username())
    elif idle and _by_person(request) and now - session[LAST_SEEN_KEY] >= min(NOTED_EVERY, idle // 4):
        session[LAST_SEEN_KEY] = now


def _by_person(request: HttpRequest) -> bool:
    return POLL_HEADER not in request.headers and request.headers.get("Accept") != "text/event-stream"
