"""YAML text into the JSON value that kube-scheduler's reader makes of it (YAML 1.1, go-yaml's scalars).

The only module of the engine that uses PyYAML, and only its parser: every value is resolved here, so that no tag
can construct anything. Aliases are followed within a budget of values, which stops alias bombs.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from kschedweb.engine.config.golang import INT64_MAX, Literal, quote
from kschedweb.engine.config.source import MAX_DEPTH, JsonObject, Source, UnreadableError

MAX_VALUES = 20_000
"""How many values a document may have after its aliases are followed."""

_CORE = "tag:yaml.org,2002:"
_WORDS: dict[str, Any] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(
    r"[+-]?(0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[+-]\d\d:\d\d)?)?"
)


def read(text: str) -> Source:
    """Read the first document of ``text``. Raises ``UnreadableError`` in go-yaml's words."""
    import yaml

    try:
        builder = _Builder(_events(text, yaml), yaml)
        value = builder.document()
    except yaml.YAMLError as error:
        raise _unreadable(error, yaml) from error
    return Source(value, text, tuple(builder.duplicates), builder.lines)


def _events(text: str, yaml: Any) -> Iterator[Any]:
    """Return the events of the first document, all of it parsed: syntax errors come before any other.

    Depth is watched while parsing, whose effort grows with its square.
    """
    events: list[Any] = []
    anchors: set[str] = set()
    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CLoader", yaml.Loader)):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if isinstance(event, yaml.DocumentStartEvent) and event.version not in (None, (1, 1)):
            raise UnreadableError("yaml: found incompatible YAML document", line)
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            raise UnreadableError(f"yaml: unknown anchor '{event.anchor}' referenced", line)
        if getattr(event, "anchor", None):
            anchors.add(event.anchor)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UnreadableError(f"the document nests deeper than {MAX_DEPTH} levels", line)
        events.append(event)
        if len(events) > MAX_VALUES:
            raise UnreadableError(f"the document has more than {MAX_VALUES} values", line)
    return iter(events)


def _unreadable(error: Any, yaml: Any) -> UnreadableError:
    """Word a parser's complaint as go-yaml does, which is derived from the same parser."""
    problem = getattr(error, "problem", None)
    if problem is None:
        return UnreadableError("yaml: control characters are not allowed")
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    elif not line and error.context_mark:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return UnreadableError(f"yaml: {where}{problem}", mark.line + 1 if mark else None)


class _Builder:
    """Turns parser events into values, counting depth and values."""

    def __init__(self, events: Iterator[Any], yaml: Any) -> None:
        self.events = events
        self.yaml = yaml
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open_anchors: set[str] = set()
        self.count = 0
        self.duplicates: list[str] = []
        self.lines: dict[str, int] = {}
        self.value_lines: dict[int, dict[str, int]] = {}

    def document(self) -> Any:
        for event in self.events:
            if isinstance(event, self.yaml.StreamEndEvent):
                return None
            if isinstance(event, self.yaml.DocumentStartEvent):
                return self.node(next(self.events), "")
        return None

    def spend(self, values: int) -> None:
        self.count += values
        if self.count > MAX_VALUES:
            raise UnreadableError("yaml: document contains excessive aliasing")

    def node(self, event: Any, path: str) -> Any:
        if path:
            self.lines.setdefault(path, event.start_mark.line + 1)
        if isinstance(event, self.yaml.AliasEvent):
            return self.alias(event.anchor)
        before = self.count
        self.spend(1)
        anchor = event.anchor
        if anchor:
            self.open_anchors.add(anchor)
            self.anchors.pop(anchor, None)
        value = self.content(event, path)
        if anchor:
            self.open_anchors.discard(anchor)
            self.anchors[anchor] = (value, self.count - before)
        return value

    def content(self, event: Any, path: str) -> Any:
        if isinstance(event, self.yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, self.yaml.SequenceStartEvent):
            return self.sequence(path)
        return self.mapping(path)

    def alias(self, anchor: str) -> Any:
        if anchor in self.open_anchors:
            raise UnreadableError(f"yaml: anchor '{anchor}' value contains itself")
        value, values = self.anchors[anchor]
        self.spend(values)
        return value

    def sequence(self, path: str) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), self.yaml.SequenceEndEvent):
            items.append(self.node(event, f"{path}[{len(items)}]"))
        return items

    def mapping(self, path: str) -> JsonObject:
        fields: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self.events), self.yaml.MappingEndEvent):
            is_merge = isinstance(event, self.yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
            key = self.node(event, "")
            inside = f"{path}.{key}" if path else str(key)
            self.lines.setdefault(inside, event.start_mark.line + 1)
            event = next(self.events)
            value = self.node(event, inside)
            brought = self.merged(value) if is_merge else [(key, value, event.start_mark.line + 1)]
            for one, item, line in brought:
                name = _key(one, item)
                if name in fields:
                    self.duplicates.append(f"line {line}: key {_go_syntax(one)} already set in map")
                fields[name], lines[name] = item, line
        made = JsonObject(sorted(fields.items()))
        self.value_lines[id(made)] = lines
        return made

    def merged(self, value: Any) -> list[tuple[str, Any, int]]:
        """Return the fields that a merge key brings, with their lines; of several mappings the first wins."""
        found: list[tuple[str, Any, int]] = []
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise UnreadableError("yaml: map merge requires map or sequence of maps as the value")
            found += [(name, item, self.value_lines[id(source)][name]) for name, item in source.items()]
        return found


def _key(key: Any, value: Any) -> str:
    """Return the field name that a mapping key becomes."""
    if isinstance(key, dict | list):
        raise UnreadableError(f"yaml: invalid map key: {_go_syntax(key)}")
    if key is None:
        raise UnreadableError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {_go_syntax(value)}")
    return _go_syntax(key) if not isinstance(key, str) else key


def _go_syntax(value: Any) -> str:
    """Return a value as Go's ``%#v`` prints it."""
    if isinstance(value, dict):
        fields = (f"{_go_syntax(name)}:{_go_syntax(item)}" for name, item in value.items())
        return f"map[interface {{}}]interface {{}}{{{', '.join(fields)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(_go_syntax(item) for item in value)}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if isinstance(value, str):
        return quote(value)
    return value.text if isinstance(value, Literal) else str(value)


def _scalar(event: Any) -> Any:
    text: str = event.value
    tag: str | None = event.tag
    if tag in (None, "") and not event.implicit[0]:
        return text
    if tag in (None, "", "!"):
        return text if tag == "!" else _number(_resolve(text))
    if tag == _CORE + "binary":
        return _binary(text)
    if not tag.startswith(_CORE) or tag == _CORE + "str":
        return text
    return _number(_tagged(tag.removeprefix(_CORE), text))


def _tagged(tag: str, text: str) -> Any:
    """Resolve a scalar with an explicit core tag; the tag must fit what the text says."""
    value = _resolve(text)
    found = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}[type(value)]
    if tag == "float" and found == "int":
        return float(value)
    if tag not in ("bool", "int", "float", "null") or tag == found:
        return value
    raise UnreadableError(f"yaml: cannot decode !!{found} `{text}` as a !!{tag}")


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (ValueError, binascii.Error) as error:
        raise UnreadableError("yaml: !!binary value contains invalid base64 data") from error


def _resolve(text: str) -> Any:
    """Return what a plain scalar means; a date stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or _DATE.fullmatch(text):
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if (match := _INTEGER.fullmatch(plain)) and text[0] != ".":
        base, digits = next((base, match[name]) for name, base in _BASES.items() if match[name])
        number = int(digits, base) * (-1 if plain[0] == "-" else 1)
        if -INT64_MAX - 1 <= number <= INT64_MAX or (0 <= number < 1 << 64 and plain[0] != "+"):
            return number
    if _FLOAT.fullmatch(plain) and math.isfinite(real := float(plain)):
        return real
    return text


_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


def _number(value: Any) -> Any:
    """Return a float as the JSON number that Go writes for it: whole ones lose their point."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise UnreadableError(f"json: unsupported value: {name}")
    if value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    return Literal(repr(value).replace("e-0", "e-"))
