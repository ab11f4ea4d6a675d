"""An animated PNG of still ones: no package for images is needed, since browsers write and show both."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def animate(stills: Sequence[bytes], seconds: int) -> bytes:
    """Return an endless animation of PNGs that are equal in size and colours, each shown for so many ``seconds``."""
    heads = {head for still in stills for kind, head in read_chunks(still) if kind == b"IHDR"}
    if len(heads) != 1:
        raise ValueError("the pictures differ in size or colours")
    (head,) = heads
    parts = [SIGNATURE, _chunk(b"IHDR", head), _chunk(b"acTL", struct.pack(">II", len(stills), 0))]
    number = 0  # of chunks that belong to the animation
    for position, still in enumerate(stills):
        # Width and height of the whole picture, at its corner, for a number of seconds, over what was there before.
        parts.append(_chunk(b"fcTL", struct.pack(">I8sIIHHBB", number, head[:8], 0, 0, seconds, 1, 0, 0)))
        number += 1
        for data in (data for kind, data in read_chunks(still) if kind == b"IDAT"):
            if position:
                parts.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
                number += 1
            else:
                parts.append(_chunk(b"IDAT", data))
    return b"".join([*parts, _chunk(b"IEND", b"")])


def read_chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the content of each chunk."""
    at = len(SIGNATURE)
    while at < len(picture):
        length, kind = struct.unpack(">I4s", picture[at : at + 8])
        yield kind, picture[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
