"""Findings of the checks, and words that they share."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kschedweb.engine.values import dataclass

ERROR, WARNING, HINT = "error", "warning", "hint"
KSCHEDWEB, CRANE = "kschedweb", "crane"
# Seconds by which clocks may differ.
SLACK = 60.0

# Object -> its annotations.
Texts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class LintFinding:
    """A finding of a check."""

    # The kind of finding, such as stale or malformed.
    code: str
    # ERROR, WARNING or HINT.
    level: str
    # The form of the annotations: KSCHEDWEB or CRANE.
    form: str
    message: str
    advice: str
    # The objects that it concerns, with the annotation or figure if that matters.
    places: tuple[str, ...]


def stale_finding(form: str, places: Collection[str], oldest: float, advice: str) -> LintFinding:
    message = f"Stale: {format_count(places, 'text')}, the oldest {format_duration(oldest)} old."
    return LintFinding("stale", WARNING, form, message, advice, tuple(places))


def partial_finding(form: str, unannotated: Collection[str]) -> LintFinding:
    message = f"Some nodes are annotated and others are not: {format_count(unannotated, 'node')} without."
    advice = "Policies treat such nodes differently: some prefer them, some never choose them."
    return LintFinding("partial", HINT, form, message, advice, tuple(unannotated))


def format_count(listed: Collection[object], word: str) -> str:
    """Return a count with a noun, such as ``1 text`` or ``5,000 texts``."""
    return f"{len(listed):,} {word}{'' if len(listed) == 1 else 's'}"


def format_duration(seconds: float) -> str:
    """Return a duration such as ``8 h``, ``5 h 30 min`` or ``2 d 1 h``, rounded to minutes."""
    minutes = max(1, round(seconds / 60))
    days, remainder = divmod(minutes, 1440)
    hours, remainder = divmod(remainder, 60)
    parts = [
        f"{days} d" if days else "",
        f"{hours} h" if hours else "",
        f"{remainder} min" if remainder and not days else "",
    ]
    return " ".join(part for part in parts if part)
