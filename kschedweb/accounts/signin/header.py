"""Signs people in by the header of a proxy.

The header counts only on connections from the proxy's own addresses; on others it is ignored. A session that began with
it needs it in every request: without it, or with another name in it, the session ends.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.contrib.auth import login, logout

from kschedweb.accounts import audit
from kschedweb.accounts.signin.configuration import HEADER
from kschedweb.accounts.signin.external_identity import ExternalIdentity, SignInRefused, groups_read, person_accept
from kschedweb.accounts.signin.views import refusal_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from ipaddress import IPv4Address, IPv6Address

    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.signin.configuration import ProxyHeader

# In the session: the name that the header had.
BY_HEADER = "by_header"

logger = structlog.get_logger(__name__)


class HeaderMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        header: ProxyHeader | None = settings.REMOTE_HEADER
        if header is not None:
            try:
                _apply_header(request, header)
            except SignInRefused as refusal:
                audit.record_refusal("login.refused", refusal.user, provider=HEADER, reason=refusal.reason)
                return refusal_page(request, refusal.reason)
        elif settings.SESSION_COOKIE_NAME in request.COOKIES and BY_HEADER in request.session:
            # The operator has removed the header.
            logout(request)
        return self.get_response(request)


def _apply_header(request: HttpRequest, header: ProxyHeader) -> None:
    name = request.headers.get(header.name, "").strip()
    if name and not _from_proxy(request, header):
        logger.warning("remote_user_ignored", header=header.name, peer=request.META.get("REMOTE_ADDR", ""))
        name = ""
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    began_as = request.session.get(BY_HEADER) if has_session else None
    if began_as is not None and began_as != name:
        logout(request)
    # A token says who calls.
    if not name or "Authorization" in request.headers:
        return
    groups = request.headers.get(header.groups_name, "") if header.groups_name else ""
    outsider = ExternalIdentity(
        provider=HEADER,
        subject=name,
        username=name,
        groups=groups_read([group.strip() for group in groups.split(",")]),
    )
    user = request.user
    is_same_person = began_as == name and user.is_authenticated and user.provider == HEADER
    # Nothing changed since the last request, so nothing is written.
    if user.is_authenticated and is_same_person:
        same = user.provider_groups == list(outsider.groups)
        if same and header.rules.role_of(outsider.groups) == user.role:
            return
    try:
        person = person_accept(outsider=outsider, rules=header.rules)
    except SignInRefused:
        if has_session:
            logout(request)
        raise
    if is_same_person:
        request.user = person
        return
    request.signed_in_by = HEADER  # type: ignore[attr-defined]
    login(request, person, backend="django.contrib.auth.backends.ModelBackend")
    request.session[BY_HEADER] = name


def _from_proxy(request: HttpRequest, header: ProxyHeader) -> bool:
    """Return whether the connection itself comes from the proxy, regardless of X-Forwarded-For."""
    try:
        remote_address: IPv4Address | IPv6Address = ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0])
    except ValueError:
        return False
    peer = getattr(remote_address, "ipv4_mapped", None) or remote_address
    return any(peer in network for network in header.networks)
