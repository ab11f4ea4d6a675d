"""Matcher for regular expressions in Go's way: one pass, no backtracking, leftmost-first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import lru_cache

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.patterns import Alternation, Chars, Edge, Part, Repeat, Sequence, parse_pattern
from kschedweb.engine.values import dataclass

# Steps of a program. A search takes up to this many for each character.
MAX_STEPS = 4000
# Steps of the matcher that cost as much of the budget as one element of a list.
_EFFORT = 8
_CHARS, _EDGE, _SPLIT, _JUMP, _MATCH = range(5)
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
Step = tuple[int, object, object]


@dataclass(slots=True)
class PatternProgram:
    """A compiled pattern: test a character, test an edge, split into two threads, jump, match."""

    # (kind, first, second). A split prefers its first target.
    steps: list[Step] = field(default_factory=list)

    def search_cost(self, text: str) -> int:
        """Return the steps of the budget that a search in ``text`` takes."""
        return len(self.steps) * (len(text) + 1) // _EFFORT

    def find_first(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Return where the first match from ``start`` on begins and ends."""
        # The place of each thread and where its match began. The dict keeps their order of preference, as RE2's Pike VM
        # needs.
        threads: dict[int, int] = {}
        span: tuple[int, int] | None = None
        for at in range(start, len(text) + 1):
            if span is None:
                self._add_threads(threads, 0, at, text, at)
            character = ord(text[at]) if at < len(text) else -1
            following: dict[int, int] = {}
            # A match cuts off the threads after it, which are less preferred; those before it may still match longer.
            for place, begun in threads.items():
                kind, first, _ = self.steps[place]
                if kind == _MATCH:
                    span = begun, at
                    break
                if character >= 0 and any(low <= character <= high for low, high in first):  # type: ignore[attr-defined]
                    self._add_threads(following, place + 1, begun, text, at + 1)
            threads = following
            if not threads and span is not None:
                return span
        return span

    def _add_threads(self, threads: dict[int, int], place: int, begun: int, text: str, at: int) -> None:
        """Add the threads that ``place`` leads to without reading a character, the preferred ones first."""
        waiting, visited = [place], set()
        while waiting:
            place = waiting.pop()
            if place in visited or place in threads:
                continue
            visited.add(place)
            kind, first, second = self.steps[place]
            if kind == _SPLIT:
                waiting += [int(second), int(first)]  # type: ignore[call-overload]
            elif kind == _JUMP:
                waiting.append(int(first))  # type: ignore[call-overload]
            elif kind == _EDGE:
                if _is_edge(str(first), text, at):
                    waiting.append(place + 1)
            else:
                threads[place] = begun

    def find_all(self, text: str) -> Iterator[str]:
        """Yield all matches that do not overlap; an empty one right after another match is left out, as in Go."""
        at, before = 0, -1
        while at <= len(text):
            span = self.find_first(text, at)
            if span is None:
                return
            begin, end = span
            accepted = not (end == at and begin == before)
            at = at + 1 if end == at else end
            before = end
            if accepted:
                yield text[begin:end]


def _is_edge(kind: str, text: str, at: int) -> bool:
    if kind == "start":
        return at == 0
    if kind == "end":
        return at == len(text)
    if kind == "line start":
        return at == 0 or text[at - 1] == "\n"
    if kind == "line end":
        return at == len(text) or text[at] == "\n"
    before, after = at > 0 and text[at - 1] in _WORD, at < len(text) and text[at] in _WORD
    return (before != after) == (kind == "word")


@lru_cache(maxsize=1024)
def compile_program(pattern: str) -> PatternProgram:
    """Return the program of a pattern; raise ExpressionError."""
    compiled = PatternProgram()
    _Writer(compiled.steps).write_part(parse_pattern(pattern))
    compiled.steps.append((_MATCH, None, None))
    return compiled


class _Writer:
    """Writes the steps of a pattern."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    def add_step(self, kind: int, first: object = None, second: object = None) -> int:
        if len(self.steps) >= MAX_STEPS:
            raise ExpressionError("a pattern repeats too much")
        self.steps.append((kind, first, second))
        return len(self.steps) - 1

    def write_part(self, part: Part) -> None:
        if isinstance(part, Chars):
            self.add_step(_CHARS, part.ranges)
        elif isinstance(part, Edge):
            self.add_step(_EDGE, part.kind)
        elif isinstance(part, Sequence):
            for inner in part.parts:
                self.write_part(inner)
        elif isinstance(part, Alternation):
            self.write_choice(part.parts)
        else:
            self.write_repeat(part)

    def write_choice(self, parts: tuple[Part, ...]) -> None:
        ends = []
        for part in parts[:-1]:
            split = self.add_step(_SPLIT)
            self.write_part(part)
            ends.append(self.add_step(_JUMP))
            self.steps[split] = (_SPLIT, split + 1, len(self.steps))
        self.write_part(parts[-1])
        for end in ends:
            self.steps[end] = (_JUMP, len(self.steps), None)

    def write_repeat(self, repeat: Repeat) -> None:
        """Write a repetition: its least number of times in full, then the optional rest."""
        part, minimum = repeat.part, repeat.minimum
        if repeat.maximum is None:
            for _ in range(minimum - 1):
                self.write_part(part)
            if minimum:
                self.write_plus(part, lazy=repeat.lazy)
            elif is_nullable(part):
                # As in Go's compiler, `(x*)*` is written as `((x*)+)?`: a round that reads nothing must not be
                # preferred to none.
                self.write_optional([lambda: self.write_plus(part, lazy=repeat.lazy)], lazy=repeat.lazy)
            else:
                self.write_star(part, lazy=repeat.lazy)
            return
        for _ in range(minimum):
            self.write_part(part)
        self.write_optional([lambda: self.write_part(part)] * (repeat.maximum - minimum), lazy=repeat.lazy)

    def write_plus(self, part: Part, *, lazy: bool) -> None:
        start = len(self.steps)
        self.write_part(part)
        split = self.add_step(_SPLIT)
        self.steps[split] = (_SPLIT, split + 1, start) if lazy else (_SPLIT, start, split + 1)

    def write_star(self, part: Part, *, lazy: bool) -> None:
        split = self.add_step(_SPLIT)
        self.write_part(part)
        self.add_step(_JUMP, split)
        self._set_exit(split, lazy=lazy)

    def write_optional(self, writes: list[Callable[[], None]], *, lazy: bool) -> None:
        """Write optional parts, each of which needs the one before it."""
        splits = []
        for write in writes:
            splits.append(self.add_step(_SPLIT))
            write()
        for split in splits:
            self._set_exit(split, lazy=lazy)

    def _set_exit(self, split: int, *, lazy: bool) -> None:
        """Let ``split`` go on with the next step or leave to the end of the program so far."""
        out = len(self.steps)
        self.steps[split] = (_SPLIT, out, split + 1) if lazy else (_SPLIT, split + 1, out)


def is_nullable(part: Part) -> bool:
    """Return True if a part can match the empty string."""
    if isinstance(part, Chars):
        return False
    if isinstance(part, Sequence):
        return all(map(is_nullable, part.parts))
    if isinstance(part, Alternation):
        return any(map(is_nullable, part.parts))
    return not isinstance(part, Repeat) or part.minimum == 0 or is_nullable(part.part)
