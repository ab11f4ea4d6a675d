"""Cron expressions of CronJobs, in UTC: minute, hour, day of the month, month and day of the week."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from kschedweb.engine.values import dataclass

# Seconds.
MINUTE, HOUR, DAY = 60, 3600, 86400
# The first day of a month and of a week: schedules are easy to read from it.
MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
# Days to look ahead: five years, as the library of CronJobs does; a 29th of February may be four away.
LONGEST = 5 * 366
MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: place for place, name in enumerate(MONTH_NAMES, 1)}
WEEKDAYS = {name: place for place, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
# (name, least, most, words) of each part.
FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, MONTHS),
    ("day of the week", 0, 6, WEEKDAYS),
)
ALIASES = {
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
    """The times at which an expression is due."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    # Days of the month, from 1.
    days: frozenset[int]
    months: frozenset[int]
    # Days of the week; 0 is Sunday.
    weekdays: frozenset[int]
    # True if both days and weekdays are restricted: either is enough then.
    either: bool

    def next_after(self, time: float, begin: datetime) -> float | None:
        """Return when it is due next after ``time``; ``None`` for never.

        Both are in seconds from ``begin``, a midnight in UTC.
        """
        minute = int(time // MINUTE) + 1
        first, start_second = divmod(minute * MINUTE, DAY)
        for number in range(first, first + LONGEST):
            if not self._is_due_on((begin + timedelta(days=number)).date()):
                continue
            for second in self._times_of_day():
                if number > first or second >= start_second:
                    return float(number * DAY + second)
        return None

    def _times_of_day(self) -> Iterator[int]:
        return (hour * HOUR + minute * MINUTE for hour in self.hours for minute in self.minutes)

    def _is_due_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (of_month or of_week) if self.either else (of_month and of_week)


def parse_cron(text: str) -> Cron:
    """Read an expression; raises CronError."""
    spoken = ALIASES.get(text.strip(), text)
    if spoken.startswith("@"):
        raise CronError(f"{spoken}: is not known; known are {', '.join(ALIASES)}")
    parts = spoken.split()
    if len(parts) != len(FIELDS):
        raise CronError(f"must have five parts (minute, hour, day, month, day of the week), has {len(parts)}")
    parsed_fields = [_parse_field(part, *field) for part, field in zip(parts, FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = parsed_fields
    either = not any_day and not any_weekday
    return Cron(
        tuple(sorted(minutes)), tuple(sorted(hours)), frozenset(days), frozenset(months), frozenset(weekdays), either
    )


def _parse_field(text: str, name: str, minimum: int, maximum: int, words: dict[str, int]) -> tuple[set[int], bool]:
    """Return the values of one part, and whether it is a star."""
    all_values: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        values, whole = _parse_range(part, name, minimum, maximum, words)
        all_values |= set(values)
        star = star or whole
    return all_values, star


def _parse_range(text: str, name: str, minimum: int, maximum: int, words: dict[str, int]) -> tuple[range, bool]:
    extent, slash, stride = text.partition("/")
    # The library of CronJobs reads a question mark like a star.
    low, dash, high = extent.partition("-")
    star = low in ("*", "?")
    begin = minimum if star else _parse_number(low, name, words)
    # A single number with a step counts up to the end: 5/15 is 5-59/15.
    end = maximum if star or (slash and not dash) else _parse_number(high, name, words) if dash else begin
    step = _parse_number(stride, name, {}) if slash else 1
    if not minimum <= begin <= end <= maximum:
        raise CronError(f"{name}: {text} is not within {minimum} to {maximum}")
    if step < 1:
        raise CronError(f"{name}: {text} has a step of 0")
    # A star with a step restricts, as in the library of CronJobs.
    return range(begin, end + 1, step), star and step == 1


def _parse_number(text: str, name: str, words: dict[str, int]) -> int:
    if text.lower() in words:
        return words[text.lower()]
    if not NUMBER.fullmatch(text):
        raise CronError(f"{name}: {text or 'nothing'} is no number")
    return int(text)
