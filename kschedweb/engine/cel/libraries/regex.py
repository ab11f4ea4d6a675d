"""Regular expressions: ``matches``, ``find`` and ``findAll``."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from kschedweb.engine.cel.errors import EvaluationError, no_such_overload
from kschedweb.engine.cel.functions import Library, Run
from kschedweb.engine.cel.matching import program
from kschedweb.engine.cel.values import Value

LIBRARY = Library()
MATCHES, FIND, FIND_ALL = "matches", "find", "findAll"


def matches(text: Value, pattern: Value) -> bool:
    if type(text) is not str:
        raise EvaluationError("no such overload: matches")
    if type(pattern) is not str:
        raise no_such_overload()
    return is_match(text, pattern)


@lru_cache(maxsize=16384)
def is_match(text: str, pattern: str) -> bool:
    return program(pattern).first(text) is not None


def find(text: str, pattern: str) -> str:
    found = program(pattern).first(text)
    return text[found[0] : found[1]] if found else ""


def find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    return list(islice(program(pattern).every(text), most if most >= 0 else None))


def with_constant(run: Run) -> Run:
    """``run`` for a pattern that is written out: then kube-scheduler says less of a text that is none."""

    def found(text: Value, *rest: Value) -> Value:
        if type(text) is not str:
            raise no_such_overload()
        if len(rest) > 1 and type(rest[1]) is not int:
            raise no_such_overload()
        return run(text, *rest)

    return found


def effort(text: Value, pattern: Value, *_: Value) -> int:
    """How many steps a search counts for."""
    return program(pattern).effort(text) if type(text) is str and type(pattern) is str else 0


CONSTANT = {MATCHES: with_constant(is_match), FIND: with_constant(find), FIND_ALL: with_constant(find_all)}


def _declare() -> None:
    LIBRARY.add_whole(MATCHES, ["string, string -> bool"], matches)
    LIBRARY.add_whole(MATCHES, ["string, string -> bool"], matches, member=True)
    LIBRARY.add(FIND, "string, string -> string", find, member=True)
    LIBRARY.add(FIND_ALL, "string, string -> list(string)", find_all, member=True)
    LIBRARY.add(FIND_ALL, "string, string, int -> list(string)", find_all, member=True)


_declare()
