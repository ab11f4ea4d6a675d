"""What the engine and jobs say and store, in the language of the reader: measures, steps, errors, notes, remarks.

It is all stored in English. In English the words stay as they are; words that are not known do too.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import gettext, gettext_noop

from kschedweb.engine.studies.measure.registry import find_spec
from kschedweb.web.told.jobs import JOBS
from kschedweb.web.told.measures import MEASURES
from kschedweb.web.told.notes import NOTES
from kschedweb.web.told.remarks import REMARKS
from kschedweb.web.told.warnings import WARNINGS
from kschedweb.web.translating import in_english, spaced

# Values with a unit; the percentage points of a share are not the points of a score.
UNITS = {
    "pods": gettext_noop("%(number)s pods (unit)"),
    "nodes": gettext_noop("%(number)s nodes (unit)"),
    "points": gettext_noop("%(number)s percentage points (unit)"),
    "budgets": gettext_noop("%(number)s budgets (unit)"),
    "changes": gettext_noop("%(number)s changes (unit)"),
    "node-hours": gettext_noop("%(number)s node-hours (unit)"),
    "workloads": gettext_noop("%(number)s workloads (unit)"),
}
# Numbers with units, and names, are shown as they are; the other parts of a message are words again.
_AS_THEY_ARE = frozenset(
    {"after", "column", "count", "days", "failed", "file", "last", "line", "metric", "moment", "most", "name",
     "names", "node", "nodes", "object", "of", "other", "plugin", "pod", "pods", "priority", "problem", "records",
     "same", "scorer", "seconds", "seed", "share", "size", "span", "total", "value", "zone"}
)  # fmt: skip
_NUMBERS = frozenset({"after", "count", "days", "line", "most", "records", "seconds", "total"})
_AMOUNT = re.compile(r"(?P<number>[+−-]?[\d.,]+) (?P<unit>[a-z-]+?)s?$")
_SENTENCES = re.compile(r"(?<=\.) ")
_PART = re.compile(r"%\((\w+)\)s")


def words(said: str) -> str:
    """A label, a sentence or several sentences of the engine in the language of the reader."""
    if not said or in_english():
        return said
    for pattern, message in _patterns():
        if (match := pattern.fullmatch(said)) is not None:
            parts = match.groupdict()
            told = {name: part if name in _AS_THEY_ARE else _part(part) for name, part in parts.items()}
            return spaced(gettext(message) % told)
    parted = _SENTENCES.split(said)
    if len(parted) > 1:
        return " ".join(words(one) for one in parted)
    of, _, note = said.partition(": ")
    if note and (told_note := words(note)) != note:
        return gettext("%(of)s: %(note)s") % {"of": of, "note": told_note}
    return said


def describe_measure(name: str, label: str, sentence: str) -> tuple[str, str]:
    """Return label and sentence of a measure as the registry has them, not as they were when a record was kept.

    Those given are of a measure that the registry no longer has.
    """
    spec = find_spec(name)
    return (words(spec.label), words(spec.sentence)) if spec else (words(label), words(sentence))


def _part(said: str) -> str:
    """A part of a sentence: an amount, or words."""
    if _AMOUNT.fullmatch(said):
        return amount(said)
    return words(said)


def amount(said: str) -> str:
    """An amount with its unit, such as "12.5 points"."""
    match = None if in_english() else _AMOUNT.fullmatch(said)
    message = UNITS.get(f"{match['unit']}s") if match else None
    return gettext(message) % {"number": match["number"]} if match and message else said


def unit(name: str) -> str:
    """A unit alone, for an axis."""
    message = None if in_english() else UNITS.get(name)
    return (gettext(message) % {"number": ""}).strip() if message else name


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """What each message looks like when it is said; the first that fits is meant."""
    found = []
    for message in (*MEASURES, *JOBS, *REMARKS, *NOTES, *WARNINGS):
        parts = _PART.split(message.replace("%%", "%"))
        # Only what ends a message can be several sentences.
        named = zip(parts[1::2], parts[2::2], strict=True)
        ways = [r"[\d.,]+" if one in _NUMBERS else r"(?:(?!\. ).)+?" if rest else ".+" for one, rest in named]
        pattern = "".join(
            f"(?P<{one}>{ways[place // 2]})" if place % 2 else re.escape(one) for place, one in enumerate(parts)
        )
        found.append((re.compile(pattern), message))
    return found
