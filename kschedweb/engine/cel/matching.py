"""Matches patterns against text as Go does: in one pass, without going back, the first way that matches wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import lru_cache

from kschedweb.engine.cel.errors import Refused
from kschedweb.engine.cel.patterns import Chars, Choice, Edge, Part, Repeat, Sequence, parse_pattern
from kschedweb.engine.values import dataclass

MAX_STEPS = 4000  # of a program
_EFFORT = 8  # steps for a character that count like looking at one element
_CHARS, _EDGE, _SPLIT, _JUMP, _MATCH = range(5)
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
Step = tuple[int, object, object]


@dataclass(slots=True)
class Program:
    """A pattern as steps: test a character, test a place, go on in two ways (the first one preferred), end."""

    steps: list[Step] = field(default_factory=list)

    def effort(self, text: str) -> int:
        """How many steps of a computation a search in ``text`` counts for."""
        return len(self.steps) * (len(text) + 1) // _EFFORT

    def first(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Where the first match from ``start`` on begins and ends."""
        threads: dict[int, int] = {}
        found: tuple[int, int] | None = None
        for at in range(start, len(text) + 1):
            if found is None:
                self._follow(threads, 0, at, text, at)
            character = ord(text[at]) if at < len(text) else -1
            following: dict[int, int] = {}
            for place, begun in threads.items():
                kind, one, _ = self.steps[place]
                if kind == _MATCH:
                    found = begun, at
                    break
                if character >= 0 and any(low <= character <= high for low, high in one):  # type: ignore[attr-defined]
                    self._follow(following, place + 1, begun, text, at + 1)
            threads = following
            if not threads and found is not None:
                return found
        return found

    def _follow(self, threads: dict[int, int], place: int, begun: int, text: str, at: int) -> None:
        """Add to ``threads`` where one at ``place`` can go without a character, in order of preference."""
        waiting, seen = [place], set()
        while waiting:
            place = waiting.pop()
            if place in seen or place in threads:
                continue
            seen.add(place)
            kind, one, two = self.steps[place]
            if kind == _SPLIT:
                waiting += [int(two), int(one)]  # type: ignore[call-overload]
            elif kind == _JUMP:
                waiting.append(int(one))  # type: ignore[call-overload]
            elif kind == _EDGE:
                if _is_edge(str(one), text, at):
                    waiting.append(place + 1)
            else:
                threads[place] = begun

    def every(self, text: str) -> Iterator[str]:
        """All matches, one after the other; none is empty right after another."""
        at, before = 0, -1
        while at <= len(text):
            found = self.first(text, at)
            if found is None:
                return
            begin, end = found
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
def program(pattern: str) -> Program:
    """The program for a pattern; raises Refused."""
    made = Program()
    _Writer(made.steps).write(parse_pattern(pattern))
    made.steps.append((_MATCH, None, None))
    return made


class _Writer:
    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    def step(self, kind: int, one: object = None, two: object = None) -> int:
        if len(self.steps) >= MAX_STEPS:
            raise Refused("a pattern repeats too much")
        self.steps.append((kind, one, two))
        return len(self.steps) - 1

    def write(self, part: Part) -> None:
        if isinstance(part, Chars):
            self.step(_CHARS, part.ranges)
        elif isinstance(part, Edge):
            self.step(_EDGE, part.kind)
        elif isinstance(part, Sequence):
            for inner in part.parts:
                self.write(inner)
        elif isinstance(part, Choice):
            self.choice(part.parts)
        else:
            self.repeat(part)

    def choice(self, parts: tuple[Part, ...]) -> None:
        ends = []
        for part in parts[:-1]:
            split = self.step(_SPLIT)
            self.write(part)
            ends.append(self.step(_JUMP))
            self.steps[split] = (_SPLIT, split + 1, len(self.steps))
        self.write(parts[-1])
        for end in ends:
            self.steps[end] = (_JUMP, len(self.steps), None)

    def repeat(self, repeat: Repeat) -> None:
        part, least = repeat.part, repeat.least
        if repeat.most is None:
            for _ in range(least - 1):
                self.write(part)
            if least:
                self.plus(part, lazy=repeat.lazy)
            elif nullable(part):
                # So that a round that takes nothing is not preferred to none.
                self.optional([lambda: self.plus(part, lazy=repeat.lazy)], lazy=repeat.lazy)
            else:
                self.star(part, lazy=repeat.lazy)
            return
        for _ in range(least):
            self.write(part)
        self.optional([lambda: self.write(part)] * (repeat.most - least), lazy=repeat.lazy)

    def plus(self, part: Part, *, lazy: bool) -> None:
        start = len(self.steps)
        self.write(part)
        split = self.step(_SPLIT)
        self.steps[split] = (_SPLIT, split + 1, start) if lazy else (_SPLIT, start, split + 1)

    def star(self, part: Part, *, lazy: bool) -> None:
        split = self.step(_SPLIT)
        self.write(part)
        self.step(_JUMP, split)
        self._exit(split, lazy=lazy)

    def optional(self, writes: list[Callable[[], None]], *, lazy: bool) -> None:
        """Each of ``writes`` only after the one before it."""
        splits = []
        for write in writes:
            splits.append(self.step(_SPLIT))
            write()
        for split in splits:
            self._exit(split, lazy=lazy)

    def _exit(self, split: int, *, lazy: bool) -> None:
        """Let ``split`` go on behind it or leave to here."""
        out = len(self.steps)
        self.steps[split] = (_SPLIT, out, split + 1) if lazy else (_SPLIT, split + 1, out)


def nullable(part: Part) -> bool:
    """Whether a part can match nothing."""
    if isinstance(part, Chars):
        return False
    if isinstance(part, Sequence):
        return all(map(nullable, part.parts))
    if isinstance(part, Choice):
        return any(map(nullable, part.parts))
    return not isinstance(part, Repeat) or part.least == 0 or nullable(part.part)
