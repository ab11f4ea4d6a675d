"""Documents as the values of JSON, exactly as they stand: what JSON cannot say is refused at its line."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import yaml

from kschedweb.engine.documents.anchors import MERGE_TAKES, Anchors, Extent
from kschedweb.engine.documents.reading import Bounds, Event, Reason, events, refused
from kschedweb.engine.documents.scalars import beyond, resolve

CORE_TAG = re.compile(r"tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)")
_TYPES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}


def documents(text: str, bounds: Bounds, *, repeated_keys: bool = False) -> list[Any]:
    """The documents in ``text`` without empty ones, raises RefusedError.

    Aliases are followed and merge keys (``<<``) merged as kubectl does it; what they bring counts for ``bounds``.
    Where ``repeated_keys`` are taken the last one counts, as in JSON.
    """
    return _Reader(bounds, repeated_keys).read(text)


class _Merge:
    """A merge key, until its mapping is complete."""


class _Open:
    """A collection that is being filled, and the key of a mapping that waits for its value."""

    __slots__ = ("anchor", "collection", "extent", "key", "merges")

    def __init__(self, collection: Any, anchor: str | None) -> None:
        self.collection = collection
        self.anchor = anchor
        self.extent = Extent(depth=1)
        self.key: str | _Merge | None = None
        self.merges = False

    def add(self, value: Any, event: Event, repeated_keys: bool) -> None:
        if isinstance(self.collection, list):
            self.collection.append(value)
        elif self.key is not None:
            self.collection[self.key] = value
            self.key = None
        elif value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0] and not event.tag:
            self.key, self.merges = _Merge(), True
        else:
            self.key = _key(value, event)
            if self.key in self.collection and not repeated_keys:
                raise _error(event, f"the key {self.key[:80]!r} stands twice in one mapping")

    def close(self, event: Event) -> None:
        """Put what merge keys bring in their place; as go-yaml does, what stands later in the mapping wins."""
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
                    raise _error(event, MERGE_TAKES)
                self.collection.update(source)


class _Reader:
    """Makes values of events, and counts what aliases bring."""

    def __init__(self, bounds: Bounds, repeated_keys: bool) -> None:
        self.bounds = bounds
        self.repeated_keys = repeated_keys
        self.found: list[Any] = []
        self.waiting: list[_Open] = []
        self.anchors: Anchors[Any] = Anchors(bounds)

    def read(self, text: str) -> list[Any]:
        for event in events(text, self.bounds):
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.begin_document()
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
            elif isinstance(event, yaml.AliasEvent):
                value, extent = self.anchors.follow(event, len(self.waiting))
                self._add(_copy(value), extent, event)
            elif isinstance(event, yaml.NodeEvent):
                self._begin(event)
        return [document for document in self.found if document is not None]

    def _begin(self, event: Event) -> None:
        self.anchors.begin_value(event)
        value = _value(event)
        if isinstance(event, yaml.CollectionStartEvent):
            self._put(value, event)
            self.waiting.append(_Open(value, event.anchor))
        else:
            extent = Extent(text=len(event.value))
            self.anchors.keep(event.anchor, value, extent)
            self._add(value, extent, event)

    def _close(self, event: Event) -> None:
        done = self.waiting.pop()
        done.close(event)
        self.anchors.keep(done.anchor, done.collection, done.extent)
        if self.waiting:
            self.waiting[-1].extent.count(done.extent)

    def _put(self, value: Any, event: Event) -> None:
        if self.waiting:
            self.waiting[-1].add(value, event, self.repeated_keys)
        else:
            self.found.append(value)

    def _add(self, value: Any, extent: Extent, event: Event) -> None:
        self._put(value, event)
        if self.waiting:
            self.waiting[-1].extent.count(extent)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _key(value: Any, event: Event) -> str:
    if isinstance(value, dict | list):
        raise _error(event, "a key must be text")
    return value if isinstance(value, str) else json.dumps(value)


def _value(event: Event) -> Any:
    tag = _core_tag(event)
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    text: str = event.value
    if "\x00" in text:
        raise _error(event, "text with a NUL character cannot be stored")
    if tag == "str" or (not tag and not event.implicit[0]):
        return text
    if beyond(text):
        raise _error(event, f"The number {text[:24]}… is too large: numbers have 64 bits")
    value = resolve(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise _error(event, f"{text} is not a number that JSON knows")
    if tag and tag != _TYPES[type(value)] and not (tag == "float" and isinstance(value, int)):
        raise _error(event, f"{text[:40]!r} is not of type {tag}")
    return value


def _core_tag(event: Event) -> str:
    """The core type that the event's tag names, "" without one."""
    if not event.tag or event.tag == "!":
        return "str" if event.tag else ""
    core = CORE_TAG.fullmatch(event.tag)
    if core is None:
        raise _error(event, f"the type {event.tag[:80]} is not taken")
    return core[1]


def _error(event: Event, message: str) -> Exception:
    return refused(event, Reason.VALUE, message)
