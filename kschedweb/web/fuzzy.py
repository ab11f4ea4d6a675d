"""Rates how well words fit a name: the whole, its beginning, that of a part, any part, or letters in their order."""

from __future__ import annotations

import re
from functools import lru_cache

# The kinds of fit, the best first.
WHOLE, BEGINS, PART_BEGINS, HOLDS, LETTERS = range(5)
# Letters that are looked for one by one.
LONGEST = 40
PART = re.compile(r"[a-z0-9]+")

# The worst kind of fit of any word, letters passed over, length of the name. Smaller is better.
Quality = tuple[int, int, int]


def rate_fit(words: str, name: str) -> Quality | None:
    """Rate how well ``words`` fit ``name``, ignoring case; ``None`` if a word does not fit at all."""
    text = name.lower()
    worst = passed = 0
    for word in words.lower().split():
        fit = _fit_word(word, text)
        if fit is None:
            return None
        worst, passed = max(worst, fit[0]), passed + fit[1]
    return worst, passed, len(text)


def _fit_word(word: str, text: str) -> tuple[int, int] | None:
    if word == text:
        return WHOLE, 0
    if text.startswith(word):
        return BEGINS, 0
    at = text.find(word)
    if at >= 0:
        starts = any(match.start() and text.startswith(word, match.start()) for match in PART.finditer(text))
        return (PART_BEGINS if starts else HOLDS), 0
    if len(word) > LONGEST:
        return None
    spans = [_letter_span(word, text, match.start()) for match in PART.finditer(text) if text[match.start()] == word[0]]
    fitting = [span for span in spans if span is not None]
    return (LETTERS, min(fitting) - len(word)) if fitting else None


def _letter_span(word: str, text: str, start: int) -> int | None:
    """Return how many letters from ``start`` on contain those of ``word`` in their order; ``None`` if they do not."""
    at = start
    for letter in word[1:]:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
    return at - start + 1


@lru_cache(maxsize=256)
def letters_regex(word: str) -> str:
    """Return a regular expression for names that have the letters of ``word`` in their order. It never backtracks."""
    first, other_letters = re.escape(word[0]), map(re.escape, word[1:])
    return first + "".join(f"[^{letter}]*{letter}" for letter in other_letters)
