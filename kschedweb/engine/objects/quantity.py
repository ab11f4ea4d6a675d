"""Kubernetes quantities as exact whole numbers of nano-units.

The API server keeps at most nine decimals and rounds the rest up, so nano-units lose nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping

NANO = 10**9
MILLI = NANO // 1000
NEGATIVE = "must not be negative"
# Amounts are capped at the highest int64.
_LARGEST = 2**63 - 1
_MAX = _LARGEST * NANO
# Go's `ParseQuantity` accepts a point without digits on one side.
_FORM = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?", re.ASCII)
# Spaces that Kubernetes skips around a quantity: all but those that JSON writes as escapes.
_BLANKS = " \u0085\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# Significant digits that count: the largest amount has 28 in nano-units, so the rest only rounds up.
_DIGITS = 60
# Characters that an error quotes.
_MAX_SHOWN = 80
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=65536)
def parse_quantity(quantity: str) -> int:
    """Return nano-units of ``quantity`` (``"100m"``, ``"1.5Gi"``, ``"2e3"``); raise ObjectError for another form."""
    match = _FORM.fullmatch(quantity.strip(_BLANKS))
    abridged = repr(quantity if len(quantity) <= _MAX_SHOWN else f"{quantity[:_MAX_SHOWN]}…")
    if not match or not (match[2] or match[3]):
        raise ObjectError(f"{abridged} is not a quantity, such as 500m, 2 or 1.5Gi")
    sign, whole, fraction, exponent, suffix = match.groups(default="")
    if len(exponent) > 6:
        raise ObjectError(f"{abridged} has an exponent out of range")
    power = 9 - len(fraction) + (int(exponent[1:]) if exponent else _DECIMAL.get(suffix, 0))
    amount = _scale_digits((whole + fraction).lstrip("0"), _BINARY.get(suffix, 0), power)
    return -amount if sign == "-" else amount


def _scale_digits(digits: str, doublings: int, power: int) -> int:
    """Return ``digits`` times 2 to the power of ``doublings`` and 10 to that of ``power``, rounded up and capped.

    However many digits there are, they are read only once.
    """
    if not digits:
        return 0
    leading, trailing = digits[:_DIGITS], digits[_DIGITS:]
    scaled, power = (int(leading) + bool(trailing.strip("0"))) << doublings, power + len(trailing)
    tens: int = 10 ** min(abs(power), 2 * _DIGITS)
    return min(scaled * tens if power >= 0 else -(-scaled // tens), _MAX)


def read_quantity(value: Any, path: str = "") -> int:
    """Return nano-units of a quantity in JSON, a string or a number; raise ObjectError, also for a negative one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ObjectError(f"{path}: must be a quantity, such as 500m, 2 or 1.5Gi")
    try:
        amount = parse_quantity(value if isinstance(value, str) else repr(value))
    except ObjectError as error:
        raise ObjectError(f"{path}: {error}") from None
    if amount < 0:
        raise ObjectError(f"{path}: {NEGATIVE}, is {value}")
    return amount


def read_signed_quantity(value: Any, path: str = "") -> int:
    """Return nano-units of a quantity that may be negative, as of objects that were stored before it was checked."""
    text = value if isinstance(value, str) else repr(value)
    if not text.startswith("-"):
        return read_quantity(value, path)
    return -read_quantity(text.removeprefix("-"), path)


def read_quantities(raw: Json, key: str, path: str = "") -> dict[str, int]:
    """Return ``raw[key]`` as resource name -> nano-units.

    They are rounded up to milli-units, as the API server does in such lists. An amount of null is 0.
    """
    return {
        name: 0 if value is None else _round_up(read_quantity(value, f"{path}{key}.{name}"), MILLI)
        for name, value in get_mapping(raw, key, path).items()
    }


def _round_up(nano: int, step: int) -> int:
    """Return the next multiple of ``step``, away from 0."""
    rounded = -(-abs(nano) // step) * step
    return rounded if nano > 0 else -rounded


def round_to_unit(resource: str, nano: int) -> int:
    """Return the scheduler's amount: milli-CPU or whole units, rounded up, within 64 bits."""
    unit = MILLI if resource == "cpu" else NANO
    return max(-_LARGEST, min(-(-nano // unit), _LARGEST))


def canonicalize_quantity(text: str) -> str:
    """Return a quantity as the API server writes it once it has read it."""
    nano = parse_quantity(text)
    if text.endswith("i") and nano % NANO == 0:
        return format_binary(nano // NANO)
    return format_decimal(nano, -3)


def format_decimal(amount: int, thousands: int) -> str:
    """Return ``amount`` times 1000 to the power of ``thousands`` with the largest suffix that stays exact."""
    if not amount:
        return "0"
    while amount % 1000 == 0:
        amount, thousands = amount // 1000, thousands + 1
    return f"{amount}{'num kMGTPE'[thousands + 3].strip()}"


def format_binary(amount: int) -> str:
    """Return ``amount`` with the largest binary suffix that stays exact."""
    # apimachinery writes what is below one Ki in decimal form.
    if abs(amount) < 1024:
        return format_decimal(amount, 0)
    power = 0
    while amount % 1024 == 0:
        amount, power = amount // 1024, power + 1
    return f"{amount}{('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')[power]}"
