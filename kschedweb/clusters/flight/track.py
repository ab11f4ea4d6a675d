"""A cluster's objects as lines: whole ones, and the changes of each. It is of one process, without a database.

A line is ``[time, how, kind, key, value]``. The time is in microseconds of the epoch. ``how`` is ``=`` for a whole
object, ``~`` for a patch of the one before, ``-`` for an object that is gone. The key is "namespace/name", or "/name".

A patch is the difference of two JSON values as JSON: ``["v", value]`` (another value), ``["d", {key: patch}, [removed
keys]]``, or ``["l", {index: patch}]`` for a list that keeps its length. ``None`` means that nothing differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kschedweb.clusters.reader import object_key
from kschedweb.engine.json_types import Json

Line = list[Any]
Patch = list[Any]
KnownTexts = dict[tuple[str, str], bytes]

WHOLE, CHANGED, REMOVED = "=", "~", "-"


def dump_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


class Track:
    """The objects known now, each as its text, which takes a fifth of the memory of its values."""

    def __init__(self) -> None:
        self._known: KnownTexts = {}

    def __len__(self) -> int:
        return len(self._known)

    def take_list(self, kind: str, items: Iterable[Json], at: int) -> Iterator[bytes]:
        """Yield the lines that a list of all objects of ``kind`` makes."""
        raw_by_key = {key: raw for raw in items if (key := object_key(raw)) is not None}
        for gone_key in [key for known_kind, key in self._known if known_kind == kind and key not in raw_by_key]:
            yield from self._remove_key(kind, gone_key, at)
        for raw in raw_by_key.values():
            yield from self.take_changed(kind, raw, at)

    def take_changed(self, kind: str, raw: Json, at: int) -> Iterator[bytes]:
        """Yield the line of an object that was added or changed; none if it is the same."""
        key = object_key(raw)
        if key is None:
            return
        text, before = dump_json(raw), self._known.get((kind, key))
        if text == before:
            return
        self._known[kind, key] = text
        patch = None if before is None else make_patch(json.loads(before), json.loads(text))
        if before is None:
            yield _whole_line(at, kind, key, text)
        elif patch is not None:
            line = dump_json([at, CHANGED, kind, key, patch])
            # A patch of most of an object can be longer than the object.
            yield line if len(line) < len(text) else _whole_line(at, kind, key, text)

    def take_removed(self, kind: str, raw: Json, at: int) -> Iterator[bytes]:
        """Yield the line of an object that was deleted."""
        if (key := object_key(raw)) is not None:
            yield from self._remove_key(kind, key, at)

    def _remove_key(self, kind: str, key: str, at: int) -> Iterator[bytes]:
        if self._known.pop((kind, key), None) is not None:
            yield dump_json([at, REMOVED, kind, key])

    def whole_lines(self, at: int) -> Iterator[bytes]:
        """Yield the lines of everything that is known."""
        return (_whole_line(at, kind, key, text) for (kind, key), text in self._known.items())


def _whole_line(at: int, kind: str, key: str, text: bytes) -> bytes:
    # The text is JSON already: encoding it again would cost most of the time of a full segment.
    return dump_json([at, WHOLE, kind, key])[:-1] + b"," + text + b"]"


class Replay:
    """The objects that lines lead to, applied in their order."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Json] = {}

    def apply_line(self, line: Line) -> None:
        _, how, kind, key, *value = line
        if how == REMOVED:
            self.known.pop((kind, key), None)
        else:
            self.known[kind, key] = value[0] if how == WHOLE else apply_patch(self.known[kind, key], value[0])

    @property
    def objects(self) -> list[Json]:
        """The objects by kind and key, as a snapshot has them."""
        return [self.known[key] for key in sorted(self.known)]


def make_patch(old: Any, new: Any) -> Patch | None:
    """Return the patch that makes ``new`` of ``old``."""
    if isinstance(old, dict) and isinstance(new, dict):
        changed = {}
        for key, value in new.items():
            patch = ["v", value] if key not in old else make_patch(old[key], value)
            if patch is not None:
                changed[key] = patch
        removed = [key for key in old if key not in new]
        return ["d", changed, removed] if changed or removed else None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        patches = {index: make_patch(item, other) for index, (item, other) in enumerate(zip(old, new, strict=True))}
        changes = {str(index): patch for index, patch in patches.items() if patch is not None}
        return ["l", changes] if changes else None
    # In Python 1 == True == 1.0, but in JSON they differ.
    return None if type(old) is type(new) and old == new else ["v", new]


def apply_patch(old: Any, patch: Patch) -> Any:
    """Return ``old`` with ``patch`` applied. ``old`` is changed in place where it can be."""
    if patch[0] == "v":
        return patch[1]
    if patch[0] == "l":
        for index, inner in patch[1].items():
            old[int(index)] = apply_patch(old[int(index)], inner)
        return old
    for key in patch[2]:
        del old[key]
    for key, inner in patch[1].items():
        old[key] = apply_patch(old.get(key), inner)
    return old
