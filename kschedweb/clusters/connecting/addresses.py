"""The operator's allowlist of addresses that kschedweb may connect to, checked before any request.

A server's name is resolved once, every address is checked, and the request goes to a checked address. There is no
second look-up, which could have another result.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings

from kschedweb.web.errors import ApplicationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], list[str]]

# Metadata services of clouds, which give out credentials: Alibaba, Azure, Oracle, and EC2 over IPv6. No allowlist
# permits them. 169.254.169.254 is link-local, which is forbidden anyway.
METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")))
# Prefixes whose last 32 bits are an IPv4 address (RFC 6052, RFC 8215).
NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
# The old "IPv4-compatible" form, ::a.b.c.d.
COMPATIBLE = ipaddress.ip_network("::/96")
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)


class AddressError(ApplicationError):
    """A server address that is not allowed. The message is for the person who entered it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, errors=[{"path": "server", "message": message}])


class UnlistedAddress(AddressError):
    """A server address that only the allowlist lacks. ``entry`` is the narrowest entry that would allow it."""

    def __init__(self, message: str, entry: str) -> None:
        super().__init__(message)
        self.entry = entry


@dataclass(frozen=True)
class AddressRule:
    """The addresses that are allowed for one purpose.

    The settings are ``<NAME>_ALLOWLIST`` and ``<NAME>_ALLOW_INSECURE``, and of clusters ``CLUSTER_ALLOWLIST_EDITABLE``:
    it lets administrators add entries, which are rows of ``AllowedAddress``.
    """

    name: str
    # What is at such an address, with its article.
    subject: str

    @property
    def variable(self) -> str:
        return f"KSCHEDWEB_{self.name}_ALLOWLIST"

    @property
    def operator_entries(self) -> list[str]:
        """The entries of the operator's setting."""
        entries: list[str] = getattr(settings, f"{self.name}_ALLOWLIST")
        return entries

    @property
    def editable(self) -> bool:
        """True if the operator lets administrators add entries."""
        return bool(getattr(settings, f"{self.name}_ALLOWLIST_EDITABLE", False))

    @property
    def entries(self) -> list[str]:
        """The operator's entries, and those that administrators added as long as the operator lets them."""
        if not self.editable:
            return self.operator_entries
        # Not imported above: the process that makes the sandbox checks addresses without Django's apps.
        added = apps.get_model("clusters", "AllowedAddress")._default_manager
        return [*self.operator_entries, *added.values_list("entry", flat=True)]

    @property
    def insecure(self) -> bool:
        return bool(getattr(settings, f"{self.name}_ALLOW_INSECURE"))


CLUSTERS, EXTENDERS = AddressRule("CLUSTER", "another server"), AddressRule("EXTENDER", "an extender")
REPOSITORIES = AddressRule("REPOSITORY", "a git repository")
RULES = (CLUSTERS, EXTENDERS, REPOSITORIES)


@dataclass(frozen=True)
class CheckedEndpoint:
    """A checked server: connections go to ``address``, and the certificate must name ``host``."""

    scheme: str
    host: str
    port: int
    address: str
    path: str

    @property
    def url(self) -> str:
        """The URL for requests, with the checked address instead of the name."""
        literal = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{literal}:{self.port}{self.path}"

    @property
    def host_header(self) -> str:
        literal = f"[{self.host}]" if ":" in self.host else self.host
        return literal if self.port == {"https": 443, "http": 80}[self.scheme] else f"{literal}:{self.port}"


def resolve_host(host: str, port: int) -> list[str]:
    """Return every address of ``host``, in the resolver's order."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def endpoint_check(
    server: str,
    *,
    trusted: bool = False,
    open: bool = False,
    carries: str = "the token",
    resolver: Resolver | None = None,
    rule: AddressRule = CLUSTERS,
) -> CheckedEndpoint:
    """Return the endpoint of ``server``, an ``https://host[:port][/path]`` URL. Raises ``AddressError`` if not allowed.

    ``trusted``: the address comes from the operator's environment and need not be in the allowlist. ``open``: no secret
    is sent, so http:// is allowed. ``carries`` names what could be read in transit.
    """
    scheme, host, port, path = server_split(server)
    if scheme == "http" and not open and not rule.insecure:
        raise AddressError(f"The server must be an https:// address: over http {carries} could be read on the way.")
    allowlist = Allowlist([host] if trusted else rule.entries, rule)
    allowlist.expect_host(host)
    try:
        addresses = list(dict.fromkeys((resolver or resolve_host)(host, port)))
    except (OSError, UnicodeError):
        addresses = []
    if not addresses:
        raise AddressError(f"The server's name {host} cannot be resolved. Check the spelling.")
    # Every address must be allowed: a client that retries could reach any of them.
    for address in addresses:
        allowlist.check_address(host, ipaddress.ip_address(address.partition("%")[0]))
    return CheckedEndpoint(scheme, host, port, addresses[0], path)


def server_split(server: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and path of ``server``. Raises AddressError for other parts of a URL."""
    # urlsplit drops some of these characters silently, so they are refused before.
    if re.search(r"[\s\x00-\x1f\x7f\\]", server.strip()):
        raise AddressError("The server's address holds characters that an address cannot have.")
    try:
        parts = urlsplit(server.strip())
        port = parts.port
    except ValueError:
        raise AddressError("The server is not an address such as https://api.example.com:6443.") from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AddressError("The server is not an address such as https://api.example.com:6443.")
    if "@" in parts.netloc:
        raise AddressError("The server's address must not carry a user name or a password.")
    if parts.query or parts.fragment:
        raise AddressError("The server's address must end with its path: no ? or # part.")
    if port == 0:
        raise AddressError("Port 0 is not a port.")
    return (
        parts.scheme,
        host_normalise(parts.hostname),
        port or {"https": 443, "http": 80}[parts.scheme],
        _check_path(parts.path),
    )


def _check_path(path: str) -> str:
    if not re.fullmatch(r"(/[A-Za-z0-9._~:-]+)*/?", path) or ".." in path.split("/"):
        raise AddressError("The path of the server's address holds characters that are not expected there.")
    return path.rstrip("/")


def host_normalise(host: str) -> str:
    """Return ``host`` in lower case, without a final dot, in IDNA form."""
    host = host.lower().rstrip(".")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        host = ""
    if not host or len(host) > 253 or not all(LABEL.fullmatch(label) for label in host.split(".")):
        raise AddressError("The server's name is not a host name.")
    return host


class Allowlist:
    """The operator's list: networks (``10.0.0.0/8``), addresses, names, ``*.suffixes``, and ``*`` for any public name.

    A listed network allows its addresses, whatever the name. A listed name allows public addresses only: otherwise its
    owner could point it at this machine or its neighbours.
    """

    def __init__(self, entries: Iterable[str], rule: AddressRule = CLUSTERS) -> None:
        self.rule = rule
        self.networks: list[Network] = []
        self.names: set[str] = set()
        self.suffixes: list[str] = []
        for entry in entries:
            try:
                self.networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                if entry == "*":
                    self.suffixes.append("")
                elif entry.startswith("*."):
                    self.suffixes.append(f".{host_normalise(entry[2:])}")
                else:
                    self.names.add(host_normalise(entry))

    @property
    def is_empty(self) -> bool:
        return not (self.networks or self.names or self.suffixes)

    def names_host(self, host: str) -> bool:
        return host in self.names or any(host.endswith(suffix) for suffix in self.suffixes)

    def expect_host(self, host: str) -> None:
        """Raise ``AddressError`` if ``host`` is refused regardless of its addresses."""
        if self.is_empty and not self.rule.editable:
            raise AddressError(
                f"This installation allows no address of {self.rule.subject} yet: whoever runs it must name them in "
                f"{self.rule.variable}."
            )
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            # Where entries can be added, the addresses behind the name decide which one is missing.
            if not (self.networks or self.names_host(host) or self.rule.editable):
                raise self._unlisted_error(host, host) from None
        else:
            self.check_address(host, address)

    def check_address(self, host: str, address: Address) -> None:
        """Raise ``AddressError`` unless a request for ``host`` may go to ``address``."""
        # An IPv6 address can carry an IPv4 one, which must not get past the checks in this disguise.
        inner = embedded_ipv4(address)
        if is_forbidden(address) or is_forbidden(inner):
            raise AddressError(
                f"{host} leads to an address that no request may go to (link-local, metadata or reserved)."
            )
        if not (self._lists_address(inner) or (self.names_host(host) and inner.is_global)):
            raise self._unlisted_error(host, host if inner.is_global else str(inner))

    def _unlisted_error(self, host: str, entry: str) -> UnlistedAddress:
        adding = f"whoever runs it can add its name or its network to {self.rule.variable}"
        if self.rule.editable:
            adding = "an administrator can allow it on the page Clusters → Connect"
        return UnlistedAddress(f"{host} is not among the addresses that this installation allows: {adding}.", entry)

    def _lists_address(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)


def embedded_ipv4(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for (mapped, compatible, NAT64, 6to4, Teredo), else
    itself.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return address
    # :: and ::1 are the unspecified address and the loopback, not compatible addresses.
    if any(address in network for network in NAT64) or (address in COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def is_forbidden(address: Address) -> bool:
    """Return whether no cluster can be at ``address``, whatever the operator lists."""
    return (
        address in METADATA
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        # 0.0.0.0/8 means this host; 240.0.0.0/4 is reserved.
        or (address.version == 4 and (address.packed[0] == 0 or address.packed[0] >= 240))
        or (isinstance(address, ipaddress.IPv6Address) and address.is_site_local)
    )
