"""The environment of an expression: functions, the variable ``device``, type names, and functions left out."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.cel.functions import Function, Library
from kschedweb.engine.cel.libraries import kubernetes, lists, optionals, regex, standard, strings
from kschedweb.engine.cel.types import (
    ANY,
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
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, eq=False)
class Language:
    """CEL as a range of releases has it."""

    functions: Mapping[str, Function]
    # The type of a device's attributes.
    attribute: Type
    # Types that an expression may have besides bool.
    results: frozenset[Type]
    # True since 1.37: the value in an optional keeps its type, only optionals have `or` and `orValue`, and a leading
    # dot skips the variables of macros. Before, each read of an optional unpacks and repacks its value, which loses
    # some types, and values of all types accept these calls.
    typed_optionals: bool


def _merge_functions(*parts: Library) -> dict[str, Function]:
    # In kube-scheduler's order: a call that could mean several overloads takes the first that fits.
    library = Library()
    for part in parts:
        library.merge(part)
    return library.functions


_COMMON = (standard.LIBRARY, regex.LIBRARY, lists.LIBRARY, optionals.LIBRARY, kubernetes.LIBRARY, strings.LIBRARY)
_EARLIER = (*_COMMON, lists.EARLIER, strings.EARLIER)
LANGUAGE_UP_TO_1_35 = Language(_merge_functions(*_EARLIER), ANY, frozenset({ANY}), typed_optionals=False)
LANGUAGE_1_36 = Language(_merge_functions(*_EARLIER, lists.INCLUDES), ANY, frozenset({ANY}), typed_optionals=False)
LANGUAGE_SINCE_1_37 = Language(
    _merge_functions(*_COMMON, lists.LATER, strings.LATER, lists.INCLUDES),
    DYN,
    frozenset({ANY, DYN}),
    typed_optionals=True,
)
# The only variable of a device selector.
DEVICE_NAME = "device"
# Identifiers with a value of their own: the variable, and the types.
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
# Functions that kube-scheduler has and the simulation lacks: the error says so.
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
