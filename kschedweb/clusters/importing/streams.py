"""Decodes text in chunks and reads JSON value by value, so that at most one value is in memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn

from kschedweb.clusters.importing.documents import MAGIC, DocumentError, Limits, json_decoder, measured, size_text
from kschedweb.engine.objects.lists import log_end

BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")
LARGEST = 8 * 1024 * 1024  # characters of one value; no Kubernetes object is as large
LONGEST_LINE = 1024  # characters of a line that begins a log
LONGEST_WORD = 16  # characters at the end of a chunk in which a word, a number or an escape may be cut off
CLOSED = '"{['  # first characters of values with a visible end


def decoded(pieces: Iterable[bytes], limits: Limits) -> Iterator[str]:
    """The text in ``pieces``, UTF-8 or UTF-16 with a BOM, without the BOM.

    Raises DocumentError for data that is not text, or exceeds ``limits``.
    """
    pieces = iter(pieces)
    head = b""
    while len(head) < max(map(len, MAGIC)) and (piece := next(pieces, b"")):
        head += piece
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            raise DocumentError(f"This is a {name} file: unpack it and send the JSON or YAML inside.")
    encoding = "utf-16" if head[:2] in BYTE_ORDERS else "utf-8"
    decoder, seen = codecs.getincrementaldecoder(encoding)(), 0
    begun = False
    for piece in chain([head], pieces, [b""]):
        before = seen - len(decoder.getstate()[0])
        seen += len(piece)
        if seen > limits.size:
            raise DocumentError(
                f"The text is larger than {size_text(limits.size)}, which is the most that is taken.", status=413
            )
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            at = before + error.start + 1
            raise DocumentError(f"This is not text: byte {at} is not {encoding.upper()}.") from None
        if "\x00" in text:
            raise DocumentError("This is not text: it holds NUL bytes.")
        if text := text if begun else text.removeprefix("\ufeff"):
            yield text
        begun = begun or bool(text)


class JsonCursor:
    """A cursor in JSON text, which drops the text before it.

    Raises DocumentError, with line and column, if the text is not JSON or exceeds ``limits``.
    """

    def __init__(self, pieces: Iterator[str], limits: Limits) -> None:
        self._pieces, self._limits = pieces, limits
        self._text, self._at = "", 0
        self._line, self._column = 1, 0  # position of the beginning of ``_text``
        self._values = 0
        self._decoder = json_decoder()

    def peek(self) -> str:
        """The next character that is not white space; "" at the end."""
        while True:
            rest = self._text[self._at : self._at + 64]
            self._at += len(rest) - len(rest.lstrip(" \t\r\n"))
            if self._at < len(self._text) and self._text[self._at] not in " \t\r\n":
                return self._text[self._at]
            if self._at >= len(self._text) and not self._more():
                return ""

    def value(self, depth: int = 0) -> Any:
        """Read the value that begins here, at nesting ``depth``."""
        begins = self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_wrong(error) or not self._more(len(self._text) - self._at):
                    self._fail(error.msg, error.pos)
            except RecursionError:
                self.too_deep()
            else:
                # a number may continue in the next chunk
                if begins in CLOSED or end + LONGEST_WORD < len(self._text) or not self._more():
                    break
        text, start, self._at = self._text, self._at, end
        self._values += measured(found, self._limits, depth, text, start, end)
        self.count(0)
        return found

    def elements(self) -> Iterator[None]:
        """Stop at each element of the list that begins here; the caller reads it."""
        self._at += 1
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield
            if self._next("]") == "]":
                return

    def entries(self) -> Iterator[str]:
        """Yield each key of the mapping that begins here, and stop at its value; the caller reads it."""
        self._at += 1
        seen = set[str]()
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._fail("Expecting property name enclosed in double quotes", self._at)
            key = self.value()
            if key in seen:
                raise DocumentError(f"The key {key[:80]!r} stands twice in one mapping.")
            seen.add(key)
            if self.peek() != ":":
                self._fail("Expecting ':' delimiter", self._at)
            self._at += 1
            yield key
            if self._next("}") == "}":
                return

    def skip_log(self) -> None:
        """Skip the log of a container, which begins here between two documents of `kubectl cluster-info dump`."""
        end = log_end(self._line_here())
        if end is None:
            self._fail("Expecting value", self._at)
        while (found := self._text.find(end, self._at)) < 0:
            self._at = max(self._at, len(self._text) - len(end) + 1)
            if not self._more():
                self._fail(f"this log does not end: {end}", len(self._text))
        self._at = found + len(end)

    def _line_here(self) -> str:
        while True:
            end = self._text.find("\n", self._at)
            if end >= 0 or len(self._text) - self._at >= LONGEST_LINE or not self._more():
                return self._text[self._at : end if end >= 0 else self._at + LONGEST_LINE]

    def count(self, values: int) -> None:
        """Count values that were read in another way."""
        self._values += values
        if self._values > self._limits.nodes:
            raise DocumentError(f"The text holds more than {self._limits.nodes:,} values.", status=413)

    def too_deep(self) -> NoReturn:
        raise DocumentError(f"The text is nested deeper than {self._limits.depth} levels.")

    def _next(self, end: str) -> str:
        found = self.peek()
        if found not in (",", end):
            self._fail("Expecting ',' delimiter", self._at)
        self._at += 1
        return found

    def _is_wrong(self, error: json.JSONDecodeError) -> bool:
        """Whether more text cannot correct the error: a text that is cut off is wrong only at its end."""
        return not error.msg.startswith("Unterminated string") and len(self._text[error.pos :].strip()) > LONGEST_WORD

    def _more(self, wanted: int = 1) -> bool:
        """Read at least ``wanted`` more characters if possible; False at the end of the text."""
        if len(self._text) - self._at > LARGEST:
            raise DocumentError(
                f"A value is larger than {size_text(LARGEST)} (it begins in line {self._place(self._at)[0]}).",
                status=413,
            )
        pieces = []
        while wanted > 0 and (piece := next(self._pieces, "")):
            pieces.append(piece)
            wanted -= len(piece)
        if not pieces:
            return False
        self._line, self._column = self._place(self._at)
        self._column -= 1
        self._text, self._at = "".join([self._text[self._at :], *pieces]), 0
        return True

    def _place(self, position: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        ends = self._text.count("\n", 0, position)
        if ends:
            return self._line + ends, position - self._text.rindex("\n", 0, position)
        return self._line, self._column + position + 1

    def _fail(self, message: str, position: int) -> NoReturn:
        rest = self._text[position:].strip()
        line, column = self._place(position)
        whole = message if rest or next(self._pieces, "") else "it ends in the middle"
        raise DocumentError(f"This is not JSON: {whole} (line {line}, column {column}).")
