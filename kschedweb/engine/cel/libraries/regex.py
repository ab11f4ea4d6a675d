"""Regular expressions: ``matches``, ``find`` and ``findAll``."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from kschedweb.engine.cel.errors import EvaluationError, no_such_overload
from kschedweb.engine.cel.functions import Library, Run
from kschedweb.engine.cel.matching import compile_program
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
    return compile_program(pattern).find_first(text) is not None


def find(text: str, pattern: str) -> str:
    span = compile_program(pattern).find_first(text)
    return text[span[0] : span[1]] if span else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(islice(compile_program(pattern).find_all(text), limit if limit >= 0 else None))


def with_constant(run: Run) -> Run:
    """Return ``run`` for a constant pattern, where kube-scheduler's error for other types is a shorter one."""

    def run_checked(text: Value, *arguments: Value) -> Value:
        if type(text) is not str:
            raise no_such_overload()
        if len(arguments) > 1 and type(arguments[1]) is not int:
            raise no_such_overload()
        return run(text, *arguments)

    return run_checked


def search_cost(text: Value, pattern: Value, *_: Value) -> int:
    """Return the steps of the budget that a search takes."""
    return compile_program(pattern).search_cost(text) if type(text) is str and type(pattern) is str else 0


CONSTANT = {MATCHES: with_constant(is_match), FIND: with_constant(find), FIND_ALL: with_constant(find_all)}


def _declare_functions() -> None:
    LIBRARY.add_whole(MATCHES, ["string, string -> bool"], matches)
    LIBRARY.add_whole(MATCHES, ["string, string -> bool"], matches, member=True)
    LIBRARY.add_overloads(FIND, "string, string -> string", find, member=True)
    LIBRARY.add_overloads(FIND_ALL, "string, string -> list(string)", find_all, member=True)
    LIBRARY.add_overloads(FIND_ALL, "string, string, int -> list(string)", find_all, member=True)


_declare_functions()
