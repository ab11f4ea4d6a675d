"""Words that are translated when they are shown: for labels and registries, which are made once."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as lazy


def gettext_lazy(message: str) -> str:
    """``message`` in the language of whoever reads it; it is used as text is."""
    return cast(str, lazy(message))


def in_english() -> bool:
    """Whether the reader's language is the one that the sources are in."""
    return get_language() in (None, settings.LANGUAGE_CODE)
