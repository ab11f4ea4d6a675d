"""Find when a pod was created in a recording. The lines themselves are read, so only the recorder's clock counts."""

from __future__ import annotations

import json
import zlib

from kschedweb.clusters.flight.models import Stretch
from kschedweb.clusters.flight.track import REMOVED, WHOLE

# Segments of a stretch that are searched: some 200 MB of text.
MOST_SEGMENTS = 400


def find_birth(stretch: Stretch, key: str, at: int) -> tuple[int | None, bool]:
    """Return when the last pod ``key`` that existed by ``at`` was created in ``stretch`` (microseconds of the epoch).

    If it was not created there: None, and whether it existed from the beginning of the stretch on.
    """
    # Newest segments first: the pod is usually young, so most segments are never decompressed.
    numbers = stretch.segments.filter(began__lte=at).order_by("-number")
    needle, birth = f'"Pod",{json.dumps(key)}'.encode("ascii"), None
    first: bytes | memoryview = b""
    for full, content in numbers.values_list("full", "content")[:MOST_SEGMENTS].iterator(4):
        first = content
        # A full segment repeats the whole state, and says nothing about when an object came.
        if full:
            continue
        for line in reversed(_lines_about(content, needle, at)):
            if line[1] == REMOVED and birth is not None:
                return birth, False
            if line[1] == WHOLE:
                birth = int(str(line[0]))
        if birth is not None:
            return birth, False
    return None, bool(first) and needle in zlib.decompress(first)


def _lines_about(content: bytes | memoryview, needle: bytes, at: int) -> list[list[object]]:
    text = zlib.decompress(content)
    if needle not in text:
        return []
    # Searching bytes first spares parsing: only lines that may be about the pod are read as JSON.
    lines = [json.loads(line) for line in text.splitlines() if needle in line]
    return [line for line in lines if f'"{line[2]}",{json.dumps(line[3])}'.encode() == needle and line[0] <= at]
