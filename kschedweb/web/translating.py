"""Words that are translated when they are shown: for labels and registries, which are made once."""

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
    """``message`` in the language of whoever reads it; it is used as text is."""
    return cast(str, lazy(message))


def in_english() -> bool:
    """Whether the reader's language is the one that the sources are in."""
    return get_language() in (None, settings.LANGUAGE_CODE)


def fix_spacing(sentence: str) -> str:
    """In Chinese a blank stands beside Latin words and no blank between Chinese ones, whatever fills a sentence."""
    if get_language() != "zh-hans":
        return sentence
    return _MISSING_BLANK.sub(" ", _BLANK_BETWEEN_HAN.sub("", sentence))
