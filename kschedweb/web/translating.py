"""Words that are translated when they are shown: for labels and registries, which are made once."""

from __future__ import annotations

from typing import cast

from django.utils.translation import gettext_lazy as lazy


def gettext_lazy(message: str) -> str:
    """``message`` in the language of whoever reads it; it is used as text is."""
    return cast(str, lazy(message))
