"""Lexer: splits an expression into names, numbers, strings and signs."""

from __future__ import annotations

import re
from typing import Any

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.values import INT_MAX, UINT_MAX, Uint
from kschedweb.engine.values import dataclass

_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34, "`": 96, "?": 63}
_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
# Order matters: the triple quotes come first, as a pair of quotes alone is an empty string.
_STRING = "|".join(
    [
        r'[rR]""".*?"""',
        r"[rR]'''.*?'''",
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    ]
)
# Order matters here too: bytes and strings before names, floats and unsigned numbers before ints.
_WORDS = re.compile(
    rf"""(?P<space>(?:[\t \r\n\f]|//[^\n]*)+)
    |(?P<bytes>[bB](?:{_STRING}))
    |(?P<string>{_STRING})
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])""".replace("\n    |", "|"),
    re.DOTALL,
)
_ESCAPED = re.compile(_ESCAPE)
_HEX = {"x": 2, "X": 2, "u": 4, "U": 8}
KEYWORDS = {"in": "sign", "true": "literal", "false": "literal", "null": "literal"}
_KEYWORD_VALUES = {"true": True, "false": False, "null": None}
# More digits than any number of 64 bits has; Python's `int` would take quadratic time on long ones.
_MAX_DIGITS = 40


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an expression."""

    # name, sign, literal, int, float or end. A number comes without its sign.
    kind: str
    # The token as it is written.
    text: str
    # The value of a literal or number.
    value: Any = None


def tokenize(expression: str) -> list[Token]:
    """Return the tokens of ``expression`` and one for its end; raise ExpressionError."""
    tokens, at = [], 0
    while at < len(expression):
        match = _WORDS.match(expression, at)
        if match is None:
            raise ExpressionError(f"the character {expression[at]!r} at {at + 1} belongs to no word of CEL")
        at = match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_make_token(kind, match[0]))
    return [*tokens, Token("end", "the end")]


def _make_token(kind: str, text: str) -> Token:
    if kind == "name" and text in KEYWORDS:
        return Token(KEYWORDS[text], text, _KEYWORD_VALUES.get(text))
    if kind == "int":
        return Token("int", text, _parse_whole(text))
    if kind == "uint":
        return Token("literal", text, Uint(_parse_whole(text[:-1])))
    if kind == "float":
        return Token("float", text, float(text))
    if kind in ("string", "bytes"):
        return Token("literal", text, _unquote(text[kind == "bytes" :], kind == "bytes"))
    return Token(kind, text)


def _parse_whole(text: str) -> int:
    digits = text[2:] if text.startswith("0x") else text
    number = int(digits, 16 if text.startswith("0x") else 10) if len(digits) <= _MAX_DIGITS else UINT_MAX + 1
    if number > UINT_MAX:
        raise ExpressionError(f"{text[:_MAX_DIGITS]} is not a whole number of 64 bits")
    return number


def apply_sign(text: str, number: int, *, negative: bool) -> int:
    """Return a whole number with its sign; raise ExpressionError where it does not fit 64 bits."""
    if number > INT_MAX + negative:
        raise ExpressionError(f"{text} is not a whole number of 64 bits")
    return -number if negative else number


def _unquote(text: str, is_bytes: bool) -> str | bytes:
    """Return the value of a string or bytes literal."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    body = text[raw:]
    marks = 3 if len(body) >= 6 and body[:3] in ('"""', "'''") else 1
    body = body[marks:-marks]
    if raw:
        return body.encode() if is_bytes else body
    if is_bytes:
        return _ESCAPED.sub(lambda match: _decode_byte(match[0]), body).encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda match: _decode_character(match[0]), body)


def _code_point(escape: str) -> int:
    sign = escape[1]
    if sign in _HEX:
        return int(escape[2:], 16)
    return _ESCAPES[sign] if sign in _ESCAPES else int(escape[1:], 8)


def _decode_character(escape: str) -> str:
    code = _code_point(escape)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ExpressionError(f"{escape} is no character")
    return chr(code)


def _decode_byte(escape: str) -> str:
    """Return one byte as a character; bytes above 0x7f become surrogates until all are encoded together."""
    if escape[1] in "uU":
        raise ExpressionError(f"{escape} is not allowed in bytes")
    code = _code_point(escape)
    return chr(code) if code < 0x80 else chr(0xDC00 + code)
