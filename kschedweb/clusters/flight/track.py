"""A cluster's objects as lines: whole ones, and what changed of each. Of one process, without a database.

A line is ``[time, how, kind, key, value]``: microseconds of the epoch; ``=`` a whole object, ``~`` a patch of the one
before (patches.py), ``-`` an object that is gone; "namespace/name", or the name alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kschedweb.clusters.flight.patches import difference, patched
from kschedweb.clusters.reader import object_key

Json = dict[str, Any]
Line = list[Any]
Known = dict[tuple[str, str], bytes]

WHOLE, CHANGED, GONE = "=", "~", "-"


def packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


class Track:
    """The objects known now, each as its text, which takes a fifth of the memory of its values."""

    def __init__(self) -> None:
        self._known: Known = {}

    def __len__(self) -> int:
        return len(self._known)

    def listed(self, kind: str, items: Iterable[Json], at: int) -> Iterator[bytes]:
        """The lines that a list of all objects of ``kind`` makes."""
        found = {key: raw for raw in items if (key := object_key(raw)) is not None}
        for known in [key for of, key in self._known if of == kind and key not in found]:
            yield from self._removed(kind, known, at)
        for raw in found.values():
            yield from self.changed(kind, raw, at)

    def changed(self, kind: str, raw: Json, at: int) -> Iterator[bytes]:
        """The lines of an object that was added or changed: one, or none if it is as it was."""
        key = object_key(raw)
        if key is None:
            return
        text, before = packed(raw), self._known.get((kind, key))
        if text == before:
            return
        self._known[kind, key] = text
        patch = None if before is None else difference(json.loads(before), json.loads(text))
        if before is None:
            yield _whole(at, kind, key, text)
        elif patch is not None:
            line = packed([at, CHANGED, kind, key, patch])
            yield line if len(line) < len(text) else _whole(at, kind, key, text)

    def removed(self, kind: str, raw: Json, at: int) -> Iterator[bytes]:
        """The line of an object that was deleted."""
        if (key := object_key(raw)) is not None:
            yield from self._removed(kind, key, at)

    def _removed(self, kind: str, key: str, at: int) -> Iterator[bytes]:
        if self._known.pop((kind, key), None) is not None:
            yield packed([at, GONE, kind, key])

    def whole(self, at: int) -> Iterator[bytes]:
        """The lines of everything that is known."""
        return (_whole(at, kind, key, text) for (kind, key), text in self._known.items())


def _whole(at: int, kind: str, key: str, text: bytes) -> bytes:
    return packed([at, WHOLE, kind, key])[:-1] + b"," + text + b"]"


class Replay:
    """The objects that lines lead to, applied in their order."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Json] = {}

    def take(self, line: Line) -> None:
        _, how, kind, key, *value = line
        if how == GONE:
            self.known.pop((kind, key), None)
        else:
            self.known[kind, key] = value[0] if how == WHOLE else patched(self.known[kind, key], value[0])

    @property
    def objects(self) -> list[Json]:
        """The objects by kind and key, as a snapshot has them."""
        return [self.known[key] for key in sorted(self.known)]
