"""Random regular expressions, mostly of Go's kind, and texts that they may match."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.conformance.making.chance import Chance

LETTERS = "abAB01_- .\nékK"
ESCAPES = ["\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\.", "\\-", "\\x41", "\\x{e9}", "\\101", "\\n", "\\t"]
# What the engine refuses to repeat.
WHOLE = ["(?i)", "(?s)", "(?m-i)", "\\Qa.\\E", ""]
EDGES = ["^", "$", "\\b", "\\B", "\\A", "\\z"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}?", "{2,}", "{0}", "{,2}", "{1,2", "{01}"]
CLASSES = [
    "[[:alpha:]]",
    "[^[:digit:]_]",
    "[[:^lower:]a]",
    "[\\d-]",
    "[a-]",
    "[-a]",
    "[]a]",
    "[^]a]",
    "[a-bA]",
    "[^\\w]",
]
GROUPS = ["(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?P<n>", "(?<n>", "(?i-s:", "(?-i:"]
WRONG = [
    "(",
    ")",
    "[",
    "\\8",
    "\\",
    "(?=a)",
    "*",
    "[b-a]",
    "a{3,2}",
    "a{1001}",
    "(?z)",
    "\\Z",
    "[[:x:]]",
    "a**",
    "(?P<1a!>a)",
]


class PatternMaker(Chance):
    def __init__(self, random: Random) -> None:
        super().__init__(random)

    def text(self) -> str:
        return "".join(self.pick(LETTERS) for _ in range(self.pick([0, 1, 2, 3, 5, 8])))

    def pattern(self, depth: int = 3) -> str:
        parts = [self.piece(depth) for _ in range(self.pick([1, 1, 2, 3]))]
        if self.maybe(0.02):
            parts.insert(self.random.randint(0, len(parts)), self.pick(WRONG))
        text = "".join(parts)
        return f"{text}|{self.pattern(depth - 1)}" if depth > 0 and self.maybe(0.2) else text

    def piece(self, depth: int) -> str:
        ways: list[Callable[[], str]] = [
            lambda: self.letter(),
            lambda: self.letter(),
            lambda: self.pick(ESCAPES),
            lambda: self.pick(CLASSES),
            lambda: ".",
        ]
        if depth > 0:
            ways += [lambda: f"{self.pick(GROUPS)}{self.pattern(depth - 1)})"] * 3
        if self.maybe(0.08):
            return str(self.pick(WHOLE))
        text = self.pick([*ways, lambda: self.pick(EDGES)])()
        return f"{text}{self.pick(REPEATS)}" if text and self.maybe(0.4) else text

    def letter(self) -> str:
        letter = self.pick(LETTERS)
        return f"\\{letter}" if letter in ".-" else str(letter)
