"""YAML text into the JSON value that kube-scheduler's reader makes of it (YAML 1.1, go-yaml's scalars).

Aliases are followed within a budget of values and of text, which stops alias bombs.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import yaml

from kschedweb.engine.config.source import MAX_BYTES, MAX_DEPTH, DocumentSource, JsonObject, UnreadableError
from kschedweb.engine.documents.scalars import resolve_scalar
from kschedweb.engine.documents.yaml_events import Bounds, Event, Reason, RefusedError, read_events
from kschedweb.engine.validation.golang import Literal, quote

# Values that a document may have after its aliases are followed.
MAX_VALUES = 20_000

# Characters. Paths have a limit of their own, because a long key is part of the path of everything below it.
_MOST_PATHS = 4 * MAX_BYTES
_CORE = "tag:yaml.org,2002:"


def read_yaml(text: str) -> DocumentSource:
    """Read the first document of ``text``. Raises ``UnreadableError`` in go-yaml's words."""
    try:
        builder = _ValueBuilder(iter(_first_document(text)))
        value = builder.build_document()
    except RefusedError as refused:
        raise _word_refusal(refused) from refused
    return DocumentSource(value, text, tuple(builder.duplicates), builder.lines)


def _first_document(text: str) -> list[Event]:
    """Return the events of the first document. All of it is parsed first: syntax errors come before any other."""
    document_events: list[Event] = []
    anchors: set[str] = set()
    for event in read_events(text, Bounds(MAX_DEPTH, MAX_VALUES)):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentEndEvent):
            break
        if isinstance(event, yaml.DocumentStartEvent) and event.version not in (None, (1, 1)):
            raise UnreadableError("yaml: found incompatible YAML document", line)
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            raise UnreadableError(f"yaml: unknown anchor '{event.anchor}' referenced", line)
        if getattr(event, "anchor", None):
            anchors.add(event.anchor)
        document_events.append(event)
    return document_events


def _word_refusal(refused: RefusedError) -> UnreadableError:
    """Word a refusal. A parser's complaint is worded as in go-yaml, which is derived from the same parser."""
    if refused.reason is Reason.DEPTH:
        return UnreadableError(f"the document nests deeper than {MAX_DEPTH} levels", refused.line)
    if refused.reason is not Reason.SYNTAX:
        return UnreadableError(f"the document: {refused.message}", refused.line)
    error = refused.error
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return UnreadableError("yaml: control characters are not allowed")
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    elif not line and error.context_mark:
        line = error.context_mark.line
    location = f"line {line}: " if line else ""
    return UnreadableError(f"yaml: {location}{error.problem}", mark.line + 1 if mark else None)


class _ValueBuilder:
    """A builder of values from parser events that counts values and text."""

    def __init__(self, events: Iterator[Event]) -> None:
        self.events = events
        # Anchor -> (value, number of values, characters), so that an alias is charged for all that it repeats.
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        # Anchors whose value is still being built; an alias to one of them would contain itself.
        self.open_anchors: set[str] = set()
        # The budget spent so far.
        self.count = self.size = 0
        self.duplicates: list[str] = []
        self.lines: dict[str, int] = {}
        # Characters of all paths so far.
        self.paths = 0
        # Lines of a mapping's fields by the mapping's id, for merge keys.
        self.value_lines: dict[int, dict[str, int]] = {}

    def build_document(self) -> Any:
        for event in self.events:
            if isinstance(event, yaml.StreamEndEvent):
                return None
            if isinstance(event, yaml.DocumentStartEvent):
                return self.build_node(next(self.events), "")
        return None

    def spend_budget(self, values: int, size: int) -> None:
        self.count += values
        self.size += size
        if self.count > MAX_VALUES or self.size > MAX_BYTES:
            raise UnreadableError("yaml: document contains excessive aliasing")

    def child_path(self, path: str | None, step: str, event: Event) -> str | None:
        """Return the path of a part of ``path`` and note its line; ``None`` if paths become too long."""
        if path is None or self.paths + len(path) + len(step) > _MOST_PATHS:
            return None
        inside = (path + step).removeprefix(".")
        self.paths += len(inside)
        self.lines.setdefault(inside, event.start_mark.line + 1)
        return inside

    def build_node(self, event: Event, path: str | None) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self.resolve_alias(str(event.anchor))
        count, size = self.count, self.size
        self.spend_budget(1, len(event.value) if isinstance(event, yaml.ScalarEvent) else 0)
        anchor = event.anchor
        if anchor:
            self.open_anchors.add(anchor)
            self.anchors.pop(anchor, None)
        value = self.build_content(event, path)
        if anchor:
            self.open_anchors.discard(anchor)
            self.anchors[anchor] = (value, self.count - count, self.size - size)
        return value

    def build_content(self, event: Event, path: str | None) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return _resolve_scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.build_sequence(path)
        return self.build_mapping(path)

    def resolve_alias(self, anchor: str) -> Any:
        if anchor in self.open_anchors:
            raise UnreadableError(f"yaml: anchor '{anchor}' value contains itself")
        value, values, size = self.anchors[anchor]
        self.spend_budget(values, size)
        return value

    def build_sequence(self, path: str | None) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.build_node(event, self.child_path(path, f"[{len(items)}]", event)))
        return items

    def build_mapping(self, path: str | None) -> JsonObject:
        fields: dict[str, object] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            is_merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
            key = self.build_node(event, None)
            inside = self.child_path(path, f".{key}", event)
            event = next(self.events)
            value = self.build_node(event, inside)
            brought = self.merge_mappings(value) if is_merge else [(key, value, event.start_mark.line + 1)]
            for raw_key, item, line in brought:
                name = _field_name(raw_key, item)
                if name in fields:
                    self.duplicates.append(f"line {line}: key {_go_syntax(raw_key)} already set in map")
                fields[name], lines[name] = item, line
        # Sorted: the original passes through a Go map, which is written with sorted keys.
        result = JsonObject(sorted(fields.items()))
        self.value_lines[id(result)] = lines
        return result

    def merge_mappings(self, value: Any) -> list[tuple[str, Any, int]]:
        """Return the fields that a merge key brings, with their lines. Of several mappings the first wins."""
        fields: list[tuple[str, Any, int]] = []
        for source in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(source, dict):
                raise UnreadableError("yaml: map merge requires map or sequence of maps as the value")
            fields += [(name, item, self.value_lines[id(source)][name]) for name, item in source.items()]
        return fields


def _field_name(key: Any, value: Any) -> str:
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


def _resolve_scalar(event: Any) -> Any:
    text: str = event.value
    tag: str | None = event.tag
    if tag in (None, "") and not event.implicit[0]:
        return text
    if tag in (None, "", "!"):
        return text if tag == "!" else _normalize_number(resolve_scalar(text))
    if tag == _CORE + "binary":
        return _decode_binary(text)
    if not tag.startswith(_CORE) or tag == _CORE + "str":
        return text
    return _normalize_number(_resolve_tagged(tag.removeprefix(_CORE), text))


def _resolve_tagged(tag: str, text: str) -> Any:
    """Resolve a scalar with an explicit core tag. The tag must fit the text."""
    value = resolve_scalar(text)
    actual_tag = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}[type(value)]
    if tag == "float" and actual_tag == "int":
        return float(value)
    if tag not in ("bool", "int", "float", "null") or tag == actual_tag:
        return value
    raise UnreadableError(f"yaml: cannot decode !!{actual_tag} `{text}` as a !!{tag}")


def _decode_binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (ValueError, binascii.Error) as error:
        raise UnreadableError("yaml: !!binary value contains invalid base64 data") from error


def _normalize_number(value: Any) -> Any:
    """Return a float as the JSON number that Go writes for it. Whole numbers lose their decimal point."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise UnreadableError(f"json: unsupported value: {name}")
    # From 1e21 on Go's encoder switches to exponents.
    if value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    return Literal(repr(value).replace("e-0", "e-"))
