"""Checks of kschedweb's own annotations: unreadable texts, and impossible times and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.state.watermarks.annotations import KEY, MEBIBYTE, AnnotatedUse
from kschedweb.engine.state.watermarks.lint.findings import (
    ERROR,
    HINT,
    KSCHEDWEB,
    SLACK,
    WARNING,
    LintFinding,
    Texts,
    format_count,
    format_duration,
    partial_finding,
    stale_finding,
)

KNOWN_KEYS = re.compile(
    r"(5m|10m|15m|1h|1d|15m_std|1h_max|1d_max|[0-9]+[smhd]_(avg|p50|p90|p95|p99))(_capacity)?|system"
)
EXAMPLES = "5m, 10m, 15m, 1h, 1d, 15m_std, 1h_max, 1d_max, 5m_p95 and the like, and system"
# Seconds.
STALE = 900.0
# Percent of allocatable that no node reaches.
MUCH = 150.0
# Cores of one pod from which on the writer must have meant milli-CPU.
MILLI = 1000.0
# Bytes of one pod below which the writer must have meant mebibytes.
TINY = MEBIBYTE / 16


def lint_own(nodes: Texts, workloads: Texts, now: float) -> Iterable[LintFinding]:
    """Return the findings on kschedweb's own annotations, read at ``now`` (seconds of the epoch)."""
    malformed: list[str] = []
    of_nodes, of_workloads = _read_uses(nodes, malformed), _read_uses(workloads, malformed)
    if malformed:
        message = f"Not understood, and so taken for missing: {format_count(malformed, 'text')}."
        advice = "Correct or remove them. kschedweb replaces them when it writes next."
        yield LintFinding("malformed", ERROR, KSCHEDWEB, message, advice, tuple(malformed))
    yield from _check_times(of_nodes | of_workloads, now)
    yield from _check_ranges(_flatten_figures(of_nodes), of_nodes)
    yield from _check_units(_flatten_figures(of_workloads))
    unknown = [place for place, key, _ in _flatten_figures(of_nodes | of_workloads) if not KNOWN_KEYS.fullmatch(key)]
    if unknown:
        message = f"Under a name that no policy asks for: {format_count(unknown, 'figure')}."
        yield LintFinding("unknown-figure", HINT, KSCHEDWEB, message, f"Known are {EXAMPLES}.", tuple(unknown))
    if of_nodes and (unannotated := sorted(name for name, listed in nodes.items() if KEY not in listed)):
        yield partial_finding(KSCHEDWEB, unannotated)


def _read_uses(texts: Texts, malformed: list[str]) -> dict[str, AnnotatedUse]:
    uses = {}
    for name, listed in texts.items():
        if KEY in listed:
            try:
                uses[name] = AnnotatedUse.from_json(listed[KEY])
            except ObjectError as error:
                malformed.append(f"{name}: {error}")
    return uses


def _check_times(uses: Mapping[str, AnnotatedUse], now: float) -> Iterable[LintFinding]:
    ages = {name: now - use.updated for name, use in uses.items()}
    if ahead := [name for name, age in ages.items() if age < -SLACK]:
        message = f"From the future, by up to {format_duration(-min(ages.values()))}: {format_count(ahead, 'text')}."
        advice = "The writer's clock is ahead, or it wrote local time with a Z: updated is UTC."
        yield LintFinding("ahead", ERROR, KSCHEDWEB, message, advice, tuple(ahead))
    if old := [name for name, age in ages.items() if age > STALE]:
        yield stale_finding(KSCHEDWEB, old, max(ages.values()), "Does anything write them still?")


def _check_ranges(figures: list[tuple[str, str, float]], nodes: Mapping[str, AnnotatedUse]) -> Iterable[LintFinding]:
    if above := [place for place, _, value in figures if value > MUCH]:
        message = f"Above {MUCH:g} %, which no node can use: {format_count(above, 'figure')}."
        yield LintFinding(
            "range", WARNING, KSCHEDWEB, message, "Figures of nodes are percent of allocatable.", tuple(above)
        )
    levels = [value for _, key, value in figures if not key.endswith("_std")]
    if len(nodes) > 1 and levels and 0.0 < max(levels) <= 1.0:
        message = "No figure of any node is above 1: they look like fractions."
        advice = "Figures of nodes are percent of allocatable, from 0 to 100."
        yield LintFinding("fraction", WARNING, KSCHEDWEB, message, advice, tuple(nodes))


def _check_units(figures: list[tuple[str, str, float]]) -> Iterable[LintFinding]:
    odd = [place for place, _, value in figures if ": cpu." in place and value >= MILLI]
    odd += [place for place, _, value in figures if ": memory." in place and 0.0 < value < TINY]
    if odd:
        message = f"Like milli-CPU, or mebibytes: {format_count(odd, 'figure')} of workloads."
        yield LintFinding(
            "unit", WARNING, KSCHEDWEB, message, "Figures of workloads are cores and bytes a pod.", tuple(odd)
        )


def _flatten_figures(uses: Mapping[str, AnnotatedUse]) -> list[tuple[str, str, float]]:
    """Return place, key and value of each figure."""
    return [
        (f"{name}: {resource}.{key}", key, value)
        for name, use in uses.items()
        for resource, values in use.figures.items()
        for key, value in values.items()
    ]
