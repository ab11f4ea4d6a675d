"""The meaning of plain scalars in go-yaml, with which kube-scheduler and kubectl read.

It is YAML 1.1 with the octal numbers of 1.2. A number of base 60, such as ``1:00:00``, is text; so is a date.
"""

from __future__ import annotations

import math
import re
from typing import Any

INT64_MAX = (1 << 63) - 1
_NUMERIC = "+-.0123456789"
# Longer decimal numbers are read as floats, because they exceed 64 bits.
_UINT64_DIGITS = 20

_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(
    r"[+-]?(0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[+-]\d\d:\d\d)?)?"
)


def resolve_scalar(text: str) -> Any:
    """Return the null, boolean, number or text that the plain scalar ``text`` means.

    A whole number beyond 64 bits is a float, and a number beyond that is text.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC or _DATE.fullmatch(text):
        return text
    plain = _without_underscores(text)
    if (whole := _parse_whole(plain)) is not None:
        return whole
    if _FLOAT.fullmatch(plain) and math.isfinite(real := float(plain)):
        return real
    return text


def exceeds_64_bits(text: str) -> bool:
    """Return whether ``text`` is a number too large for 64 bits or a float.

    ``resolve_scalar`` then changes its value.
    """
    if not text or text[0] not in _NUMERIC:
        return False
    plain, value = _without_underscores(text), resolve_scalar(text)
    if isinstance(value, int):
        return not -INT64_MAX - 1 <= value <= INT64_MAX
    return bool(_INTEGER.fullmatch(plain)) or (isinstance(value, str) and bool(_FLOAT.fullmatch(plain)))


def _without_underscores(text: str) -> str:
    """Return a number without the underscores that may stand between its digits."""
    return text if text[0] == "." else text.replace("_", "")


def _parse_whole(plain: str) -> int | None:
    match = _INTEGER.fullmatch(plain)
    if match is None:
        return None
    base, digits = next((base, match[name]) for name, base in _BASES.items() if match[name])
    # Reading it would take time quadratic in its length.
    if base == 10 and len(digits) > _UINT64_DIGITS:
        return None  # to read it takes time by the square of its length
    number = int(digits, base) * (-1 if plain[0] == "-" else 1)
    fits = -INT64_MAX - 1 <= number <= INT64_MAX or (0 <= number < 1 << 64 and plain[0] != "+")
    return number if fits else None
