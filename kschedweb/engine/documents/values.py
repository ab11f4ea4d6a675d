"""Documents as the values of JSON, exactly as they stand: what JSON cannot say is refused at its line."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import yaml

from kschedweb.engine.documents.reading import Bounds, Event, Reason, events, refused
from kschedweb.engine.documents.scalars import beyond, resolve

CORE_TAG = re.compile(r"tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)")
_TYPES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}


def documents(text: str, bounds: Bounds, *, repeated_keys: bool = False) -> list[Any]:
    """The documents in ``text`` without empty ones, raises RefusedError.

    Where ``repeated_keys`` are taken the last one counts, as in JSON.
    """
    found: list[Any] = []
    waiting: list[_Open] = []
    for event in events(text, bounds):
        if isinstance(event, yaml.CollectionEndEvent):
            waiting.pop()
        elif isinstance(event, yaml.NodeEvent):
            value = _value(event)
            if waiting:
                waiting[-1].add(value, event, repeated_keys)
            else:
                found.append(value)
            if isinstance(event, yaml.CollectionStartEvent):
                waiting.append(_Open(value))
    return [document for document in found if document is not None]


class _Open:
    """A collection that is being filled, and the key of a mapping that waits for its value."""

    __slots__ = ("collection", "key")

    def __init__(self, collection: Any) -> None:
        self.collection = collection
        self.key: str | None = None

    def add(self, value: Any, event: Event, repeated_keys: bool) -> None:
        if isinstance(self.collection, list):
            self.collection.append(value)
        elif self.key is None:
            self.key = _key(value, event)
            if self.key in self.collection and not repeated_keys:
                raise _error(event, f"the key {self.key[:80]!r} stands twice in one mapping")
        else:
            self.collection[self.key] = value
            self.key = None


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
