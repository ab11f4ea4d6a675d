"""Random choices; the same seed makes the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

SCALES = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip


class Chance:
    """Chooses by ``random``."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def pick(self, values: Iterable) -> Any:
        return self.random.choice(list(values))

    def some(self, values: Iterable, maximum: int = 3, minimum: int = 0) -> list:
        listed = list(values)
        return self.random.sample(listed, self.random.randint(minimum, min(maximum, len(listed))))

    def format_amount(self, amount: float) -> str | int | float:
        """About ``amount`` in any notation that Kubernetes reads: 1500m, 1.5, .0015k, 15e-1, +1.50, 1536Mi, 2."""
        if self.maybe(0.1):
            return self.pick([int(amount), round(amount, 2)])
        sign = "+" if self.maybe(0.05) else ""
        if self.maybe(0.2):
            power = self.random.randint(-3, 6)
            return f"{sign}{self.number(amount / 10**power)}{self.pick(['e', 'E'])}{power}"
        near = [suffix for suffix, scale in SCALES.items() if 1e-4 <= amount / scale < 1e10] or [""]
        suffix = self.pick(near)
        return f"{sign}{self.number(amount / SCALES[suffix])}{suffix}"

    def number(self, value: float) -> str:
        text = f"{value:.{self.pick([0, 0, 1, 2, 3, 6])}f}"
        if "." in text and self.maybe(0.15):
            text = text.removeprefix("0")
        return self.pick([text, text, text, f"00{text}", text if "." in text else f"{text}."])
