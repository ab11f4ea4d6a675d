"""How controllers name pods."""

from __future__ import annotations

import hashlib

LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' alphabet of generated names


def letters(text: str, count: int) -> str:
    """Pseudorandom letters that depend only on ``text``."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:count])


def ordinal(name: str) -> int:
    """The number at the end of a stateful set's pod, -1 without one."""
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1
