"""Cron expressions as CronJobs have them, in UTC: minute, hour, day of the month, month and day of the week."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from kschedweb.engine.values import dataclass

MINUTE, HOUR, DAY = 60, 3600, 86400  # seconds
MONDAY = datetime(2024, 1, 1, tzinfo=UTC)  # the first of a month, and of a week
LONGEST = 5 * 366  # days to look ahead, since a 29th of February may be far away
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: place for place, name in enumerate(MONTH_NAMES, 1)}
WEEKDAYS = {name: place for place, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, MONTHS),
    ("day of the week", 0, 6, WEEKDAYS),
)
NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


class CronError(ValueError):
    """An expression that cannot be understood; the text says which part, and why."""


@dataclass(frozen=True, slots=True)
class Cron:
    """The ``minutes``, ``hours``, ``days``, ``months`` and ``weekdays`` (0 is Sunday) at which it is due.

    Where both days and weekdays are restricted, it is due on either.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def after(self, time: float, begin: datetime) -> float | None:
        """When it is due next after ``time``, both in seconds from ``begin``, a midnight in UTC; ``None`` for never."""
        minute = int(time // MINUTE) + 1
        first, within = divmod(minute * MINUTE, DAY)
        for number in range(first, first + LONGEST):
            if not self._on((begin + timedelta(days=number)).date()):
                continue
            for second in self._times():
                if number > first or second >= within:
                    return float(number * DAY + second)
        return None

    def _times(self) -> Iterator[int]:
        return (hour * HOUR + minute * MINUTE for hour in self.hours for minute in self.minutes)

    def _on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (of_month or of_week) if self.either else (of_month and of_week)


def parse(text: str) -> Cron:
    """The expression ``text``; raises CronError."""
    spoken = NAMED.get(text.strip(), text)
    if spoken.startswith("@"):
        raise CronError(f"{spoken}: is not known; known are {', '.join(NAMED)}")
    parts = spoken.split()
    if len(parts) != len(FIELDS):
        raise CronError(f"must have five parts (minute, hour, day, month, day of the week), has {len(parts)}")
    found = [_field(part, *field) for part, field in zip(parts, FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = found
    either = not any_day and not any_weekday
    return Cron(
        tuple(sorted(minutes)), tuple(sorted(hours)), frozenset(days), frozenset(months), frozenset(weekdays), either
    )


def _field(text: str, name: str, least: int, most: int, words: dict[str, int]) -> tuple[set[int], bool]:
    """The values of one part, and whether it is a star."""
    found: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        values, whole = _range(part, name, least, most, words)
        found |= set(values)
        star = star or whole
    return found, star


def _range(text: str, name: str, least: int, most: int, words: dict[str, int]) -> tuple[range, bool]:
    extent, slash, stride = text.partition("/")
    low, dash, high = extent.partition("-")
    star = low in ("*", "?")
    begin = least if star else _number(low, name, words)
    end = most if star or (slash and not dash) else _number(high, name, words) if dash else begin
    step = _number(stride, name, {}) if slash else 1
    if not least <= begin <= end <= most:
        raise CronError(f"{name}: {text} is not within {least} to {most}")
    if step < 1:
        raise CronError(f"{name}: {text} has a step of 0")
    return range(begin, end + 1, step), star and step == 1


def _number(text: str, name: str, words: dict[str, int]) -> int:
    if text.lower() in words:
        return words[text.lower()]
    if not NUMBER.fullmatch(text):
        raise CronError(f"{name}: {text or 'nothing'} is no number")
    return int(text)
