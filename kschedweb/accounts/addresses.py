"""The address that a request comes from, shared by lockouts, throttles, the audit trail and logs."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.dispatch import receiver
from django_structlog.signals import bind_extra_request_metadata

if TYPE_CHECKING:
    from django.http import HttpRequest
    from rest_framework.request import Request

# Bits that a provider hands to one customer: somebody with one IPv6 address has all of its network.
NETWORK_BITS = 64


def client_address(request: HttpRequest | Request) -> str | None:
    """Return the client's address; ``None`` if the connection has none, as on a Unix socket without a proxy.

    The operator's proxy appends the address that it sees to X-Forwarded-For; everything before that is the client's
    claim.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    address = _parse_address(forwarded.rpartition(",")[2]) or _parse_address(request.META.get("REMOTE_ADDR", ""))
    return str(address) if address else None


def client_network(request: HttpRequest | Request) -> str | None:
    """Return the key that limits count by: an IPv4 address itself, or the network of an IPv6 address."""
    address = client_address(request)
    if address is None or ":" not in address:
        return address
    return str(ip_network(f"{address}/{NETWORK_BITS}", strict=False).network_address)


def current_address() -> str | None:
    """Return the address of the current request, also in tasks that it started; ``None`` outside of a request."""
    address: str | None = structlog.contextvars.get_contextvars().get("ip")
    return address


@receiver(bind_extra_request_metadata, dispatch_uid="client address")
def bind_address(sender: object, request: HttpRequest, **kwargs: Any) -> None:
    """Bind the address to every log line of the request. Audit entries read it from there, too."""
    structlog.contextvars.bind_contextvars(ip=client_address(request))


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in ``text``, which may carry a port, brackets or a zone; ``None`` if there is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    # ::ffff:192.0.2.1 and 192.0.2.1 are the same client, so limits must not count them apart.
    return getattr(address, "ipv4_mapped", None) or address
