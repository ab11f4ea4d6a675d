"""Checks of kschedweb's own annotations: unreadable texts, and impossible times and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.state.watermarks.annotations import KEY, MEBIBYTE, AnnotatedUse
from kschedweb.engine.state.watermarks.lint.findings import (
    ERROR,
    HINT,
    OWN,
    SLACK,
    WARNING,
    Finding,
    Texts,
    duration,
    many,
    partial,
    stale,
)

KNOWN_KEYS = re.compile(
    r"(5m|10m|15m|1h|1d|15m_std|1h_max|1d_max|[0-9]+[smhd]_(avg|p50|p90|p95|p99))(_capacity)?|system"
)
EXAMPLES = "5m, 10m, 15m, 1h, 1d, 15m_std, 1h_max, 1d_max, 5m_p95 and the like, and system"
STALE = 900.0  # seconds
MUCH = 150.0  # percent of allocatable that no node reaches
MILLI = 1000.0  # cores of one pod from which on milli-CPU must be meant
TINY = MEBIBYTE / 16  # bytes of one pod below which mebibytes must be meant


def lint_own(nodes: Texts, workloads: Texts, now: float) -> Iterable[Finding]:
    """The findings on kschedweb's own annotations, read at ``now`` (seconds of the epoch)."""
    malformed: list[str] = []
    of_nodes, of_workloads = _uses(nodes, malformed), _uses(workloads, malformed)
    if malformed:
        message = f"Not understood, and so taken for missing: {many(malformed, 'text')}."
        advice = "Correct or remove them. kschedweb replaces them when it writes next."
        yield Finding("malformed", ERROR, OWN, message, advice, tuple(malformed))
    yield from _times(of_nodes | of_workloads, now)
    yield from _ranges(_flat(of_nodes), of_nodes)
    yield from _units(_flat(of_workloads))
    unknown = [place for place, key, _ in _flat(of_nodes | of_workloads) if not KNOWN_KEYS.fullmatch(key)]
    if unknown:
        message = f"Under a name that no policy asks for: {many(unknown, 'figure')}."
        yield Finding("unknown-figure", HINT, OWN, message, f"Known are {EXAMPLES}.", tuple(unknown))
    if of_nodes and (without := sorted(name for name, listed in nodes.items() if KEY not in listed)):
        yield partial(OWN, without)


def _uses(texts: Texts, malformed: list[str]) -> dict[str, AnnotatedUse]:
    found = {}
    for name, listed in texts.items():
        if KEY in listed:
            try:
                found[name] = AnnotatedUse.read(listed[KEY])
            except ObjectError as error:
                malformed.append(f"{name}: {error}")
    return found


def _times(uses: Mapping[str, AnnotatedUse], now: float) -> Iterable[Finding]:
    ages = {name: now - use.updated for name, use in uses.items()}
    if ahead := [name for name, age in ages.items() if age < -SLACK]:
        message = f"From the future, by up to {duration(-min(ages.values()))}: {many(ahead, 'text')}."
        advice = "The writer's clock is ahead, or it wrote local time with a Z: updated is UTC."
        yield Finding("ahead", ERROR, OWN, message, advice, tuple(ahead))
    if old := [name for name, age in ages.items() if age > STALE]:
        yield stale(OWN, old, max(ages.values()), "Does anything write them still?")


def _ranges(figures: list[tuple[str, str, float]], nodes: Mapping[str, AnnotatedUse]) -> Iterable[Finding]:
    if above := [place for place, _, value in figures if value > MUCH]:
        message = f"Above {MUCH:g} %, which no node can use: {many(above, 'figure')}."
        yield Finding("range", WARNING, OWN, message, "Figures of nodes are percent of allocatable.", tuple(above))
    levels = [value for _, key, value in figures if not key.endswith("_std")]
    if len(nodes) > 1 and levels and 0.0 < max(levels) <= 1.0:
        message = "No figure of any node is above 1: they look like fractions."
        advice = "Figures of nodes are percent of allocatable, from 0 to 100."
        yield Finding("fraction", WARNING, OWN, message, advice, tuple(nodes))


def _units(figures: list[tuple[str, str, float]]) -> Iterable[Finding]:
    odd = [place for place, _, value in figures if ": cpu." in place and value >= MILLI]
    odd += [place for place, _, value in figures if ": memory." in place and 0.0 < value < TINY]
    if odd:
        message = f"Like milli-CPU, or mebibytes: {many(odd, 'figure')} of workloads."
        yield Finding("unit", WARNING, OWN, message, "Figures of workloads are cores and bytes a pod.", tuple(odd))


def _flat(uses: Mapping[str, AnnotatedUse]) -> list[tuple[str, str, float]]:
    """Place, key and value of each figure."""
    return [
        (f"{name}: {resource}.{key}", key, value)
        for name, use in uses.items()
        for resource, found in use.figures.items()
        for key, value in found.items()
    ]
