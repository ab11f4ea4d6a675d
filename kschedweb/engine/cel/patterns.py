"""Regular expressions as Go reads them: from the text of a pattern to its parts.

What Go knows and is left out here is refused by name: Unicode classes such as ``\\pL``, and case-folding of letters
that are not ASCII. A pattern that Go does not take is refused as well.
"""

from __future__ import annotations

from kschedweb.engine.cel.errors import Refused
from kschedweb.engine.values import dataclass

LAST = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]  # of code points, both ends included

_DIGITS: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 10), (12, 13), (32, 32))
_PERL = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": _DIGITS,
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": _WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
# Letters outside ASCII that are another case of one inside it.
_FOLDED = {"k": 0x212A, "s": 0x17F}
MAX_LENGTH, MAX_REPEAT, MAX_DEPTH = 1000, 1000, 30


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Edge:
    """A place between characters: ``start``, ``end``, ``line start``, ``line end``, ``word`` or ``no word``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of ``parts`` that matches."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``part`` from ``least`` to ``most`` times, ``None`` for any number; as often as it can, or if ``lazy`` as rarely.

    ``counted``: written with numbers, as in ``a{2,3}``.
    """

    part: Part
    least: int
    most: int | None
    lazy: bool
    counted: bool


Part = Chars | Edge | Sequence | Choice | Repeat


@dataclass(slots=True)
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False
    ungreedy: bool = False

    def copy(self) -> _Flags:
        return _Flags(self.fold, self.lines, self.dot_all, self.ungreedy)


_FLAG_NAMES = {"i": "fold", "m": "lines", "s": "dot_all", "U": "ungreedy"}


def negated(ranges: Ranges) -> Ranges:
    found, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return tuple(found) + (((start, LAST),) if start <= LAST else ())


def folded(ranges: Ranges) -> Ranges:
    """``ranges`` with the other case of every letter."""
    found = list(ranges)
    for low, high in ranges:
        if high > 127:
            raise Refused("a pattern folds the case of letters that are not ASCII")
        for letter in map(chr, range(low, high + 1)):
            if letter.isalpha():
                found.append((ord(letter.swapcase()),) * 2)
                found += [(other, other) for other in [_FOLDED.get(letter.lower())] if other]
    return tuple(found)


def repeats_too_much(part: Part, most: int = MAX_REPEAT) -> bool:
    """Whether counted repeats within counted repeats come to more than Go takes."""
    if isinstance(part, Repeat):
        count = part.least if part.most is None else part.most
        if part.counted and count:
            if count > most:
                return True
            most //= count
        return bool(count or not part.counted) and repeats_too_much(part.part, most)
    return isinstance(part, Sequence | Choice) and any(repeats_too_much(inner, most) for inner in part.parts)


def parse_pattern(text: str) -> Part:
    """The parts of a pattern; raises Refused."""
    if len(text) > MAX_LENGTH:
        raise Refused("a pattern is too long")
    parser = _Parser(text)
    part = parser.choice()
    if parser.at < len(text) or repeats_too_much(part):
        raise parser.wrong()
    return part


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.flags = _Flags()

    def wrong(self) -> Refused:
        return Refused(f"the pattern {self.text!r} is no regular expression of Go, or of a kind that is left out")

    def look(self) -> str:
        return self.text[self.at : self.at + 1]

    def takes(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.text):
            raise self.wrong()
        self.at += 1
        return self.text[self.at - 1]

    def choice(self) -> Part:
        parts = [self.sequence()]
        while self.takes("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def sequence(self) -> Part:
        parts: list[Part] = []
        while self.at < len(self.text) and self.look() not in "|)":
            part = self.atom()
            if part is None and self.bounds() is not None:
                raise self.wrong()
            if part is not None:
                parts.append(self.repeated(part))
        return Sequence(tuple(parts))

    def repeated(self, part: Part) -> Part:
        counted = self.look() == "{"
        bounds = self.bounds()
        if bounds is None:
            return part
        lazy = self.takes("?") != self.flags.ungreedy
        if self.bounds() is not None:
            raise self.wrong()
        return Repeat(part, *bounds, lazy, counted)

    def bounds(self) -> tuple[int, int | None] | None:
        """How often what stands before is repeated, ``None`` if no sign says so."""
        for sign, found in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.takes(sign):
                return found
        end = self.text.find("}", self.at)
        if self.look() != "{" or end < 0:
            return None
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        if not _digits(least) or not (_digits(most) or not most) or (len(least) > 1 and least[0] == "0"):
            return None
        if len(most) > 1 and most[0] == "0":
            return None
        low = int(least)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > MAX_REPEAT or (high is not None and high < low):
            raise self.wrong()
        self.at = end + 1
        return low, high

    def atom(self) -> Part | None:
        """What stands next; ``None`` where only flags change."""
        if self.bounds() is not None:
            raise self.wrong()
        sign = self.next()
        if sign == "(":
            return self.group()
        if sign == "[":
            return Chars(self.char_class())
        if sign == ".":
            return Chars(((0, LAST),) if self.flags.dot_all else ((0, 9), (11, LAST)))
        if sign in "^$":
            edge = "start" if sign == "^" else "end"
            return Edge(f"line {edge}" if self.flags.lines else edge)
        if sign == "\\":
            return self.escaped()
        return self.char(ord(sign))

    def char(self, code: int) -> Chars:
        return Chars(self.cased(((code, code),)))

    def group(self) -> Part | None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong()
        before = self.flags.copy()
        if self.takes("?"):
            if self.takes("P<") or self.takes("<"):
                self.group_name()
            elif self.read_flags():
                self.depth -= 1
                return None
        part = self.choice()
        if not self.takes(")"):
            raise self.wrong()
        self.flags = before
        self.depth -= 1
        return part

    def group_name(self) -> None:
        name, closed, _ = self.text[self.at :].partition(">")
        if (
            not closed
            or not name
            or not all(letter == "_" or (letter.isascii() and letter.isalnum()) for letter in name)
        ):
            raise self.wrong()
        self.at += len(name) + 1

    def read_flags(self) -> bool:
        """Read ``i-m:`` or ``i-m)``; whether nothing but flags was in the group, which then hold on after it."""
        flags, value, count = self.flags.copy(), True, 0
        while True:
            sign = self.next()
            if sign in _FLAG_NAMES:
                setattr(flags, _FLAG_NAMES[sign], value)
                count += 1
            elif sign == "-" and value:
                value, count = False, 0
            elif sign in ":)" and (value or count):
                self.flags = flags
                return sign == ")"
            else:
                raise self.wrong()

    def escaped(self) -> Part:
        sign = self.look()
        edges = {"A": "start", "z": "end", "b": "word", "B": "no word"}
        if sign in edges and sign:
            self.at += 1
            return Edge(edges[sign])
        if sign == "Q":
            self.at += 1
            quoted, _, _ = self.text[self.at :].partition("\\E")
            self.at = min(self.at + len(quoted) + 2, len(self.text))
            # What repeats it repeats its last character alone.
            if self.look() in ("*", "+", "?", "{") and self.look():
                raise self.wrong()
            return Sequence(tuple(self.char(ord(letter)) for letter in quoted))
        ranges = self.perl_class()
        if ranges is not None:
            return Chars(ranges)
        return self.char(self.escaped_code())

    def perl_class(self) -> Ranges | None:
        sign = self.look()
        if sign.lower() not in _PERL or not sign:
            return None
        self.at += 1
        ranges = self.cased(_PERL[sign.lower()])
        return negated(ranges) if sign.isupper() else ranges

    def cased(self, ranges: Ranges) -> Ranges:
        return folded(ranges) if self.flags.fold else ranges

    def escaped_code(self) -> int:
        """The character that an escape stands for; the backslash was read."""
        sign = self.next()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "x":
            return self.hexadecimal()
        if sign in "01234567":
            return self.octal(sign)
        if sign.isascii() and not sign.isalnum():
            return ord(sign)
        raise self.wrong()

    def hexadecimal(self) -> int:
        if self.takes("{"):
            digits, closed, _ = self.text[self.at :].partition("}")
            self.at += len(digits) + 1
        else:
            digits, closed = self.text[self.at : self.at + 2], "}" * (len(self.text) >= self.at + 2)
            self.at += 2
        if not closed or not 1 <= len(digits) <= 8 or not set(digits) <= set("0123456789abcdefABCDEF"):
            raise self.wrong()
        if int(digits, 16) > LAST:
            raise self.wrong()
        return int(digits, 16)

    def octal(self, first: str) -> int:
        if first != "0" and self.look() not in tuple("01234567"):
            raise self.wrong()  # Go has no back references
        digits = first
        while len(digits) < 3 and self.look() in tuple("01234567"):
            digits += self.next()
        return int(digits, 8)

    def char_class(self) -> Ranges:
        negate = self.takes("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or self.look() != "]":
            first = False
            found += self.class_part()
        self.next()
        return negated(tuple(found)) if negate else tuple(found)

    def class_part(self) -> list[tuple[int, int]]:
        if self.takes("[:"):
            name, closed, _ = self.text[self.at :].partition(":]")
            ranges = _POSIX.get(name.removeprefix("^"))
            if not closed or ranges is None:
                raise self.wrong()
            self.at += len(name) + 2
            ranges = self.cased(ranges)
            return list(negated(ranges) if name.startswith("^") else ranges)
        if self.look() == "\\":
            self.at += 1
            ranges = self.perl_class()
            if ranges is not None:
                return list(ranges)
            self.at -= 1
        low = self.class_char()
        if self.look() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return list(self.cased(((low, low),)))
        self.at += 1
        high = self.class_char()
        if high < low:
            raise self.wrong()
        return list(self.cased(((low, high),)))

    def class_char(self) -> int:
        return self.escaped_code() if self.takes("\\") else ord(self.next())


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
