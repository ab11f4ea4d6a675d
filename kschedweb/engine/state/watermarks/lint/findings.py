"""The class of findings, and words that they share."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kschedweb.engine.values import dataclass

ERROR, WARNING, HINT = "error", "warning", "hint"
OWN, CRANE = "kschedweb", "crane"
SLACK = 60.0  # seconds that clocks may differ by

Texts = Mapping[str, Mapping[str, str]]  # object -> its annotations


@dataclass(frozen=True)
class Finding:
    """A finding; ``places`` are the objects that it concerns, with the annotation or figure if that matters."""

    code: str
    level: str
    form: str
    message: str
    advice: str
    places: tuple[str, ...]


def stale(form: str, places: Collection[str], oldest: float, advice: str) -> Finding:
    message = f"Stale: {many(places, 'text')}, the oldest {duration(oldest)} old."
    return Finding("stale", WARNING, form, message, advice, tuple(places))


def partial(form: str, without: Collection[str]) -> Finding:
    message = f"Some nodes are annotated and others are not: {many(without, 'node')} without."
    advice = "Policies treat such nodes differently: some prefer them, some never choose them."
    return Finding("partial", HINT, form, message, advice, tuple(without))


def many(listed: Collection[object], word: str) -> str:
    """A count with a noun, such as ``1 text`` or ``5,000 texts``."""
    return f"{len(listed):,} {word}{'' if len(listed) == 1 else 's'}"


def duration(seconds: float) -> str:
    """A duration such as ``8 h``, ``5 h 30 min`` or ``2 d 1 h``, rounded to minutes."""
    minutes = max(1, round(seconds / 60))
    days, rest = divmod(minutes, 1440)
    hours, rest = divmod(rest, 60)
    parts = [f"{days} d" if days else "", f"{hours} h" if hours else "", f"{rest} min" if rest and not days else ""]
    return " ".join(part for part in parts if part)
