"""Entries of the allowlist of clusters that administrators add, where the operator lets them."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet

from kschedweb.accounts import audit
from kschedweb.clusters.connecting.addresses import (
    CLUSTERS,
    AddressError,
    Network,
    Resolver,
    embedded_ipv4,
    host_normalise,
    is_forbidden,
    resolve_host,
)
from kschedweb.clusters.models import AllowedAddress
from kschedweb.web.conflicts import conflict_where
from kschedweb.web.errors import ApplicationError, Conflict, Forbidden, NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

# The shortest prefixes of networks, by version of IP: a wider network is for the operator to allow.
SHORTEST_PREFIXES = {4: 8, 6: 32}
# Labels of a suffix, so that nobody allows all of *.com.
FEWEST_LABELS = 2
FIELD = "entry"


def allowed_address_list() -> QuerySet[AllowedAddress]:
    """Return the entries that administrators added, with who added each."""
    return AllowedAddress.objects.select_related("added_by")


@transaction.atomic
def allowed_address_add(*, user: User | None, entry: str, resolver: Resolver | None = None) -> AllowedAddress:
    """Add ``entry`` to the allowlist. Raises ``ApplicationError`` at the field ``entry`` if it may not be added."""
    _expect_editable()
    normal = entry_normalise(entry, resolver=resolver)
    if normal in CLUSTERS.operator_entries:
        raise Conflict.at(FIELD, f"{normal} is allowed already: it is in {CLUSTERS.variable}.")
    row = AllowedAddress(entry=normal, added_by=user)
    namesakes = AllowedAddress.objects.filter(entry=normal)
    with conflict_where(namesakes, Conflict.at(FIELD, f"{normal} is allowed already.")):
        row.save(force_insert=True)
    audit.record(user, "cluster.address_allowed", row, normal)
    return row


@transaction.atomic
def allowed_address_remove(*, user: User | None, entry: str) -> None:
    """Remove what an administrator added. Connections that are open stay; new ones are refused."""
    _expect_editable()
    row = AllowedAddress.objects.filter(entry=entry).first()
    if row is None:
        raise NotFound(f"No administrator added {entry} to the allowed addresses, or it was removed already.")
    audit.record(user, "cluster.address_removed", row, row.entry)
    row.delete()


def entry_normalise(entry: str, *, resolver: Resolver | None = None) -> str:
    """Return ``entry`` as it is stored: a network, an address, a host name, or a ``*.suffix``.

    Raises ``ApplicationError`` at the field ``entry`` for what no request may go to, for networks and suffixes that are
    too wide, and for names of private addresses, which the allowlist would not admit.
    """
    entry = entry.strip()
    try:
        network = ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return _normalise_name(entry, resolver or resolve_host)
    shortest = SHORTEST_PREFIXES[network.version]
    if network.prefixlen < shortest:
        raise _refusal(
            f"{entry} is too wide: name a network of /{shortest} or smaller. Whoever runs this installation can name "
            f"wider ones in {CLUSTERS.variable}."
        )
    if _is_forbidden_network(network):
        raise _refusal(f"{entry} cannot be allowed: no request may go there (link-local, metadata or reserved).")
    # The check compares the IPv4 address that an IPv6 one stands for.
    return str(embedded_ipv4(network.network_address)) if network.num_addresses == 1 else str(network)


def _normalise_name(entry: str, resolver: Resolver) -> str:
    suffix = entry.startswith("*.")
    try:
        name = host_normalise(entry[2:] if suffix else entry)
    except AddressError:
        raise _refusal(
            "Enter an address (10.20.0.5), a network (10.20.0.0/16), a host name (api.example.com) or a suffix "
            "(*.example.com)."
        ) from None
    if suffix:
        if name.count(".") + 1 < FEWEST_LABELS:
            raise _refusal(f"{entry} is too wide: name at least *.example.com.")
        return f"*.{name}"
    try:
        texts = list(dict.fromkeys(resolver(name, 443)))
    except (OSError, UnicodeError):
        texts = []
    if not texts:
        raise _refusal(f"The name {name} cannot be resolved. Check the spelling.")
    addresses = [embedded_ipv4(ipaddress.ip_address(text.partition("%")[0])) for text in texts]
    if any(is_forbidden(address) for address in addresses):
        raise _refusal(f"{name} leads to an address that no request may go to (link-local, metadata or reserved).")
    if private := [str(address) for address in addresses if not address.is_global]:
        raise _refusal(
            f"{name} leads to {', '.join(private)}, which is not public. A name allows public addresses only: add the "
            "address or its network."
        )
    return name


def _is_forbidden_network(network: Network) -> bool:
    """Return whether requests are forbidden to the whole network, by its first and last address."""
    return all(is_forbidden(end) or is_forbidden(embedded_ipv4(end)) for end in (network[0], network[-1]))


def _refusal(message: str) -> ApplicationError:
    return ApplicationError.at(FIELD, message)


def _expect_editable() -> None:
    if not CLUSTERS.editable:
        raise Forbidden(
            f"Whoever runs this installation names its addresses in {CLUSTERS.variable}, and lets administrators add "
            f"others only with {CLUSTERS.variable}_EDITABLE."
        )
