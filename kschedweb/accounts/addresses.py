"""Where a request comes from: the one answer that lockouts, throttles, the audit trail and logs share."""

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

NETWORK_BITS = 64  # what a provider hands to one customer: who has one IPv6 address has all of its network


def client_address(request: HttpRequest | Request) -> str | None:
    """The address of who asks; ``None`` where the connection has none, as on a Unix socket without a proxy.

    The operator's proxy appends the address that it sees to X-Forwarded-For; all before that is the client's claim.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    address = _parse_address(forwarded.rpartition(",")[2]) or _parse_address(request.META.get("REMOTE_ADDR", ""))
    return str(address) if address else None


def client_network(request: HttpRequest | Request) -> str | None:
    """What limits count by: an IPv4 address as it is, of an IPv6 address its network."""
    address = client_address(request)
    if address is None or ":" not in address:
        return address
    return str(ip_network(f"{address}/{NETWORK_BITS}", strict=False).network_address)


def current_address() -> str | None:
    """The address of the request that is being answered, also in tasks that it started; ``None`` outside of one."""
    address: str | None = structlog.contextvars.get_contextvars().get("ip")
    return address


@receiver(bind_extra_request_metadata, dispatch_uid="client address")
def bind_address(sender: object, request: HttpRequest, **kwargs: Any) -> None:
    """Every log line of the request, and every audit entry that it makes, carries the address."""
    structlog.contextvars.bind_contextvars(ip=client_address(request))


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address in ``text``, which may carry a port, brackets or a zone; ``None`` where there is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
