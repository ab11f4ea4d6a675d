"""A language in which every marked message is between ⟦ and ⟧, so that what nobody marked is seen on a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from gettext import NullTranslations

from django.utils.translation import trans_real

BEGINS, ENDS = "⟦", "⟧"
CODE = "ja"  # the language in whose place it stands


class Pseudo(NullTranslations):
    plural_forms = None

    def gettext(self, message: str) -> str:
        return f"{BEGINS}{message}{ENDS}" if message else ""

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"{BEGINS}{msgid1 if n == 1 else msgid2}{ENDS}"

    def to_language(self) -> str:
        return CODE


@contextmanager
def pseudo_language() -> Iterator[str]:
    """While it lasts, the language of the code that is given is the marked one."""
    before = trans_real.translation(CODE)
    catalogues: dict[str, object] = vars(trans_real)["_translations"]
    catalogues[CODE] = Pseudo()
    try:
        yield CODE
    finally:
        catalogues[CODE] = before
