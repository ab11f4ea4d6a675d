"""Parser for regular expressions in Go's syntax.

It refuses what Go does not accept, and by name what is left out here: Unicode classes such as ``\\pL``, and case
folding of letters that are not ASCII.
"""

from __future__ import annotations

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.values import dataclass

# The highest code point.
LAST = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]  # of code points, both ends included

# Go's classes hold ASCII only. Its `\s` lacks the vertical tab, which `[[:space:]]` has.
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
# Letters outside ASCII that fold to one inside it: the Kelvin sign and the long s.
_FOLDED = {"k": 0x212A, "s": 0x17F}
# Go's `regexp/syntax` allows 1000 repeats; length in characters and nesting are bounded for this parser's sake.
MAX_LENGTH, MAX_REPEAT, MAX_DEPTH = 1000, 1000, 30


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Edge:
    """An assertion between characters: ``start``, ``end``, ``line start``, ``line end``, ``word`` or ``no word``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts that follow one another."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """A choice: the first of ``parts`` that matches."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition of ``part``."""

    part: Part
    minimum: int
    # None for any number of times.
    maximum: int | None
    # True to repeat as rarely as possible, else as often as possible.
    lazy: bool
    # True if written with numbers, as in `a{2,3}`: only those count towards Go's limit.
    counted: bool


Part = Chars | Edge | Sequence | Alternation | Repeat


@dataclass(slots=True)
class _Flags:
    """The flags of a group, ``(?imsU)``."""

    fold: bool = False
    lines: bool = False
    dot_all: bool = False
    ungreedy: bool = False

    def copy(self) -> _Flags:
        return _Flags(self.fold, self.lines, self.dot_all, self.ungreedy)


_FLAG_NAMES = {"i": "fold", "m": "lines", "s": "dot_all", "U": "ungreedy"}


def negate_ranges(ranges: Ranges) -> Ranges:
    """Return the code points that are not in ``ranges``."""
    gaps, start = [], 0
    for low, high in sorted(ranges):
        # A gap lies before this range, unless it touches or overlaps the ones before.
        if low > start:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return tuple(gaps) + (((start, LAST),) if start <= LAST else ())


def fold_case(ranges: Ranges) -> Ranges:
    """Return ``ranges`` with the other case of every letter."""
    result = list(ranges)
    for low, high in ranges:
        if high > 127:
            raise ExpressionError("a pattern folds the case of letters that are not ASCII")
        for letter in map(chr, range(low, high + 1)):
            if letter.isalpha():
                result.append((ord(letter.swapcase()),) * 2)
                result += [(other, other) for other in [_FOLDED.get(letter.lower())] if other]
    return tuple(result)


def repeats_too_much(part: Part, limit: int = MAX_REPEAT) -> bool:
    """Return True if nested counted repeats multiply to more than Go's limit, as `repeatIsValid` does."""
    if isinstance(part, Repeat):
        count = part.minimum if part.maximum is None else part.maximum
        if part.counted and count:
            if count > limit:
                return True
            limit //= count
        return bool(count or not part.counted) and repeats_too_much(part.part, limit)
    return isinstance(part, Sequence | Alternation) and any(repeats_too_much(inner, limit) for inner in part.parts)


def parse_pattern(text: str) -> Part:
    """Return the syntax tree of a pattern; raise ExpressionError."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError("a pattern is too long")
    parser = _PatternParser(text)
    part = parser.parse_choice()
    if parser.at < len(text) or repeats_too_much(part):
        raise parser.make_error()
    return part


class _PatternParser:
    """A recursive-descent parser of Go's regular expressions."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.flags = _Flags()

    def make_error(self) -> ExpressionError:
        return ExpressionError(
            f"the pattern {self.text!r} is no regular expression of Go, or of a kind that is left out"
        )

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def accept_text(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def read_next(self) -> str:
        if self.at >= len(self.text):
            raise self.make_error()
        self.at += 1
        return self.text[self.at - 1]

    def parse_choice(self) -> Part:
        parts = [self.parse_sequence()]
        while self.accept_text("|"):
            parts.append(self.parse_sequence())
        return parts[0] if len(parts) == 1 else Alternation(tuple(parts))

    def parse_sequence(self) -> Part:
        parts: list[Part] = []
        while self.at < len(self.text) and self.peek() not in "|)":
            part = self.parse_atom()
            if part is None and self.parse_bounds() is not None:
                raise self.make_error()
            if part is not None:
                parts.append(self.parse_repeat(part))
        return Sequence(tuple(parts))

    def parse_repeat(self, part: Part) -> Part:
        counted = self.peek() == "{"
        bounds = self.parse_bounds()
        if bounds is None:
            return part
        lazy = self.accept_text("?") != self.flags.ungreedy
        if self.parse_bounds() is not None:
            raise self.make_error()
        return Repeat(part, *bounds, lazy, counted)

    def parse_bounds(self) -> tuple[int, int | None] | None:
        """Read a repetition sign; return its (minimum, maximum), or None if there is no sign."""
        for sign, implied in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept_text(sign):
                return implied
        end = self.text.find("}", self.at)
        if self.peek() != "{" or end < 0:
            return None
        low_text, comma, high_text = self.text[self.at + 1 : end].partition(",")
        if (
            not _is_digits(low_text)
            or not (_is_digits(high_text) or not high_text)
            or (len(low_text) > 1 and low_text[0] == "0")
        ):
            return None
        if len(high_text) > 1 and high_text[0] == "0":
            return None
        low = int(low_text)
        high = int(high_text) if high_text else None if comma else low
        if max(low, high or 0) > MAX_REPEAT or (high is not None and high < low):
            raise self.make_error()
        self.at = end + 1
        return low, high

    def parse_atom(self) -> Part | None:
        """Read the next part; return None for a group that only changes flags."""
        if self.parse_bounds() is not None:
            raise self.make_error()
        sign = self.read_next()
        if sign == "(":
            return self.parse_group()
        if sign == "[":
            return Chars(self.char_class())
        if sign == ".":
            return Chars(((0, LAST),) if self.flags.dot_all else ((0, 9), (11, LAST)))
        if sign in "^$":
            edge = "start" if sign == "^" else "end"
            return Edge(f"line {edge}" if self.flags.lines else edge)
        if sign == "\\":
            return self.parse_escape()
        return self.make_char(ord(sign))

    def make_char(self, code: int) -> Chars:
        return Chars(self.apply_case(((code, code),)))

    def parse_group(self) -> Part | None:
        """Parse a group whose parenthesis was read; return None if it only sets flags."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.make_error()
        before = self.flags.copy()
        if self.accept_text("?"):
            if self.accept_text("P<") or self.accept_text("<"):
                self.group_name()
            elif self.read_flags():
                self.depth -= 1
                return None
        part = self.parse_choice()
        if not self.accept_text(")"):
            raise self.make_error()
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
            raise self.make_error()
        self.at += len(name) + 1

    def read_flags(self) -> bool:
        """Read ``i-m:`` or ``i-m)``; return True for the second, whose flags hold on after the group."""
        flags, value, count = self.flags.copy(), True, 0
        while True:
            sign = self.read_next()
            if sign in _FLAG_NAMES:
                setattr(flags, _FLAG_NAMES[sign], value)
                count += 1
            elif sign == "-" and value:
                value, count = False, 0
            elif sign in ":)" and (value or count):
                self.flags = flags
                return sign == ")"
            else:
                raise self.make_error()

    def parse_escape(self) -> Part:
        sign = self.peek()
        edges = {"A": "start", "z": "end", "b": "word", "B": "no word"}
        if sign in edges and sign:
            self.at += 1
            return Edge(edges[sign])
        if sign == "Q":
            self.at += 1
            quoted, _, _ = self.text[self.at :].partition("\\E")
            self.at = min(self.at + len(quoted) + 2, len(self.text))
            # In Go a repetition sign after `\E` applies to the last quoted character only: left out here.
            if self.peek() in ("*", "+", "?", "{") and self.peek():
                raise self.make_error()
            return Sequence(tuple(self.make_char(ord(letter)) for letter in quoted))
        ranges = self.perl_class()
        if ranges is not None:
            return Chars(ranges)
        return self.make_char(self.escaped_code())

    def perl_class(self) -> Ranges | None:
        sign = self.peek()
        if sign.lower() not in _PERL or not sign:
            return None
        self.at += 1
        ranges = self.apply_case(_PERL[sign.lower()])
        return negate_ranges(ranges) if sign.isupper() else ranges

    def apply_case(self, ranges: Ranges) -> Ranges:
        return fold_case(ranges) if self.flags.fold else ranges

    def escaped_code(self) -> int:
        """Return the code point of an escape whose backslash has been read."""
        sign = self.read_next()
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign == "x":
            return self.parse_hexadecimal()
        if sign in "01234567":
            return self.parse_octal(sign)
        if sign.isascii() and not sign.isalnum():
            return ord(sign)
        raise self.make_error()

    def parse_hexadecimal(self) -> int:
        if self.accept_text("{"):
            digits, closed, _ = self.text[self.at :].partition("}")
            self.at += len(digits) + 1
        else:
            digits, closed = self.text[self.at : self.at + 2], "}" * (len(self.text) >= self.at + 2)
            self.at += 2
        if not closed or not 1 <= len(digits) <= 8 or not set(digits) <= set("0123456789abcdefABCDEF"):
            raise self.make_error()
        if int(digits, 16) > LAST:
            raise self.make_error()
        return int(digits, 16)

    def parse_octal(self, first: str) -> int:
        if first != "0" and self.peek() not in tuple("01234567"):
            raise self.make_error()  # Go has no back references
        digits = first
        while len(digits) < 3 and self.peek() in tuple("01234567"):
            digits += self.read_next()
        return int(digits, 8)

    def char_class(self) -> Ranges:
        negate = self.accept_text("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self.peek() != "]":
            first = False
            ranges += self.class_part()
        self.read_next()
        return negate_ranges(tuple(ranges)) if negate else tuple(ranges)

    def class_part(self) -> list[tuple[int, int]]:
        """Parse one character, range or named class within brackets."""
        if self.accept_text("[:"):
            name, closed, _ = self.text[self.at :].partition(":]")
            ranges = _POSIX.get(name.removeprefix("^"))
            if not closed or ranges is None:
                raise self.make_error()
            self.at += len(name) + 2
            ranges = self.apply_case(ranges)
            return list(negate_ranges(ranges) if name.startswith("^") else ranges)
        if self.peek() == "\\":
            self.at += 1
            ranges = self.perl_class()
            if ranges is not None:
                return list(ranges)
            self.at -= 1
        low = self.class_char()
        if self.peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return list(self.apply_case(((low, low),)))
        self.at += 1
        high = self.class_char()
        if high < low:
            raise self.make_error()
        return list(self.apply_case(((low, high),)))

    def class_char(self) -> int:
        return self.escaped_code() if self.accept_text("\\") else ord(self.read_next())


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
