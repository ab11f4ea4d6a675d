"""Names that controllers give to pods."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable

# Kubernetes' alphabet of generated names: no vowels, so that no words come about.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def draw_letters(text: str, count: int) -> str:
    """Return pseudorandom letters that depend only on ``text``."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:count])


def draw_name(stem: str, seed: str, is_taken: Callable[[str], bool]) -> str:
    """Return ``stem`` with five letters that are not taken yet, as the API server draws again."""
    draws = itertools.chain([seed], (f"{seed}/{number}" for number in itertools.count(1)))
    names = (f"{stem}{draw_letters(draw, 5)}" for draw in draws)
    return next(name for name in names if not is_taken(name))


def parse_ordinal(name: str) -> int:
    """Return the number at the end of a StatefulSet pod's name; -1 if there is none."""
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1
