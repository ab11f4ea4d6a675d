"""Snapshots as bytes: compact JSON, compressed with zlib."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable

from kschedweb.engine.json_types import Json

# zlib's fastest level: 5,000 pods take well under a second, and a tenth of their size.
LEVEL = 1


def pack_objects(objects: list[Json]) -> tuple[bytes, int]:
    """Return ``objects`` compressed, and their size in bytes before."""
    compressor, parts, size = zlib.compressobj(LEVEL), list[bytes](), 0
    for number, item in enumerate(objects):
        # Object by object, because the whole text is several times larger than the result.
        plain = (",["[not number] + json.dumps(item, separators=(",", ":"), allow_nan=False)).encode("ascii")
        parts.append(compressor.compress(plain))
        size += len(plain)
    end = b"]" if objects else b"[]"
    return b"".join([*parts, compressor.compress(end), compressor.flush()]), size + len(end)


def unpack_objects(content: bytes | memoryview) -> list[Json]:
    """Return the objects that ``pack_objects`` compressed."""
    objects: list[Json] = json.loads(zlib.decompress(content))
    return objects


def find_object(content: bytes | memoryview, is_sought: Callable[[Json], bool]) -> Json | None:
    """Return the first of the objects that ``pack_objects`` compressed for which ``is_sought`` is true.

    They are read one by one up to it, so that a large cluster is never in memory as values.
    """
    text = zlib.decompress(content).decode("ascii")
    decoder, position = json.JSONDecoder(), 1
    while position < len(text) - 1:
        item, position = decoder.raw_decode(text, position)
        if is_sought(item):
            match: Json = item
            return match
        # A comma is between two objects, and the bracket after the last.
        position += 1
    return None
