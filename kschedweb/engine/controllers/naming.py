"""How controllers name pods."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable

LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' alphabet of generated names


def draw_letters(text: str, count: int) -> str:
    """Pseudorandom letters that depend only on ``text``."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:count])


def draw_name(stem: str, seed: str, is_taken: Callable[[str], bool]) -> str:
    """Return ``stem`` with five letters, the first draw that is not taken, as the API server draws anew."""
    draws = itertools.chain([seed], (f"{seed}/{number}" for number in itertools.count(1)))
    names = (f"{stem}{draw_letters(draw, 5)}" for draw in draws)
    return next(name for name in names if not is_taken(name))


def parse_ordinal(name: str) -> int:
    """The number at the end of a stateful set's pod, -1 without one."""
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1
