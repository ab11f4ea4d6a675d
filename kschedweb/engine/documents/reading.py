"""The events, nodes and values of YAML text, within bounds.

The parser's own effort grows with the square of some things: of the depth, and of the number of tag directives. These
are bounded before or while it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

import yaml

from kschedweb.engine.documents.scalars import resolve
from kschedweb.engine.values import dataclass

Event = Any  # PyYAML's events are not typed
STRING, PLAIN = "tag:yaml.org,2002:str", ""
MOST_DIRECTIVES, LONGEST_DIRECTIVE = 100, 1_000

_RESOLVED = frozenset([PLAIN, *(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))])
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DIRECTIVE = re.compile(r"^%TAG.*", re.MULTILINE)


class Reason(Enum):
    """Why a text is refused."""

    SYNTAX = "syntax"
    DEPTH = "depth"
    VALUES = "values"
    ALIAS = "alias"
    DIRECTIVES = "directives"
    VALUE = "value"


class RefusedError(ValueError):
    """The text cannot be taken. ``line`` and ``column`` count from 1; ``error`` is the parser's own, if it has one."""

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
        """What the parser was at, "" where it does not say."""
        return getattr(self.error, "context", None) or ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How deep values may lie, how many there may be (keys count), and whether aliases are taken at all."""

    depth: int
    values: int
    aliases: bool = False


def events(text: str, bounds: Bounds) -> Iterator[Event]:
    """The parser's events; raises RefusedError at the first that is too much, or where ``text`` is no YAML."""
    _check_directives(text)
    depth = values = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.NodeEvent):
                values += 1
                depth += isinstance(event, yaml.CollectionStartEvent)
                if depth > bounds.depth:
                    raise refused(event, Reason.DEPTH, f"values are nested deeper than {bounds.depth} levels")
                if values > bounds.values:
                    raise refused(event, Reason.VALUES, f"there are more than {bounds.values:,} values")
                if isinstance(event, yaml.AliasEvent) and not bounds.aliases:
                    said = f"aliases (*{event.anchor}) are not taken: write the value out"
                    raise refused(event, Reason.ALIAS, said)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            yield event
    except (yaml.YAMLError, UnicodeError) as error:
        raise _malformed(error, text) from None


def nodes(events: Iterable[Event]) -> list[yaml.Node]:
    """The documents as PyYAML's nodes with their marks. The tag of a scalar is STRING, its own one, or PLAIN."""
    roots: list[yaml.Node] = []
    waiting: list[yaml.CollectionNode] = []
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            done = waiting.pop()
            done.end_mark = event.end_mark
            if isinstance(done, yaml.MappingNode):
                done.value = _pairs(done.value)
        elif isinstance(event, yaml.NodeEvent):
            node = _node(event)
            (waiting[-1].value if waiting else roots).append(node)
            if isinstance(node, yaml.CollectionNode):
                waiting.append(node)
    return roots


def value_of(node: yaml.Node) -> Any:
    """The plain value of a node; a key is its text."""
    if isinstance(node, yaml.MappingNode):
        return {label.value: value_of(value) for label, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    return resolve(node.value) if node.tag in _RESOLVED else node.value


def refused(event: Event, reason: Reason, message: str) -> RefusedError:
    """The refusal of what begins at ``event``."""
    mark = event.start_mark
    return RefusedError(reason, message, mark.line + 1, mark.column + 1)


def _node(event: Event) -> yaml.Node:
    begin, end = event.start_mark, event.end_mark
    if isinstance(event, yaml.ScalarEvent):
        plain = not event.tag and event.implicit[0]
        tag = PLAIN if plain else STRING if event.tag in (None, "", "!") else event.tag
        return yaml.ScalarNode(tag, event.value, begin, end, style=event.style)
    kind = yaml.SequenceNode if isinstance(event, yaml.SequenceStartEvent) else yaml.MappingNode
    return kind(event.tag, [], begin, end, flow_style=event.flow_style)


def _pairs(flat: list[yaml.Node]) -> list[tuple[yaml.Node, yaml.Node]]:
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    for label, _ in pairs:
        if not isinstance(label, yaml.ScalarNode):
            raise refused(label, Reason.VALUE, "a key must be plain text")
    return pairs


def _check_directives(text: str) -> None:
    for number, found in enumerate(_DIRECTIVE.finditer(text)):
        if number == MOST_DIRECTIVES or len(found[0]) > LONGEST_DIRECTIVE:
            said = f"at most {MOST_DIRECTIVES} directives %TAG of {LONGEST_DIRECTIVE:,} characters each are taken"
            raise RefusedError(Reason.DIRECTIVES, said, text.count("\n", 0, found.start()) + 1)


def _malformed(error: yaml.YAMLError | UnicodeError, text: str) -> RefusedError:
    if isinstance(error, UnicodeError):
        return RefusedError(Reason.SYNTAX, "half of a surrogate pair is no text", 1)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        return RefusedError(Reason.SYNTAX, "a character here is not allowed in YAML", line, error=error)
    words = getattr(error, "problem", None) or getattr(error, "context", None) or str(error)
    return RefusedError(Reason.SYNTAX, words, mark.line + 1, mark.column + 1, error)
