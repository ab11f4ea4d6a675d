"""Pages as tests read them, whatever the layout of their templates, and what a view decided."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from typing import Any

_TAG = re.compile(r"(<[^>]*>)")
_INLINE = re.compile(
    r"</?(a|b|button|code|del|em|i|input|ins|kbd|label|output|progress|q|select|span|strong|svg|time)\b"
)
_VERBATIM = re.compile(r"<(/?)(pre|script|style|textarea)\b")
_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_SELECTOR_PART = re.compile(r"([#.]?)([\w-]+)|\[([\w-]+)(?:=([^]]*))?]")  # the parts of a selector


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


@dataclass
class Element:
    """An element of a page; its text has no line breaks of the template."""

    tag: str
    attributes: dict[str, str]
    ancestors: list[Element]
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def fits(self, selector: str) -> bool:
        """Return whether it matches a selector without spaces: ``tag#id.class[name][name=value]``."""
        for sign, word, name, value in (part.groups() for part in _SELECTOR_PART.finditer(selector)):
            if name:
                fits = name in self.attributes and value in (None, self.attributes[name])
            elif sign == "#":
                fits = self.attributes.get("id") == word
            elif sign == ".":
                fits = word in self.attributes.get("class", "").split()
            else:
                fits = self.tag == word
            if not fits:
                return False
        return True


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Element] = []
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attributes}, list(self.open))
        self.found.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open = [element for element in self.open if element is not self.found[-1]]

    def handle_endtag(self, tag: str) -> None:
        for at in reversed(range(len(self.open))):
            if self.open[at].tag == tag:
                del self.open[at:]
                break

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.pieces.append(data)


@lru_cache(maxsize=2)  # a test asks a page for several things
def _read(html: str) -> list[Element]:
    parser = _Elements()
    parser.feed(html)
    return parser.found


def elements(answer: Any, selector: str) -> list[Element]:
    """The elements of an answer, or of HTML, that ``selector`` names: ``#rows tr.chosen a[href=/pods/]``."""
    *outer, last = re.split(r"\s+(?![^[]*])", selector)
    candidates = _read(answer if isinstance(answer, str) else answer.content.decode())
    return [element for element in candidates if element.fits(last) and _lies_in(element.ancestors, outer)]


def _lies_in(ancestors: list[Element], outer: list[str]) -> bool:
    """Return whether the elements ``within`` hold those of ``outer``, in this order."""
    remaining = iter(ancestors)
    return all(any(ancestor.fits(selector) for ancestor in remaining) for selector in outer)


def templates(answer: Any) -> set[str]:
    """The templates that an answer is made of."""
    return {template.name for template in answer.templates}


def levels(answer: Any) -> list[str]:
    """Return the levels of the page's messages: ``success``, ``error``, ``info``, ``warning``."""
    return [message.level_tag for message in answer.context["messages"]]
