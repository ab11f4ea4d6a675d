"""Decodes text in chunks and reads JSON value by value, so that at most one value is in memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn

from kschedweb.clusters.importing.documents import (
    MAGIC,
    TextLimits,
    UntrustedTextError,
    count_values,
    json_decoder,
    size_text,
)
from kschedweb.engine.objects.lists import log_end

BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")
# Characters of one value; no Kubernetes object is as large.
LARGEST = 8 * 1024 * 1024
# Characters of a line that begins a log.
LONGEST_LINE = 1024
# Characters at the end of a chunk in which a word, a number or an escape may be cut off.
LONGEST_WORD = 16
# First characters of values with a visible end.
CLOSED = '"{['


def decode_pieces(pieces: Iterable[bytes], limits: TextLimits) -> Iterator[str]:
    """Yield the text in ``pieces``, UTF-8 or UTF-16 with a BOM, without the BOM.

    Raises UntrustedTextError for data that is not text, or exceeds ``limits``.
    """
    pieces = iter(pieces)
    head = b""
    while len(head) < max(map(len, MAGIC)) and (piece := next(pieces, b"")):
        head += piece
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            raise UntrustedTextError(f"This is a {name} file: unpack it and send the JSON or YAML inside.")
    encoding = "utf-16" if head[:2] in BYTE_ORDERS else "utf-8"
    decoder, seen_bytes = codecs.getincrementaldecoder(encoding)(), 0
    begun = False
    # The empty last piece makes the decoder report a character that is cut off.
    for piece in chain([head], pieces, [b""]):
        # Bytes that the decoder still holds belong to the next character, so positions count from before them.
        before = seen_bytes - len(decoder.getstate()[0])
        seen_bytes += len(piece)
        if seen_bytes > limits.size:
            raise UntrustedTextError(
                f"The text is larger than {size_text(limits.size)}, which is the most that is taken.", status=413
            )
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            at = before + error.start + 1
            raise UntrustedTextError(f"This is not text: byte {at} is not {encoding.upper()}.") from None
        if "\x00" in text:
            raise UntrustedTextError("This is not text: it holds NUL bytes.")
        if text := text if begun else text.removeprefix("\ufeff"):
            yield text
        begun = begun or bool(text)


class JsonCursor:
    """A cursor in JSON text, which drops the text before it.

    Raises UntrustedTextError, with line and column, if the text is not JSON or exceeds ``limits``.
    """

    def __init__(self, pieces: Iterator[str], limits: TextLimits) -> None:
        self._pieces, self._limits = pieces, limits
        self._text, self._at = "", 0
        # The position of the beginning of ``_text``.
        self._line, self._column = 1, 0
        self._values = 0
        self._decoder = json_decoder()

    def peek(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        while True:
            ahead = self._text[self._at : self._at + 64]
            self._at += len(ahead) - len(ahead.lstrip(" \t\r\n"))
            if self._at < len(self._text) and self._text[self._at] not in " \t\r\n":
                return self._text[self._at]
            if self._at >= len(self._text) and not self._read_more():
                return ""

    def read_value(self, depth: int = 0) -> Any:
        """Read the value that begins here, at nesting ``depth``."""
        begins = self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # At least as much again is read as was tried in vain, so that a large value is not parsed once per
                # chunk.
                if self._is_wrong(error) or not self._read_more(len(self._text) - self._at):
                    self._raise_error(error.msg, error.pos)
            except RecursionError:
                self.too_deep()
            else:
                # A number may continue in the next chunk.
                if begins in CLOSED or end + LONGEST_WORD < len(self._text) or not self._read_more():
                    break
        text, start, self._at = self._text, self._at, end
        self._values += count_values(value, self._limits, depth, text, start, end)
        self.count_values(0)
        return value

    def elements(self) -> Iterator[None]:
        """Stop at each element of the list that begins here. The caller reads it."""
        self._at += 1
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield
            if self._next_separator("]") == "]":
                return

    def entries(self) -> Iterator[str]:
        """Yield each key of the mapping that begins here, and stop at its value. The caller reads it."""
        self._at += 1
        seen_keys = set[str]()
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._raise_error("Expecting property name enclosed in double quotes", self._at)
            key = self.read_value()
            if key in seen_keys:
                raise UntrustedTextError(f"The key {key[:80]!r} stands twice in one mapping.")
            seen_keys.add(key)
            if self.peek() != ":":
                self._raise_error("Expecting ':' delimiter", self._at)
            self._at += 1
            yield key
            if self._next_separator("}") == "}":
                return

    def skip_log(self) -> None:
        """Skip the log of a container, which begins here between two documents of `kubectl cluster-info dump`."""
        end = log_end(self._line_here())
        if end is None:
            self._raise_error("Expecting value", self._at)
        while (position := self._text.find(end, self._at)) < 0:
            # All but what may be the beginning of the end mark is dropped while searching.
            self._at = max(self._at, len(self._text) - len(end) + 1)
            if not self._read_more():
                self._raise_error(f"this log does not end: {end}", len(self._text))
        self._at = position + len(end)

    def _line_here(self) -> str:
        while True:
            end = self._text.find("\n", self._at)
            if end >= 0 or len(self._text) - self._at >= LONGEST_LINE or not self._read_more():
                return self._text[self._at : end if end >= 0 else self._at + LONGEST_LINE]

    def count_values(self, values: int) -> None:
        """Count values that were read in another way."""
        self._values += values
        if self._values > self._limits.nodes:
            raise UntrustedTextError(f"The text holds more than {self._limits.nodes:,} values.", status=413)

    def too_deep(self) -> NoReturn:
        raise UntrustedTextError(f"The text is nested deeper than {self._limits.depth} levels.")

    def _next_separator(self, end: str) -> str:
        separator = self.peek()
        if separator not in (",", end):
            self._raise_error("Expecting ',' delimiter", self._at)
        self._at += 1
        return separator

    def _is_wrong(self, error: json.JSONDecodeError) -> bool:
        """Return whether more text cannot correct the error. A text that is cut off is wrong only at its end."""
        return not error.msg.startswith("Unterminated string") and len(self._text[error.pos :].strip()) > LONGEST_WORD

    def _read_more(self, minimum: int = 1) -> bool:
        """Read at least ``minimum`` more characters if possible. Returns False at the end of the text."""
        if len(self._text) - self._at > LARGEST:
            raise UntrustedTextError(
                f"A value is larger than {size_text(LARGEST)} "
                f"(it begins in line {self._line_and_column(self._at)[0]}).",
                status=413,
            )
        pieces = []
        while minimum > 0 and (piece := next(self._pieces, "")):
            pieces.append(piece)
            minimum -= len(piece)
        if not pieces:
            return False
        self._line, self._column = self._line_and_column(self._at)
        self._column -= 1
        self._text, self._at = "".join([self._text[self._at :], *pieces]), 0
        return True

    def _line_and_column(self, position: int) -> tuple[int, int]:
        """Return line and column of ``position``, both from 1."""
        ends = self._text.count("\n", 0, position)
        if ends:
            return self._line + ends, position - self._text.rindex("\n", 0, position)
        return self._line, self._column + position + 1

    def _raise_error(self, message: str, position: int) -> NoReturn:
        remainder = self._text[position:].strip()
        line, column = self._line_and_column(position)
        whole = message if remainder or next(self._pieces, "") else "it ends in the middle"
        raise UntrustedTextError(f"This is not JSON: {whole} (line {line}, column {column}).")
