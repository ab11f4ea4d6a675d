"""Translate the engine's help on plugins and fields into the reader's language."""

from __future__ import annotations

import re

from django.utils.translation import gettext, gettext_noop

from kschedweb.web.translating import in_english

# Sentences that the engine appends to a help text. The last one appended is taken off first.
_ADDED = (
    (re.compile(r"(?s)(.*\S) Range: (\S+) to (\S+)\.$"), gettext_noop("%(help)s Range: %(value)s to %(most)s.")),
    (re.compile(r"(?s)(.*\S) At least (\S+)\.$"), gettext_noop("%(help)s At least %(value)s.")),
    (re.compile(r"(?s)(.*\S) At most (\S+)\.$"), gettext_noop("%(help)s At most %(value)s.")),
    (re.compile(r"(?s)(.*\S) One of ((?:(?!\. ).)+)\.$"), gettext_noop("%(help)s One of %(value)s.")),
    (re.compile(r"(?s)(.*\S) Default: (.+)\.$"), gettext_noop("%(help)s Default: %(value)s.")),
)


def translate_help(text: str) -> str:
    """Return the translation of ``text``, the engine's English; unknown text stays as it is."""
    if not text or in_english():
        return text
    # The catalogues treat "%" as a placeholder, so it is doubled there.
    if (translated := gettext(text.replace("%", "%%"))) != text.replace("%", "%%"):
        return translated.replace("%%", "%")
    for pattern, message in _ADDED:
        if (match := pattern.match(text)) is not None:
            parts = dict(zip(("help", "value", "most"), match.groups(), strict=False))
            return gettext(message) % {**parts, "help": translate_help(parts["help"])}
    return text
