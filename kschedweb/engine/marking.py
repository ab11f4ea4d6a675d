"""Mark the engine's sentences for the catalogues of languages, without Django."""

from __future__ import annotations


def gettext_noop(text: str) -> str:
    """Return ``text`` as it is: pages translate it, all others read it in English."""
    return text
