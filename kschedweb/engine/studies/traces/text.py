"""Read the text of uploaded files: decompress, decode and split it into lines, each step within limits."""

from __future__ import annotations

import codecs
import itertools
import zlib
from collections.abc import Iterable, Iterator

from kschedweb.engine.documents.files import MOST_BYTES
from kschedweb.engine.studies.document.limits import MOST_LINE, MOST_LINES

Lines = bytes | Iterable[bytes] | Iterable[str]
# Bytes that are read at once.
PIECE = 1 << 16
# First bytes of compressed files.
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
NO_TEXT = "holds a NUL character: the file is not text, or not UTF-8"


class TraceError(ValueError):
    """A file that cannot be used; the message names the line and the reason."""


def read_lines(source: Lines, *, longest: int = MOST_LINE) -> Iterator[str]:
    """Yield the lines of a file without line ends; ``source`` may be compressed with gzip, or be lines already.

    Raise TraceError for text that is not UTF-8, contains NUL, or exceeds the limits. At most one chunk of the file and
    one line are in memory.
    """
    number = 0
    for number, line in enumerate(_split_lines(source, longest), start=1):
        if number > MOST_LINES:
            raise TraceError(f"line {number}: the file has more than {MOST_LINES:,} lines: upload a part of it")
        if len(line) > longest:
            raise TraceError(f"line {number}: is longer than {longest:,} characters")
        if "\x00" in line:
            raise TraceError(f"line {number}: {NO_TEXT}")
        yield line
    if not number:
        raise TraceError("the file is empty")


def count_lines(data: bytes, *, longest: int = MOST_LINE) -> int:
    """Return the number of lines of a file, which may be compressed with gzip; raise TraceError as ``read_lines`` does.

    Lines are counted and not split, so millions take a second or two.
    """
    number, behind, decoder = 0, 0, codecs.getincrementaldecoder("utf-8")()
    for piece in itertools.chain(_unpack_pieces(_cut_pieces(data)), [b""]):
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            line = number + error.object.count(b"\n", 0, error.start) + 1
            raise TraceError(f"line {line}: is not UTF-8 text") from None
        if (nul := piece.find(b"\x00")) >= 0:
            line = number + piece.count(b"\n", 0, nul) + 1
            raise TraceError(f"line {line}: {NO_TEXT}")
        ends = piece.count(b"\n")
        number, behind = number + ends, len(piece) - piece.rfind(b"\n") - 1 if ends else behind + len(piece)
        if number > MOST_LINES:
            raise TraceError(f"the file has more than {MOST_LINES:,} lines: upload a part of it")
        # A character of UTF-8 has at most four bytes.
        if behind > 4 * longest + PIECE:
            raise TraceError(f"line {number + 1}: is longer than {longest:,} characters")
    if not number and not behind:
        raise TraceError("the file is empty")
    return number + bool(behind)


def _split_lines(source: Lines, longest: int) -> Iterator[str]:
    first, pieces = _peek_first(source)
    if isinstance(first, str):
        for line in pieces:
            assert isinstance(line, str)
            yield line.rstrip("\r\n")
        return
    number, remainder = 0, b""
    for piece in _unpack_pieces(piece for piece in pieces if isinstance(piece, bytes)):
        *whole, remainder = (remainder + piece).split(b"\n")
        for raw_line in whole:
            number += 1
            yield _decode_line(raw_line, number)
        # A character of UTF-8 has at most four bytes. Without this check, a file without line ends would fill the
        # memory.
        if len(remainder) > 4 * longest + PIECE:
            raise TraceError(f"line {number + 1}: is longer than {longest:,} characters")
    if remainder:
        yield _decode_line(remainder, number + 1)


def _peek_first(source: Lines) -> tuple[bytes | str | None, Iterator[bytes | str]]:
    """Return the first chunk, and an iterator over all chunks."""
    pieces: Iterator[bytes | str] = _cut_pieces(source) if isinstance(source, bytes) else iter(source)
    first = next(pieces, None)
    return first, pieces if first is None else itertools.chain([first], pieces)


def _cut_pieces(data: bytes) -> Iterator[bytes]:
    return (data[start : start + PIECE] for start in range(0, len(data), PIECE))


def _decode_line(line: bytes, number: int) -> str:
    try:
        # A byte order mark may stand before the first line.
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise TraceError(f"line {number}: is not UTF-8 text (byte {error.start + 1} of the line)") from None


def _unpack_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, at most MOST_BYTES, whatever sizes it declares."""
    total = 0
    for piece in _decompress_pieces(pieces):
        total += len(piece)
        if total > MOST_BYTES:
            raise TraceError(f"the file holds more than {MOST_BYTES >> 20:,} MiB: upload a part of it")
        yield piece


def _decompress_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= len(ZIP):
            break
    if head.startswith(ZIP):
        raise TraceError("the file is a zip archive: upload the file in it, as it is or packed by gzip")
    whole = itertools.chain([head], pieces)
    yield from _gunzip_pieces(whole) if head.startswith(GZIP) else whole


def _gunzip_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # 31 reads the format of gzip and nothing else.
    unpacking = zlib.decompressobj(wbits=31)
    for piece in pieces:
        unread = piece
        while unread:
            if unpacking.eof:
                # Padding may follow the end, and then another gzip file: concatenated ones are one file.
                unread = unread.lstrip(b"\x00")
                if not unread:
                    break
                unpacking = zlib.decompressobj(wbits=31)
            try:
                yield unpacking.decompress(unread, PIECE)
            except zlib.error as error:
                raise TraceError(f"the file is not what gzip packs: {error}") from None
            unread = unpacking.unused_data if unpacking.eof else unpacking.unconsumed_tail
    while not unpacking.eof:
        more = unpacking.decompress(unpacking.unconsumed_tail, PIECE)
        if not more:
            raise TraceError("the file ends in the middle of what gzip packed: upload it again")
        yield more
