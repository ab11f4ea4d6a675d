"""What an expression can use: all functions, the variable ``device``, and what is left out, by name."""

from __future__ import annotations

from kschedweb.engine.cel.functions import Function, Library
from kschedweb.engine.cel.kinds import (
    BOOL,
    BYTES,
    DEVICE,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from kschedweb.engine.cel.libraries import kubernetes, lists, optionals, regex, standard, strings


def _functions() -> dict[str, Function]:
    # In kube-scheduler's order: a call that could mean several overloads takes the first that fits.
    library = Library()
    for part in (standard, regex, lists, optionals, kubernetes, strings):
        library.merge(part.LIBRARY)
    return library.functions


FUNCTIONS = _functions()
DEVICE_NAME = "device"
# The names that stand for a value of their own: the variable, and types.
NAMES: dict[str, Type] = {DEVICE_NAME: DEVICE} | {
    kind.name: type_of(kind)
    for kind in (
        *(BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT),
        list_of(Type("param", "A")),
        map_of(Type("param", "A"), Type("param", "B")),
        optional_of(DYN),
        Type("type", "type"),
    )
}
LEFT_OUT = frozenset(
    (
        *("duration", "timestamp", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear"),
        *("getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds"),
        *("url", "isURL", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery"),
        *("ip", "isIP", "ip.isCanonical", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast"),
        *("isLinkLocalUnicast", "isGlobalUnicast", "cidr", "isCIDR", "containsIP", "containsCIDR", "masked"),
        *("prefixLength", "format", "format.named", "validate"),
    )
)
