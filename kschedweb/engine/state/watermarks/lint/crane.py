"""Checks of crane-scheduler's annotations. The most common fault is a wrong zone: their local times end in a Z."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.lint.findings import (
    CRANE,
    ERROR,
    SLACK,
    WARNING,
    LintFinding,
    Texts,
    format_count,
    format_duration,
    partial_finding,
    stale_finding,
)
from kschedweb.engine.values import dataclass

CRANE_KEYS = frozenset({*crane.METRICS, crane.HOT_VALUE})
# Seconds between two writes in crane's published policy; a text stays valid for five minutes more.
PERIODS = {"5m": 180.0, "1h_max": 900.0, "1d_max": 10800.0}
# Seconds; zones differ by multiples of a quarter of an hour.
QUARTER, HALF_HOUR = 900.0, 1800.0
# Seconds between the two most distant zones.
FARTHEST = 26 * 3600.0


@dataclass(frozen=True)
class Stamp:
    """A readable annotation of one metric."""

    node: str
    metric: str
    value: float
    # Seconds, below 0 for a text from the future.
    age: float

    @property
    def place(self) -> str:
        return f"{self.node}: {self.metric}"

    @property
    def valid(self) -> float:
        """The seconds for which the text is valid."""
        if self.metric == crane.HOT_VALUE:
            return crane.HOT_ACTIVE
        return PERIODS[crane.METRICS[self.metric][1]] + crane.EXTRA


def lint_crane(nodes: Texts, now: float, zone: ZoneInfo) -> Iterable[LintFinding]:
    """Return the findings on crane's annotations, read at ``now`` (seconds of the epoch) as times of ``zone``."""
    malformed: list[str] = []
    stamps = list(_read_stamps(nodes, now, zone, malformed))
    if malformed:
        message = f"Not understood, and so taken for missing: {format_count(malformed, 'text')}."
        advice = "Each must be value,time such as 0.12345,2026-11-21T14:00:00Z."
        yield LintFinding("malformed", ERROR, CRANE, message, advice, tuple(malformed))
    shifts = {node: _guess_shift(of_node) for node, of_node in _by_node(stamps).items()}
    yield from _check_zones(shifts, now, zone)
    # A wrong zone explains these texts already.
    if old := [stamp for stamp in stamps if not shifts[stamp.node] and stamp.age >= stamp.valid]:
        oldest = max(stamp.age for stamp in old)
        yield stale_finding(
            CRANE, _list_places(old), oldest, "Does crane's annotator run, and does it reach Prometheus?"
        )
    yield from _check_ranges(stamps)
    annotated = {name for name, listed in nodes.items() if not CRANE_KEYS.isdisjoint(listed)}
    if annotated and (unannotated := sorted(set(nodes) - annotated)):
        yield partial_finding(CRANE, unannotated)


def _read_stamps(nodes: Texts, now: float, zone: ZoneInfo, malformed: list[str]) -> Iterable[Stamp]:
    for node, listed in nodes.items():
        for metric in sorted(CRANE_KEYS & listed.keys()):
            try:
                reading = crane.read_annotation(listed[metric], zone)
            except crane.CraneError as error:
                malformed.append(f"{node}: {metric}: {error}")
            else:
                yield Stamp(node, metric, reading.value, now - reading.time)


def _by_node(stamps: Iterable[Stamp]) -> dict[str, list[Stamp]]:
    stamps_by_node: dict[str, list[Stamp]] = {}
    for stamp in stamps:
        stamps_by_node.setdefault(stamp.node, []).append(stamp)
    return stamps_by_node


def _guess_shift(stamps: list[Stamp]) -> float:
    """Return the seconds by which the writer's zone seems to be ahead; 0 if nothing suggests another zone.

    Texts are written all the time, so the newest should be young. If it is from the future, or a little older than some
    whole or half hours, the zone is wrong.
    """
    newest = min(stamps, key=lambda stamp: stamp.age)
    if newest.age < -SLACK:
        ahead = math.ceil((-newest.age - SLACK) / QUARTER) * QUARTER
        return ahead if ahead <= FARTHEST else 0.0
    # Quarters of an hour are left out: such zones are rare, and texts that are simply old would often match.
    behind = newest.age // HALF_HOUR * HALF_HOUR
    in_step = newest.age - behind < min(newest.valid, QUARTER)
    return -behind if newest.age >= newest.valid and in_step and behind <= FARTHEST else 0.0


def _check_zones(shifts: Mapping[str, float], now: float, zone: ZoneInfo) -> Iterable[LintFinding]:
    """Yield findings for nodes whose times seem to be of another zone than ``zone``."""
    offset = datetime.fromtimestamp(now, zone).utcoffset()
    base_offset = offset.total_seconds() if offset else 0.0
    for shift, _ in Counter(shift for shift in shifts.values() if shift).most_common():
        nodes = tuple(node for node, node_shift in shifts.items() if node_shift == shift)
        other = _zone_words(base_offset + shift)
        advice = f"Set the time zone to the annotator's, or start crane's annotator with TZ={zone.key}."
        if shift > 0:
            message = (
                f"Written in {other}, it seems: read as {zone.key}, the stamps of {format_count(nodes, 'node')} "
                f"are up to {format_duration(shift)} in the future. crane takes such texts for fresh all that time."
            )
            yield LintFinding("zone-ahead", ERROR, CRANE, message, advice, nodes)
        else:
            message = (
                f"Written in {other}, it seems: read as {zone.key}, the stamps of {format_count(nodes, 'node')} "
                f"are old by {format_duration(-shift)} in step. "
                "crane takes such texts for missing. (Or nothing was written since.)"
            )
            yield LintFinding("zone-behind", WARNING, CRANE, message, advice, nodes)
    if len(set(shifts.values())) > 1:
        counts = Counter(_zone_words(base_offset + shift) for shift in shifts.values()).most_common()
        words = ", ".join(f"{count:,} in {name}" for name, count in counts)
        message = f"Nodes seem to be annotated in different zones: {words}. No setting reads them all."
        advice = "Look for a second annotator, or one that was started again with another TZ."
        yield LintFinding("mixed", ERROR, CRANE, message, advice, tuple(shifts))


def _check_ranges(stamps: Iterable[Stamp]) -> Iterable[LintFinding]:
    """Yield findings for values that are not finite, above 1 or, for hot values, no whole number."""
    if odd := [stamp for stamp in stamps if not math.isfinite(stamp.value)]:
        message = f"No finite number: {format_count(odd, 'text')}. What crane makes of them depends on the machine."
        yield LintFinding(
            "not-finite", ERROR, CRANE, message, "Look at the query that they come from.", _list_places(odd)
        )
    usages = [stamp for stamp in stamps if stamp.metric != crane.HOT_VALUE]
    if above := [stamp for stamp in usages if 1.0 < stamp.value < math.inf]:
        largest = max(stamp.value for stamp in above)
        like = " They look like percent." if largest > 2.0 else ""
        message = (
            f"Above 1, up to {largest:g}: {format_count(above, 'usage')}.{like} "
            "crane rejects such nodes, or scores them 0."
        )
        advice = "Usages are fractions from 0 to 1. crane divides what its recording rules give by 100."
        yield LintFinding("percent", WARNING, CRANE, message, advice, _list_places(above))
    hot = [stamp for stamp in stamps if stamp.metric == crane.HOT_VALUE and math.isfinite(stamp.value)]
    if broken := [stamp for stamp in hot if not stamp.value.is_integer()]:
        message = f"No whole number, as crane always writes one: {format_count(broken, 'hot value')}."
        yield LintFinding("hot-value", WARNING, CRANE, message, "Who else writes them?", _list_places(broken))


def _list_places(stamps: Iterable[Stamp]) -> tuple[str, ...]:
    return tuple(stamp.place for stamp in stamps)


def _zone_words(ahead: float) -> str:
    """Return the name of a zone that is ``ahead`` seconds ahead of UTC: ``UTC``, ``UTC+08:00``."""
    hours, minutes = divmod(abs(round(ahead)) // 60, 60)
    return f"UTC{'+' if ahead > 0 else '-'}{hours:02}:{minutes:02}" if ahead else "UTC"
