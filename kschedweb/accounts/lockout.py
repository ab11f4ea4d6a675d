"""Limits on tries of passwords: by name and address, by address, and at the same time.

axes counts failures in its table, so the limits hold over all processes and without the cache.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.conf import settings
from django.core.cache import cache
from django.db.models import Sum
from django.shortcuts import render
from django.utils.crypto import salted_hmac

from kschedweb.accounts import audit
from kschedweb.accounts.addresses import client_network
from kschedweb.accounts.models import User
from kschedweb.web.errors import TooManyRequests

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

# Passwords of one address that a process checks or lets wait. People in one office share an address.
TURNS = 4
_trying: Counter[str | None] = Counter()
_lock = threading.Lock()


@contextmanager
def password_turn(request: HttpRequest) -> Iterator[None]:
    """Hold a turn while a password is checked. An address that has all of its turns is refused before any work."""
    network = client_network(request)
    with _lock:
        if _trying[network] >= TURNS:
            raise TooManyRequests(
                "Too many passwords are being tried from your address. Try again in a moment.", retry_after=1
            )
        _trying[network] += 1
    try:
        yield
    finally:
        with _lock:
            _trying[network] -= 1
            # Removed at zero, so that the table does not grow with every address.
            if not _trying[network]:
                del _trying[network]


# Mails that one address may ask for, and that one mailbox may get.
MAILS_AN_HOUR = {"address": 20, "mail": 3}


def count_mail(request: HttpRequest, email: str) -> None:
    """Count a mail that a stranger asks for. Raises TooManyRequests."""
    for kind, value in (("address", client_network(request)), ("mail", email.lower())):
        # The cache holds digests only: neither addresses nor mailboxes.
        digest = salted_hmac("kschedweb.accounts.mail", str(value), algorithm="sha256").hexdigest()
        key = f"password_mail_{kind}_{digest}"
        mail_count = cache.get(key, 0)
        if mail_count >= MAILS_AN_HOUR[kind]:
            raise TooManyRequests("Too many mails were asked for. Try again in an hour.", retry_after=3600)
        cache.set(key, mail_count + 1, timeout=3600)


class Handler(AxesDatabaseHandler):
    """axes with a limit by address besides the one by name and address, and with the audit trail.

    The limit by name ends guesses about one person. The limit by address ends guesses of one password for many names; a
    correct password takes back the failures of its own name only, so that nobody can make room for further guesses with
    it.
    """

    def user_login_failed(self, sender: Any, credentials: dict[str, str], request: Any = None, **kwargs: Any) -> None:
        refused = request is None or request.axes_locked_out
        super().user_login_failed(sender, credentials, request, **kwargs)
        # The entry of the lockout stands for all that follow.
        if refused:
            return
        user = User.objects.filter(username=credentials.get("username") or "").first()
        audit.record_refusal("login.failed", user)
        if request.axes_locked_out:
            minutes = int(settings.AXES_COOLOFF_TIME * 60)
            audit.record_refusal("login.locked", user, minutes=minutes, whole_address=address_is_locked(request))

    def user_logged_in(self, sender: Any, request: Any, user: User, **kwargs: Any) -> None:
        super().user_logged_in(sender, request, user, **kwargs)
        # Unset for a login with a password.
        provider = getattr(request, "signed_in_by", "")
        audit.record(user, "login.succeeded", user, user.get_username(), **({"provider": provider} if provider else {}))

    def user_logged_out(self, sender: Any, request: Any, user: User | None, **kwargs: Any) -> None:
        super().user_logged_out(sender, request, user, **kwargs)
        if user is not None:
            audit.record(user, "login.ended", user, user.get_username())

    def get_failures(self, request: Any, credentials: dict[str, str] | None = None) -> int:
        return settings.AXES_FAILURE_LIMIT if address_is_locked(request) else super().get_failures(request, credentials)


def address_is_locked(request: Any) -> bool:
    recent = AccessAttempt.objects.filter(
        ip_address=request.axes_ip_address, attempt_time__gte=get_cool_off_threshold(request)
    )
    failures = recent.aggregate(failures=Sum("failures_since_start"))["failures"] or 0
    return bool(failures >= settings.LOGIN_ADDRESS_LIMIT)


def name_key(request: HttpRequest, credentials: dict[str, str] | None = None) -> str:
    """Return what axes stores for a name: a digest, because people type their password there, too."""
    name = (credentials or request.POST).get("username") or ""
    return salted_hmac("kschedweb.accounts.lockout", name, algorithm="sha256").hexdigest()


def lockout(
    request: HttpRequest, original_response: HttpResponse | None = None, credentials: dict[str, str] | None = None
) -> HttpResponse:
    """Return a page with status 429 and the time to wait. It is the same whether the person exists or not."""
    wait = get_cool_off()
    seconds = int(wait.total_seconds()) if wait else 0
    context = {"cooloff_minutes": seconds // 60, "username": request.POST.get("username", "")[:150]}
    response = render(request, "accounts/lockout.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response
