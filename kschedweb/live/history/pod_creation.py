"""Where in a recording a pod begins: found in the lines themselves, so that no clock but the recorder's counts."""

from __future__ import annotations

import json
import zlib

from kschedweb.clusters.flight.models import Stretch
from kschedweb.clusters.flight.track import REMOVED, WHOLE

MOST_SEGMENTS = 400  # of a stretch that are looked through: some 200 MB of text


def find_birth(stretch: Stretch, key: str, at: int) -> tuple[int | None, bool]:
    """When the pod ``key`` that was there last by ``at`` came in ``stretch``, in microseconds of the epoch.

    Where it did not come there: ``None``, and whether it was there from the beginning on.
    """
    numbers = stretch.segments.filter(began__lte=at).order_by("-number")
    needle, birth = f'"Pod",{json.dumps(key)}'.encode("ascii"), None
    first: bytes | memoryview = b""
    for full, content in numbers.values_list("full", "content")[:MOST_SEGMENTS].iterator(4):
        first = content
        if full:
            continue  # says nothing about when
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
    lines = [json.loads(line) for line in text.splitlines() if needle in line]
    return [line for line in lines if f'"{line[2]}",{json.dumps(line[3])}'.encode() == needle and line[0] <= at]
