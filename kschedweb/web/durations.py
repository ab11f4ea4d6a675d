"""Durations and ages in words, in the language of the reader. frontend/src/duration-words.ts writes the same ones."""

from __future__ import annotations

import math
from itertools import dropwhile

from django.utils.translation import gettext, ngettext

# Seconds.
MINUTE, HOUR, DAY = 60, 3600, 86_400


def format_duration(seconds: float | None) -> str:
    """Return a duration with its two largest units: "1 day 2 h", "4 min 5 s", "2.5 s", "3 ms"; "–" for ``None``."""
    if seconds is None or math.isnan(seconds):
        return "–"
    # Below this it would not round to "1 s".
    if 0 < seconds < 0.9995:
        return format_milliseconds(seconds * 1000) if seconds >= 0.001 else gettext("under 1 ms")
    if seconds < MINUTE:
        number = f"{seconds:.1f}".removesuffix(".0") if seconds < 10 else f"{min(round(seconds), 59)}"
        return gettext("%(number)s s") % {"number": number}
    whole = int(seconds)
    counts = (whole // DAY, whole // HOUR % 24, whole // MINUTE % 60, whole % MINUTE)
    parts = list(
        dropwhile(
            lambda part: not part[0],
            zip(counts, (_format_days, _format_hours, _format_minutes, _format_seconds), strict=True),
        )
    )[:2]
    texts = [write(count) for count, write in parts if count]
    return gettext("%(whole)s %(rest)s") % {"whole": texts[0], "rest": texts[1]} if len(texts) > 1 else texts[0]


def format_rough_duration(seconds: float) -> str:
    """Return a duration with one unit: "40 s", "4 min", "3 h" or "2 days". Below 0 it is marked as in the future."""
    if seconds < 0:
        return gettext("%(duration)s ahead of the snapshot") % {"duration": format_rough_duration(-seconds)}
    if seconds < 2 * MINUTE:
        return _format_seconds(round(seconds))
    if seconds < 2 * HOUR:
        return _format_minutes(round(seconds / MINUTE))
    return _format_hours(round(seconds / HOUR)) if seconds < 2 * DAY else _format_days(round(seconds / DAY))


def format_range(first: str, last: str) -> str:
    """Return "30 s to 4 min", or "30 s" if both are the same."""
    return first if first == last else gettext("%(first)s to %(last)s") % {"first": first, "last": last}


def format_milliseconds(milliseconds: float) -> str:
    """Return milliseconds with their unit: "1,250 ms"."""
    return gettext("%(number)s ms") % {"number": f"{milliseconds:,.0f}"}


def format_ago(seconds: float, *, exact: bool = False) -> str:
    """Return an age: "just now" ("4 s ago" if ``exact``), "4 min ago", "3 h ago", "2 days ago"."""
    seconds = max(0, int(seconds))
    if seconds < 10 and not exact:
        return gettext("just now")
    if seconds < MINUTE:
        return gettext("%(number)s s ago") % {"number": seconds}
    if seconds < HOUR:
        return gettext("%(number)s min ago") % {"number": seconds // MINUTE}
    if seconds < 2 * DAY:
        return gettext("%(number)s h ago") % {"number": seconds // HOUR}
    return gettext("%(number)s days ago") % {"number": seconds // DAY}


def format_time_left(seconds: float | None) -> str:
    """Return an estimate: "about 12 s left", "about 4 min left", "about 2 h left"; "" if it is unknown."""
    if seconds is None:
        return ""
    if seconds < MINUTE:
        # In steps of 5 s from 20 s on: an estimate that changes every second looks more exact than it is.
        whole = max(1, round(seconds)) if seconds < 20 else 5 * round(seconds / 5)
        return gettext("about %(number)s s left") % {"number": whole}
    if seconds < 1.5 * HOUR:
        return gettext("about %(number)s min left") % {"number": round(seconds / MINUTE)}
    return gettext("about %(number)s h left") % {"number": round(seconds / HOUR)}


def _format_days(count: int) -> str:
    return ngettext("%(number)s day", "%(number)s days", count) % {"number": f"{count:,}"}


def _format_hours(count: int) -> str:
    return gettext("%(number)s h") % {"number": count}


def _format_minutes(count: int) -> str:
    return gettext("%(number)s min") % {"number": count}


def _format_seconds(count: int) -> str:
    return gettext("%(number)s s") % {"number": count}
