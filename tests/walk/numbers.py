"""Pages write numbers in one way, 5,000, and what programs read of them without separators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.walk.visits import Visit

# Attributes that people read, or hear read aloud.
READ = {"title", "alt", "placeholder", "content", "data-announce", "data-label"}
SEPARATED_NUMBER = re.compile(r"\d,\d")
# A number that needs a separator: no part of a name, a date, a fraction, a version or an address.
BARE = re.compile(r"(?<![\w.,:/@%+\-–#…])\d{4,}(?![\w:/@\-]|\.\d)")
# What kube-scheduler says is quoted as it says it.
SCHEDULER_SENTENCE = re.compile(r"\d+/\d+ nodes are available|^\d+ Insufficient")
YEAR = re.compile(r"(19|20)\d\d")
QUOTED_ELEMENTS = {
    "code",
    "pre",
    "script",
    "style",
    "textarea",
    "time",
    "option",
    "kbd",
    "title",
}  # not the page's own words


class Reader(HTMLParser):
    """The attributes that programs read, and the words of the page itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: list[str] = []
        self.words: list[str] = []
        self._quoted = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._quoted += tag in QUOTED_ELEMENTS
        self.attributes += [
            f'{tag} {name}="{value}"'
            for name, value in attrs
            if value and name not in READ and not name.startswith("aria-")
        ]

    def handle_endtag(self, tag: str) -> None:
        self._quoted -= tag in QUOTED_ELEMENTS

    def handle_data(self, data: str) -> None:
        if not self._quoted and data.strip():
            self.words.append(" ".join(data.split()))


class Numbers:
    """Looks for separators in attributes, in a language where each digit has a group of its own."""

    def judge(self, visit: Visit) -> Iterator[str]:
        if visit.kind == "page":
            yield from (attribute for attribute in Reader(visit.text).attributes if SEPARATED_NUMBER.search(attribute))

    def end(self) -> list[str]:
        return []


def bare_numbers(page: str) -> list[str]:
    """List the texts of ``page`` with a number that lacks the separators it needs."""
    return [
        word
        for word in Reader(page).words
        for number in BARE.findall(word)
        if not YEAR.fullmatch(number) and not SCHEDULER_SENTENCE.search(word)
    ]
