"""Pages as tests read them, whatever the layout of their templates."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

_TAG = re.compile(r"(<[^>]*>)")
_INLINE = re.compile(
    r"</?(a|b|button|code|del|em|i|input|ins|kbd|label|output|progress|q|select|span|strong|svg|time)\b"
)
_VERBATIM = re.compile(r"<(/?)(pre|script|style|textarea)\b")


def compact(html: str) -> str:
    """HTML without the line breaks of its templates: they are nothing at the edges of an element and beside a block,
    and a space elsewhere. Other space stays as it is."""
    pieces = _TAG.split(html)
    verbatim = False
    for at, piece in enumerate(pieces):
        if at % 2:
            if kind := _VERBATIM.match(piece):
                verbatim = not kind[1]
            pieces[at] = re.sub(r"\s*\n\s*", " ", piece)
        elif not verbatim:
            before, after = pieces[at - 1] if at else "", pieces[at + 1] if at + 1 < len(pieces) else ""
            piece = re.sub(r"^\s*\n\s*", "" if not _ends_inline(before) else " ", piece)
            piece = re.sub(r"\s*\n\s*$", "" if not _begins_inline(after) else " ", piece)
            pieces[at] = "" if piece == " " and not (_ends_inline(before) and _begins_inline(after)) else piece
            pieces[at] = re.sub(r"\s*\n\s*", " ", pieces[at])
    return "".join(pieces)


def _ends_inline(tag: str) -> bool:
    return bool(_INLINE.match(tag)) and tag.startswith(("</", "<input"))


def _begins_inline(tag: str) -> bool:
    return bool(_INLINE.match(tag)) and not tag.startswith("</")


def html_of(answer: Any) -> str:
    """The HTML of an answer, compact."""
    return compact(answer.content.decode())


def text(answer: Any) -> str:
    """The same with its entities as characters; the answer is a page that was found."""
    assert answer.status_code == 200, answer.status_code
    return unescape(html_of(answer))
