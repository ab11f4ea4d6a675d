"""Stored words of the engine and of jobs in the language of the reader: measures, steps, errors, notes, remarks.

All of them are stored in English. In English, and if they are not known, they stay as they are.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import gettext, gettext_noop

from kschedweb.engine.studies.measure.registry import find_spec
from kschedweb.web.messages.jobs import JOBS
from kschedweb.web.messages.measures import MEASURES
from kschedweb.web.messages.notes import NOTES
from kschedweb.web.messages.remarks import REMARKS
from kschedweb.web.messages.warnings import WARNINGS
from kschedweb.web.translating import fix_spacing, in_english

# Values with a unit. The percentage points of a share are not the points of a score.
UNITS = {
    "pods": gettext_noop("%(number)s pods (unit)"),
    "nodes": gettext_noop("%(number)s nodes (unit)"),
    "points": gettext_noop("%(number)s percentage points (unit)"),
    "budgets": gettext_noop("%(number)s budgets (unit)"),
    "jobs": gettext_noop("%(number)s jobs (unit)"),
    "changes": gettext_noop("%(number)s changes (unit)"),
    "node-hours": gettext_noop("%(number)s node-hours (unit)"),
    "workloads": gettext_noop("%(number)s workloads (unit)"),
}
# Parts that are shown unchanged: numbers with units, and names. The other parts of a message are words again.
_AS_THEY_ARE = frozenset(
    {"after", "column", "count", "days", "failed", "file", "last", "line", "metric", "moment", "most", "name",
     "names", "node", "nodes", "object", "of", "other", "plugin", "pod", "pods", "priority", "problem", "records",
     "same", "scorer", "seconds", "seed", "share", "size", "span", "total", "value", "zone"}
)  # fmt: skip
# Parts that match digits only, so that a pattern cannot swallow the words beside them.
_NUMBERS = frozenset({"after", "count", "days", "line", "most", "records", "seconds", "total"})
_AMOUNT = re.compile(r"(?P<number>[+−-]?[\d.,]+) (?P<unit>[a-z-]+?)s?$")
_SENTENCES = re.compile(r"(?<=\.) ")
_PART = re.compile(r"%\((\w+)\)s")


def translate_words(text: str) -> str:
    """Return a label, a sentence or several sentences of the engine in the language of the reader."""
    if not text or in_english():
        return text
    for pattern, message in _message_patterns():
        if (match := pattern.fullmatch(text)) is not None:
            parts = match.groupdict()
            translated_parts = {
                name: part if name in _AS_THEY_ARE else _translate_part(part) for name, part in parts.items()
            }
            return fix_spacing(gettext(message) % translated_parts)
    parted = _SENTENCES.split(text)
    if len(parted) > 1:
        return " ".join(translate_words(sentence) for sentence in parted)
    subject, _, note = text.partition(": ")
    if note and (told_note := translate_words(note)) != note:
        return gettext("%(of)s: %(note)s") % {"of": subject, "note": told_note}
    return text


def describe_measure(name: str, label: str, sentence: str) -> tuple[str, str]:
    """Return label and sentence of a measure from the registry, which may be newer than a stored record.

    The given ones are used for a measure that the registry no longer has.
    """
    spec = find_spec(name)
    return (
        (translate_words(spec.label), translate_words(spec.sentence))
        if spec
        else (translate_words(label), translate_words(sentence))
    )


def _translate_part(text: str) -> str:
    """Translate a part of a sentence: an amount, or words."""
    if _AMOUNT.fullmatch(text):
        return translate_amount(text)
    return translate_words(text)


def translate_amount(text: str) -> str:
    """Translate an amount with its unit, such as "12.5 points"."""
    match = None if in_english() else _AMOUNT.fullmatch(text)
    message = UNITS.get(f"{match['unit']}s") if match else None
    return gettext(message) % {"number": match["number"]} if match and message else text


def translate_unit(name: str) -> str:
    """Translate a unit alone, for an axis."""
    message = None if in_english() else UNITS.get(name)
    return (gettext(message) % {"number": ""}).strip() if message else name


@cache
def _message_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern for the text of each message. The first one that fits is meant."""
    patterns = []
    for message in (*MEASURES, *JOBS, *REMARKS, *NOTES, *WARNINGS):
        parts = _PART.split(message.replace("%%", "%"))
        # Only the last part of a message can hold several sentences.
        placeholders = zip(parts[1::2], parts[2::2], strict=True)
        ways = [
            r"[\d.,]+" if name in _NUMBERS else r"(?:(?!\. ).)+?" if following_text else ".+"
            for name, following_text in placeholders
        ]
        pattern = "".join(
            f"(?P<{part}>{ways[place // 2]})" if place % 2 else re.escape(part) for place, part in enumerate(parts)
        )
        patterns.append((re.compile(pattern), message))
    return patterns
