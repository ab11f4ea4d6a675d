"""Documents as JSON values, exactly as written. A value that JSON cannot express is refused at its line."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import yaml

from kschedweb.engine.documents.anchors import MERGE_TAKES, Anchors, Extent
from kschedweb.engine.documents.scalars import exceeds_64_bits, resolve_scalar
from kschedweb.engine.documents.yaml_events import Bounds, Event, Reason, read_events, refusal_at

CORE_TAG = re.compile(r"tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)")
_TYPES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}


def read_documents(text: str, bounds: Bounds, *, repeated_keys: bool = False) -> list[Any]:
    """Return the documents in ``text`` without empty ones. Raises RefusedError.

    Aliases and merge keys (``<<``) are resolved as kubectl does; the values that they bring count for ``bounds``. With
    ``repeated_keys`` the last of equal keys wins, as in JSON.
    """
    return _ValueReader(bounds, repeated_keys).read_text(text)


class _Merge:
    """A merge key, until its mapping is complete."""


class _OpenCollection:
    """A collection that is being filled."""

    __slots__ = ("anchor", "collection", "extent", "key", "merges")

    def __init__(self, collection: Any, anchor: str | None) -> None:
        self.collection = collection
        self.anchor = anchor
        self.extent = Extent(depth=1)
        # The key of a mapping that waits for its value.
        self.key: str | _Merge | None = None
        self.merges = False

    def add_value(self, value: Any, event: Event, repeated_keys: bool) -> None:
        if isinstance(self.collection, list):
            self.collection.append(value)
        elif self.key is not None:
            self.collection[self.key] = value
            self.key = None
        elif value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0] and not event.tag:
            self.key, self.merges = _Merge(), True
        else:
            self.key = _to_key(value, event)
            if self.key in self.collection and not repeated_keys:
                raise _value_error(event, f"the key {self.key[:80]!r} stands twice in one mapping")

    def apply_merges(self, event: Event) -> None:
        """Replace the merge keys by their fields. As in go-yaml, a later field of the mapping wins."""
        if not self.merges:
            return
        fields = list(self.collection.items())
        self.collection.clear()
        for key, value in fields:
            if not isinstance(key, _Merge):
                self.collection[key] = value
                continue
            for source in reversed(value if isinstance(value, list) else [value]):
                if not isinstance(source, dict):
                    raise _value_error(event, MERGE_TAKES)
                self.collection.update(source)


class _ValueReader:
    """A reader that builds values from events, and counts the values that aliases bring."""

    def __init__(self, bounds: Bounds, repeated_keys: bool) -> None:
        self.bounds = bounds
        self.repeated_keys = repeated_keys
        self.documents: list[Any] = []
        self.waiting: list[_OpenCollection] = []
        self.anchors: Anchors[Any] = Anchors(bounds)

    def read_text(self, text: str) -> list[Any]:
        for event in read_events(text, self.bounds):
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.begin_document()
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close_collection(event)
            elif isinstance(event, yaml.AliasEvent):
                value, extent = self.anchors.resolve_alias(event, len(self.waiting))
                self._add_value(_copy_value(value), extent, event)
            elif isinstance(event, yaml.NodeEvent):
                self._begin_value(event)
        return [document for document in self.documents if document is not None]

    def _begin_value(self, event: Event) -> None:
        self.anchors.begin_value(event)
        value = _read_value(event)
        if isinstance(event, yaml.CollectionStartEvent):
            self._put_value(value, event)
            self.waiting.append(_OpenCollection(value, event.anchor))
        else:
            extent = Extent(text=len(event.value))
            self.anchors.store_value(event.anchor, value, extent)
            self._add_value(value, extent, event)

    def _close_collection(self, event: Event) -> None:
        open_collection = self.waiting.pop()
        open_collection.apply_merges(event)
        self.anchors.store_value(open_collection.anchor, open_collection.collection, open_collection.extent)
        if self.waiting:
            self.waiting[-1].extent.include_part(open_collection.extent)

    def _put_value(self, value: Any, event: Event) -> None:
        if self.waiting:
            self.waiting[-1].add_value(value, event, self.repeated_keys)
        else:
            self.documents.append(value)

    def _add_value(self, value: Any, extent: Extent, event: Event) -> None:
        self._put_value(value, event)
        if self.waiting:
            self.waiting[-1].extent.include_part(extent)


def _copy_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_value(item) for key, item in value.items()}
    return [_copy_value(item) for item in value] if isinstance(value, list) else value


def _to_key(value: Any, event: Event) -> str:
    if isinstance(value, dict | list):
        raise _value_error(event, "a key must be text")
    return value if isinstance(value, str) else json.dumps(value)


def _read_value(event: Event) -> Any:
    tag = _core_tag(event)
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    text: str = event.value
    if "\x00" in text:
        raise _value_error(event, "text with a NUL character cannot be stored")
    if tag == "str" or (not tag and not event.implicit[0]):
        return text
    if exceeds_64_bits(text):
        raise _value_error(event, f"The number {text[:24]}… is too large: numbers have 64 bits")
    value = resolve_scalar(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise _value_error(event, f"{text} is not a number that JSON knows")
    if tag and tag != _TYPES[type(value)] and not (tag == "float" and isinstance(value, int)):
        raise _value_error(event, f"{text[:40]!r} is not of type {tag}")
    return value


def _core_tag(event: Event) -> str:
    """Return the core type that the event's tag names; "" without a tag."""
    if not event.tag or event.tag == "!":
        return "str" if event.tag else ""
    core = CORE_TAG.fullmatch(event.tag)
    if core is None:
        raise _value_error(event, f"the type {event.tag[:80]} is not taken")
    return core[1]


def _value_error(event: Event, message: str) -> Exception:
    return refusal_at(event, Reason.VALUE, message)
