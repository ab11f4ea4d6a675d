"""Words that are translated when they are shown, for labels and registries that are made once."""

from __future__ import annotations

import re
from typing import cast

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as lazy

_HAN = "\u4e00-\u9fff"
_BLANK_BETWEEN_HAN = re.compile(f"(?<=[{_HAN}]) (?=[{_HAN}])")
_MISSING_BLANK = re.compile(f"(?<=[{_HAN}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[{_HAN}])")


def gettext_lazy(message: str) -> str:
    """Return ``message`` in the language of the later reader. It is used as text is."""
    return cast(str, lazy(message))


def in_english() -> bool:
    """Return whether the reader's language is that of the sources."""
    return get_language() in (None, settings.LANGUAGE_CODE)


def fix_spacing(sentence: str) -> str:
    """Correct the blanks of a Chinese sentence: one beside Latin words, none between Chinese ones."""
    if get_language() != "zh-hans":
        return sentence
    return _MISSING_BLANK.sub(" ", _BLANK_BETWEEN_HAN.sub("", sentence))
