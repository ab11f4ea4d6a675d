"""crane-scheduler's node annotations ``value,time``, read as its Go code reads them, and its binding records.

Usages are fractions of the node's capacity, usually from 0 to 1. The time ends in a letter Z that looks like UTC, but
it is local time. Writer and reader each take the zone from their environment, by default Asia/Shanghai.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kschedweb.engine.json_types import Json

HOT_VALUE = "node_hot_value"
DEFAULT_TIME_ZONE = "Asia/Shanghai"
# Seconds that a metric stays valid beyond its sync period.
EXTRA = 300.0
# Seconds for which a hot value is valid.
HOT_ACTIVE = 300.0
# Binding records kept at most, of all nodes together.
HEAP_SIZE = 1024
# Characters; crane refuses shorter times before it parses them.
SHORTEST_TIME = 5

# Metric -> resource and key of the same figure in watermarks.
METRICS = {
    f"{prefix}_usage_{metric}": (resource, key)
    for prefix, resource in (("cpu", "cpu"), ("mem", "memory"))
    for metric, key in (("avg_5m", "5m"), ("max_avg_1h", "1h_max"), ("max_avg_1d", "1d_max"))
}

# The policy that crane-scheduler ships: metric, period of its writes, limit of a filter, weight of a score.
_SAMPLE = (
    ("avg_5m", "3m0s", 0.65, 0.2),
    ("max_avg_1h", "15m0s", 0.75, 0.3),
    ("max_avg_1d", "3h0m0s", 0.0, 0.5),
)
_SAMPLE_METRICS = [
    (f"{prefix}_usage_{metric}", *settings) for prefix in ("cpu", "mem") for metric, *settings in _SAMPLE
]
SAMPLE_POLICY: dict[str, list[Json]] = {
    "syncPolicy": [{"name": name, "period": period} for name, period, _, _ in _SAMPLE_METRICS],
    "predicate": [{"name": name, "maxLimitPecent": limit} for name, _, limit, _ in _SAMPLE_METRICS if limit],
    "priority": [{"name": name, "weight": weight} for name, _, _, weight in _SAMPLE_METRICS],
    "hotValue": [{"timeRange": "5m0s", "count": 5}, {"timeRange": "1m0s", "count": 2}],
}

# Go's number syntax, with underscores between digits.
_DIGITS = r"[0-9](?:_?[0-9])*"
_HEX = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP][+-]?{_DIGITS}")
_INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.(?P<part>[0-9]+))?Z")
_ASSIGNED = re.compile(r"Successfully[^\S\n]+assigned[^\S\n]+(?P<pod>\S+)[^\S\n]+to[^\S\n]+(?P<node>\S+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A day inside the range of Python's calendar, so that times fit in any zone; seconds of the epoch.
_FIRST, _LAST = -62135510400, 253402214400
_YEARS_400 = 146097 * 86400  # seconds; the calendar repeats after 400 years


class CraneError(ValueError):
    """crane-scheduler does not accept a text; the message tells the reason."""


def time_zone(name: str) -> ZoneInfo:
    """Return the zone ``name``, Asia/Shanghai if it is empty; raise CraneError if there is no such zone.

    Zones come from the database of Python or the system.
    """
    try:
        return ZoneInfo(name or DEFAULT_TIME_ZONE)
    except (LookupError, ValueError, OSError):
        raise CraneError(
            f"there is no time zone {name!r}: write one like Asia/Shanghai, Europe/Berlin or UTC"
        ) from None


class CraneReading(NamedTuple):
    """The content of an annotation."""

    value: float
    # When it was written, in seconds of the epoch.
    time: float

    def is_fresh(self, active: float, now: float) -> bool:
        """Return True if the reading is less than ``active`` seconds old, or from the future."""
        return now < self.time + active


def read_annotation(text: str, zone: ZoneInfo) -> CraneReading:
    """Read the annotation ``value,time``; raise CraneError if crane-scheduler treats it as missing."""
    parts = text.split(",")
    if len(parts) != 2:
        raise CraneError(f"has {len(parts) - 1} commas, one is needed: value,time")
    reading = CraneReading(read_number(parts[0]), read_time(parts[1], zone))
    if reading.value < 0:
        raise CraneError(f"its value {parts[0]} is negative")
    return reading


def write_usage(fraction: float, time: float, zone: ZoneInfo) -> str:
    """Return a usage as crane's controller writes it: five decimals, 0 for NaN and negative values."""
    return f"{fraction if fraction > 0 else 0.0:.5f},{write_time(time, zone)}"


def write_hot_value(value: int, time: float, zone: ZoneInfo) -> str:
    return f"{value},{write_time(time, zone)}"


def write_time(time: float, zone: ZoneInfo) -> str:
    """Return seconds of the epoch as local time of ``zone`` in whole seconds, with crane's meaningless Z."""
    return f"{(_EPOCH + timedelta(seconds=math.floor(time))).astimezone(zone):%Y-%m-%dT%H:%M:%S}Z"


def read_number(text: str) -> float:
    """Read a number as Go's `ParseFloat` does; raise CraneError.

    Unlike Python's ``float`` it accepts hexadecimal floats, but no blanks and no digits of other scripts. A number too
    large for a float is an error.
    """
    try:
        if _HEXADECIMAL.fullmatch(text):
            return float.fromhex(text.replace("_", ""))
        if _DECIMAL.fullmatch(text):
            if math.isinf(number := float(text.replace("_", ""))):
                raise OverflowError
            return number
    except OverflowError:
        raise CraneError(f"its value {text} is too large") from None
    if _INFINITY.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    if text.lower() == "nan":
        return math.nan
    raise CraneError(f"its value {text!r} is not a number")


def read_time(text: str, zone: ZoneInfo) -> float:
    """Read a local time of ``zone`` as Go does with the layout 2006-01-02T15:04:05Z; raise CraneError.

    The hour may have one digit, the seconds may have decimals. For a time that the zone has twice or not at all, the
    result is that of Go's search for the offset.
    """
    match = _TIME.fullmatch(text)
    if len(text) < SHORTEST_TIME or match is None:
        raise CraneError(f"its time {text!r} is not of the form 2026-11-21T14:00:00Z")
    year, month, day, hour, minute, second = (int(match[position]) for position in range(1, 7))
    try:
        # Python has no year 0: the same day 400 years later stands in for it.
        moment = datetime(year or 400, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise CraneError(f"its time {text} does not exist: {error}") from None
    local = (moment - _EPOCH) // timedelta(seconds=1)
    if year == 0:
        local -= _YEARS_400
    # Go's `time.Date` looks the offset up twice: first at the local time as if it were UTC, then at the result.
    utc = local - _utc_offset(local, zone)
    return local - _utc_offset(utc, zone) + (float(f"0.{match['part'][:9]}") if match["part"] else 0.0)


def _utc_offset(time: int, zone: ZoneInfo) -> int:
    """Return the seconds by which ``zone`` is ahead of UTC at ``time``.

    Outside the years 1 to 9999 it is the offset at the nearest end.
    """
    moment = _EPOCH + timedelta(seconds=min(max(time, _FIRST), _LAST))
    offset = moment.astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset else 0


class HotRule(NamedTuple):
    """A rule of the hot value: each ``pods`` pods bound to a node within ``seconds`` raise its heat by 1."""

    seconds: int
    pods: int


def hot_value(times: Sequence[int], now: float, rules: Iterable[HotRule]) -> int:
    """Return the heat of a node to which pods were bound at ``times`` (whole seconds of the epoch).

    Division is Go's integer division. A count of 0 raises ZeroDivisionError; in crane it makes the controller panic.
    """
    hot = 0
    for rule in rules:
        since = math.floor(now) - rule.seconds
        hot += divide_truncating(sum(time > since for time in times), rule.pods)
    return hot


def divide_truncating(dividend: int, divisor: int) -> int:
    """Return the quotient of two integers, truncated towards 0 as in Go."""
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


class Binding(NamedTuple):
    """A pod that was bound to a node."""

    namespace: str
    pod: str
    node: str
    # Whole seconds of the epoch.
    time: int


def read_event(message: str, count: int, event_time: int, last_time: int) -> Binding:
    """Read an event of reason Scheduled; raise CraneError. A counted event has the time of its last occurrence."""
    if (match := _ASSIGNED.match(message)) is None:
        raise CraneError(f"its message {message!r} does not say which pod was assigned to which node")
    parts = match["pod"].split("/")
    if len(parts) > 2:
        raise CraneError(f"its message names the pod {match['pod']}, which is not of the form namespace/name")
    namespace, pod = parts if len(parts) == 2 else ("", parts[0])
    return Binding(namespace, pod, match["node"], last_time if count else event_time)


class BindingRecords:
    """The latest bindings to all nodes, as crane's controller keeps them: a heap by time of limited size.

    A full heap drops its oldest record before it adds another, so a new record that is older than all others stays.
    """

    def __init__(self, size: int = HEAP_SIZE) -> None:
        self.size = size
        self._heap: list[tuple[int, int, str]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add_binding(self, node: str, time: int) -> None:
        """Record a binding to ``node`` at ``time``, in whole seconds of the epoch."""
        if len(self._heap) == self.size and self._heap:
            heapq.heappop(self._heap)
        heapq.heappush(self._heap, (time, self._added, node))
        self._added += 1

    def remove_expired(self, now: float, seconds: int) -> None:
        """Remove records that are at least ``seconds`` old; 0 keeps all."""
        while seconds and self._heap and self._heap[0][0] <= math.floor(now) - seconds:
            heapq.heappop(self._heap)

    def binding_times(self, node: str) -> list[int]:
        """Return the times at which pods were bound to ``node``."""
        return [time for time, _, name in self._heap if name == node]
