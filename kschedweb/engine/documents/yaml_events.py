"""The events of YAML text, within bounds.

The parser's own effort is quadratic in some things, such as the depth and the number of tag directives. These are
bounded before it reads or while it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import yaml

from kschedweb.engine.values import dataclass

# PyYAML's events are not typed.
Event = Any
MOST_DIRECTIVES, LONGEST_DIRECTIVE = 100, 1_000

# libyaml's parser is many times faster, and not always installed.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DIRECTIVE = re.compile(r"^%TAG.*", re.MULTILINE)


class Reason(Enum):
    """The reason why a text is refused."""

    SYNTAX = "syntax"
    DEPTH = "depth"
    VALUES = "values"
    ALIAS = "alias"
    DIRECTIVES = "directives"
    VALUE = "value"


class RefusedError(ValueError):
    """The text is refused. ``line`` and ``column`` count from 1; ``error`` is the parser's own, if there is one."""

    def __init__(
        self, reason: Reason, message: str, line: int, column: int = 1, error: yaml.YAMLError | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.line = line
        self.column = column
        self.error = error

    @property
    def context(self) -> str:
        """The parser's context of the error; "" if it has none."""
        return getattr(self.error, "context", None) or ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the size of a document."""

    # Levels of nesting.
    depth: int
    # Number of values; keys count.
    values: int


def read_events(text: str, bounds: Bounds) -> Iterator[Event]:
    """Yield the parser's events. Raises RefusedError at the first one beyond ``bounds``, or if ``text`` is no YAML."""
    _check_directives(text)
    depth = values = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.NodeEvent):
                values += 1
                depth += isinstance(event, yaml.CollectionStartEvent)
                if depth > bounds.depth:
                    raise refusal_at(event, Reason.DEPTH, f"values are nested deeper than {bounds.depth} levels")
                if values > bounds.values:
                    raise refusal_at(event, Reason.VALUES, f"there are more than {bounds.values:,} values")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            yield event
    except (yaml.YAMLError, UnicodeError) as error:
        raise _to_refusal(error, text) from None


def refusal_at(event: Event, reason: Reason, message: str) -> RefusedError:
    """Return the refusal of the value that begins at ``event``."""
    mark = event.start_mark
    return RefusedError(reason, message, mark.line + 1, mark.column + 1)


def _check_directives(text: str) -> None:
    for number, match in enumerate(_DIRECTIVE.finditer(text)):
        if number == MOST_DIRECTIVES or len(match[0]) > LONGEST_DIRECTIVE:
            message = f"at most {MOST_DIRECTIVES} directives %TAG of {LONGEST_DIRECTIVE:,} characters each are taken"
            raise RefusedError(Reason.DIRECTIVES, message, text.count("\n", 0, match.start()) + 1)


def _to_refusal(error: yaml.YAMLError | UnicodeError, text: str) -> RefusedError:
    if isinstance(error, UnicodeError):
        return RefusedError(Reason.SYNTAX, "half of a surrogate pair is no text", 1)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        return RefusedError(Reason.SYNTAX, "a character here is not allowed in YAML", line, error=error)
    words = getattr(error, "problem", None) or getattr(error, "context", None) or str(error)
    return RefusedError(Reason.SYNTAX, words, mark.line + 1, mark.column + 1, error)
