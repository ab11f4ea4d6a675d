"""Go's ways of writing and reading values, where kube-scheduler's messages depend on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import numpy as np

INT64_MAX = (1 << 63) - 1
# The units of `time.ParseDuration`; there are two code points for mu.
NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
SECOND = NANOSECONDS["s"]

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"'}
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DURATION_PART = re.compile(r"(?P<whole>[0-9]*)(?P<point>\.(?P<part>[0-9]*))?")
_HEXADECIMAL = re.compile(r"[+-]?0x_?[0-9a-f_.]+p", re.IGNORECASE)
_UNIT = re.compile(r"[^.0-9]+")


def wrap_int64(number: int) -> int:
    """Return ``number`` as an int64 holds it."""
    return (number + INT64_MAX + 1) % (1 << 64) - INT64_MAX - 1


class Literal(float):
    """A number that JSON text does not write as a whole number."""

    # The number as it was written.
    text: str

    def __new__(cls, text: str) -> Literal:
        literal = super().__new__(cls, text)
        literal.text = text
        return literal


def quote(text: str) -> str:
    """Return ``text`` as Go's ``%q`` prints it."""
    return '"' + "".join(_quote_character(character) for character in text) + '"'


def _quote_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == " " or character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def marshal_json(value: Any) -> str:
    """Return compact JSON as Go's ``json.Marshal`` writes it (HTML characters escaped, order kept)."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # encoding/json escapes these for HTML and JavaScript.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def number_json(value: float, bits: int = 32) -> int | float:
    """Return a float of 32 or 64 bits as the shortest JSON number that reads back as the same value."""
    # str of a float32 gives the fewest digits that read back as the same float32.
    shortest = float(str(np.float32(value))) if bits == 32 else float(value)
    return int(shortest) if shortest.is_integer() and abs(shortest) < 1e21 else shortest


def parse_int(text: str) -> int | None:
    """Read a decimal 64-bit integer as ``strconv.ParseInt(text, 10, 64)`` does; ``None`` if that fails."""
    # Longer texts are refused first, because Python's int() is quadratic in the digits.
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) or len(text) > 64:
        return None
    number = int(text)
    return number if -INT64_MAX - 1 <= number <= INT64_MAX else None


def plain_sum(numbers: Iterable[float]) -> float:
    """Add up from left to right, as a loop in Go does. Python's ``sum`` compensates rounding errors, so it differs."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def parse_float(text: str) -> float | None:
    """Read a finite number as ``strconv.ParseFloat(text, 64)`` does; ``None`` if it is not one."""
    if text != text.strip() or not text.isascii():
        return None
    try:
        # Go wants the exponent of a hexadecimal number to be written.
        number = float.fromhex(text.replace("_", "")) if _HEXADECIMAL.match(text) else float(text)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def base64_fault(text: str) -> int | None:
    """Return the index of the byte at which Go's decoder rejects base64 text; ``None`` if it does not."""
    data = text.encode("utf-8", "surrogatepass")
    filled = 0
    for at, byte in enumerate(data):
        if byte in b"\r\n":
            continue
        if byte not in _BASE64:
            return _padding_fault(data, at, filled) if byte == ord("=") else at
        filled = (filled + 1) % 4
    return len(data) - filled if filled else None


def _padding_fault(data: bytes, at: int, filled: int) -> int | None:
    """Return the fault after the first ``=``, which stands at ``at`` after ``filled`` characters of a group of four."""
    if filled < 2:
        return at
    following = [index for index in range(at + 1, len(data)) if data[index] not in b"\r\n"]
    if filled == 2:
        if not following:
            return len(data)
        if data[following[0]] != ord("="):
            return following[0] - 1
        following = following[1:]
    return following[0] if following else None


def parse_duration(text: str) -> int:
    """Read a Go duration such as ``1m30s`` and return nanoseconds. Raises ``ValueError`` in Go's words."""
    remaining = text
    negative = remaining.startswith("-")
    if remaining[:1] in ("-", "+"):
        remaining = remaining[1:]
    if remaining == "0":
        return 0
    if not remaining:
        raise ValueError(f"time: invalid duration {_time_quote(text)}")
    total = 0
    while remaining:
        amount, remaining = _duration_step(remaining, text)
        total += amount
        if total > INT64_MAX + (1 if negative else 0):
            raise ValueError(f"time: invalid duration {_time_quote(text)}")
    return -total if negative else total


def parse_seconds(text: str) -> float:
    """Read a duration as ``time.ParseDuration`` does and return seconds. Raises ValueError."""
    return parse_duration(text) / SECOND


def _duration_step(remaining: str, text: str) -> tuple[int, str]:
    """Read one number with its unit; return nanoseconds and the rest of the text."""
    match = _DURATION_PART.match(remaining)
    if match is None or not (match["whole"] or match["part"]):
        raise ValueError(f"time: invalid duration {_time_quote(text)}")
    remaining = remaining[match.end() :]
    unit = _UNIT.match(remaining)
    if unit is None:
        raise ValueError(f"time: missing unit in duration {_time_quote(text)}")
    if unit[0] not in NANOSECONDS:
        raise ValueError(f"time: unknown unit {_time_quote(unit[0])} in duration {_time_quote(text)}")
    if len(match["whole"].lstrip("0")) > len(str(INT64_MAX)):
        raise ValueError(f"time: invalid duration {_time_quote(text)}")
    scale = NANOSECONDS[unit[0]]
    amount = int(match["whole"].lstrip("0") or "0") * scale
    if match["part"]:
        # Go multiplies in float64 by scale / 10^digits, in this order, with the digits that fit into an int64.
        amount += int(float(int(match["part"][:18])) * (float(scale) / 10.0 ** len(match["part"][:18])))
    if amount > INT64_MAX + 1:
        raise ValueError(f"time: invalid duration {_time_quote(text)}")
    return amount, remaining[unit.end() :]


def _time_quote(text: str) -> str:
    """Quote as package time does: by bytes, with escapes for quotes, backslashes and all but printable ASCII."""
    plain: Callable[[int], str] = lambda byte: ("\\" if byte in b'"\\' else "") + chr(byte)  # noqa: E731
    return '"' + "".join(plain(b) if 0x20 <= b < 0x80 else f"\\x{b:02x}" for b in text.encode()) + '"'


def duration_text(nanoseconds: int) -> str:
    """Write a duration as Go's ``Duration.String`` does: ``10m0s``, ``1.5s``, ``250ms``, ``0s``."""
    sign = "-" if nanoseconds < 0 else ""
    remaining = abs(nanoseconds)
    if remaining == 0:
        return "0s"
    if remaining < SECOND:
        unit = next(name for name in ("ms", "µs", "ns") if remaining >= NANOSECONDS[name])
        return f"{sign}{_format_decimal(remaining, NANOSECONDS[unit])}{unit}"
    minutes, seconds = divmod(remaining, 60 * SECOND)
    text = _format_decimal(seconds, SECOND) + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{minutes}m{text}"
        if hours:
            text = f"{hours}h{text}"
    return sign + text


def _format_decimal(amount: int, scale: int) -> str:
    whole, part = divmod(amount, scale)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)
