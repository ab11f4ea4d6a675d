"""Lines of commands: a scenario a line on stdin, an answer a line on stdout, a remark a line on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kschedweb.engine.json_types import Json
from kschedweb.engine.scenario.reading import ScenarioError, read_text


class InputError(ValueError):
    """Input that cannot be used; the text says where and why."""


def read_scenarios() -> Iterator[tuple[int, Json]]:
    """The scenarios, each with the number of its line. Raises InputError."""
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            with naming_line(number):
                raw = read_text(line)
            yield number, raw


@contextmanager
def naming_line(number: int, *errors: type[Exception]) -> Iterator[None]:
    """A context whose ScenarioErrors, and ``errors``, become InputErrors that name the line."""
    wrong: tuple[type[Exception], ...] = (ScenarioError, *errors)
    try:
        yield
    except wrong as error:
        raise InputError(f"line {number}: {error}") from None


def answer_each(answer: Callable[[Json], Json], *errors: type[Exception]) -> int:
    """Write the answer to each scenario. Raises InputError, also where ``answer`` raises one of ``errors``."""
    for number, raw in read_scenarios():
        with naming_line(number, *errors):
            write_answer(answer(raw))
    return 0


def write_answer(answer: Json) -> None:
    print(escape_surrogates(json.dumps(answer, ensure_ascii=False)), flush=True)


def write_remark(text: str) -> None:
    print(escape_surrogates(f"kschedweb.engine: {' '.join(text.splitlines())}"), file=sys.stderr)


def escape_surrogates(text: str) -> str:
    """``text`` with halves of characters, which JSON may name, escaped: no stream takes them."""
    return text.encode("utf-8", "backslashreplace").decode()
