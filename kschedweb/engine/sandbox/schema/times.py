"""Read and write times as metav1.Time and metav1.MicroTime do."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kschedweb.engine.validation.golang import quote

# Go's layouts, which its error messages quote.
LAYOUT, MICRO_LAYOUT = "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.000000Z07:00"
_ZONE = (r"Z|[+-]\d\d:\d\d", "Z07:00")
# (pattern of a part, the part of Go's layout), in order: the first that does not match is in the error.
_STEPS = (
    (r"\d{4}", "2006"), ("-", "-"), (r"\d\d", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T"), (r"\d\d", "15"),
    (":", ":"), (r"\d\d", "04"), (":", ":"), (r"\d\d", "05"),
)  # fmt: skip
_PLAIN, _MICRO = (*_STEPS, (r"(?:[.,]\d+)?", ""), _ZONE), (*_STEPS, (r"\.\d{6}", ".000000"), _ZONE)


def normal_time(text: str, *, micro: bool) -> str:
    """Return the time as the API server writes it: in UTC, to the second or microsecond.

    Raises ValueError with Go's message.
    """
    layout, remaining = (MICRO_LAYOUT if micro else LAYOUT), text
    for form, element in _MICRO if micro else _PLAIN:
        match = re.match(form, remaining, re.ASCII)
        if match is None:
            raise ValueError(
                f"{_parse_error_prefix(text, layout)}: cannot parse {quote(remaining)} as {quote(element)}"
            )
        remaining = remaining[match.end() :]
    if remaining:
        raise ValueError(f"{_parse_error_prefix(text, layout)}: extra text: {quote(remaining)}")
    try:
        # Python keeps six digits of a fraction, and does not read a comma before it.
        moment = datetime.fromisoformat(re.sub(r"[.,](\d{1,6})\d*", r".\1", text)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"parsing time {quote(text)}: {_out_of_range(text)} out of range") from None
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds' if micro else 'seconds')}Z"


def _parse_error_prefix(text: str, layout: str) -> str:
    return f"parsing time {quote(text)} as {quote(layout)}"


def _out_of_range(text: str) -> str:
    """Return the first part that is out of range, as Go names it."""
    bounds = (("month", 5, 1, 12), ("day", 8, 1, 31), ("hour", 11, 0, 23), ("minute", 14, 0, 59), ("second", 17, 0, 59))
    for name, at, minimum, maximum in bounds:
        if not minimum <= int(text[at : at + 2]) <= maximum:
            return name
    return "year" if text.startswith("0000") else "day"
