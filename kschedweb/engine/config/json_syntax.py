"""The position at which JSON text stops being JSON, in the words of Go's scanner.

It runs only after Python's reader has refused the text, so speed does not matter.
"""

from __future__ import annotations

import re

from kschedweb.engine.validation.golang import quote

_SPACE = " \t\r\n"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class _Stop(Exception):
    """The text is wrong at this position."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def skip_space(self) -> str:
        while self.peek() and self.peek() in _SPACE:
            self.at += 1
        return self.peek()

    def make_stop(self, context: str, *, inside: bool = False) -> _Stop:
        """Return the complaint about the next character. ``inside`` a token, the end of text counts as a space."""
        character = self.peek() or (" " if inside else "")
        if not character:
            return _Stop("unexpected end of JSON input")
        # Go's scanner works on bytes: of a character beyond ASCII it names only the first byte.
        byte = chr(character.encode("utf-8", "surrogatepass")[0])
        return _Stop(f"invalid character {_quote_character(byte)} {context}")

    def scan_value(self) -> None:
        character = self.skip_space()
        if character == "{":
            self.scan_object()
        elif character == "[":
            self.scan_array()
        elif character == '"':
            self.scan_string()
        elif character and character in "-0123456789":
            self.number()
        elif character and character in "tfn":
            self.scan_literal({"t": "true", "f": "false", "n": "null"}[character])
        else:
            raise self.make_stop("looking for beginning of value")

    def scan_object(self) -> None:
        self.at += 1
        if self.skip_space() == "}":
            self.at += 1
            return
        while True:
            if self.skip_space() != '"':
                raise self.make_stop("looking for beginning of object key string")
            self.scan_string()
            if self.skip_space() != ":":
                raise self.make_stop("after object key")
            self.at += 1
            self.scan_value()
            if self.skip_space() == "}":
                self.at += 1
                return
            if self.peek() != ",":
                raise self.make_stop("after object key:value pair")
            self.at += 1

    def scan_array(self) -> None:
        self.at += 1
        if self.skip_space() == "]":
            self.at += 1
            return
        while True:
            self.scan_value()
            if self.skip_space() == "]":
                self.at += 1
                return
            if self.peek() != ",":
                raise self.make_stop("after array element")
            self.at += 1

    def scan_string(self) -> None:
        self.at += 1
        while self.peek() != '"':
            character = self.peek()
            if not character or character < " ":
                raise self.make_stop("in string literal")
            self.at += 1
            if character == "\\":
                self.scan_escape()
        self.at += 1

    def scan_escape(self) -> None:
        character = self.peek()
        if not character or character not in 'bfnrt\\/"u':
            raise self.make_stop("in string escape code", inside=True)
        self.at += 1
        if character == "u":
            for _ in range(4):
                if not self.peek() or self.peek() not in "0123456789abcdefABCDEF":
                    raise self.make_stop(r"in \u hexadecimal character escape", inside=True)
                self.at += 1

    def scan_literal(self, word: str) -> None:
        for index, letter in enumerate(word):
            if self.peek() != letter:
                raise self.make_stop(f"in literal {word} (expecting {_quote_character(word[index])})", inside=True)
            self.at += 1

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            self.at += 1
            raise self.make_stop("in numeric literal", inside=True)
        self.at = match.end()
        lookahead = self.text[self.at : self.at + 2]
        if lookahead[:1] == "." and "." not in match[0] and "e" not in match[0].lower():
            self.at += 1
            raise self.make_stop("after decimal point in numeric literal", inside=True)
        if lookahead[:1] in ("e", "E") and "e" not in match[0].lower():
            self.at += 2 if lookahead[1:] in ("+", "-") else 1
            raise self.make_stop("in exponent of numeric literal", inside=True)


def _quote_character(character: str) -> str:
    if character in "'\"":
        return {"'": r"'\''", '"': "'\"'"}[character]
    return f"'{quote(character)[1:-1]}'"


def syntax_error(text: str) -> str:
    """Return Go's complaint about ``text``; "" if there is none."""
    scanner = _Scanner(text)
    try:
        scanner.scan_value()
        if scanner.skip_space():
            raise scanner.make_stop("after top-level value")
    except _Stop as stop:
        return str(stop)
    return ""
