"""Reads untrusted JSON and YAML exactly, within limits, for which what aliases of YAML bring counts too.

Both result in JSON values (mappings with text keys, lists, text, 64-bit integers, finite numbers, booleans, null), so
that the format does not matter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from sys import intern
from typing import Any, NoReturn

from kschedweb.engine.documents.reading import Bounds, Reason, RefusedError
from kschedweb.engine.documents.values import documents
from kschedweb.web.errors import ApplicationError

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7z",
    b"%PDF": "PDF",
    b"\x7fELF": "ELF",
}
# an escape that some databases refuse: a lone surrogate, or NUL
SUSPICIOUS = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


class DocumentError(ApplicationError):
    """A refused text; the message says where and why."""


@dataclass(frozen=True)
class Limits:
    """Limits of a text: bytes (fewer for YAML, which is slower to read), levels of nesting, and values."""

    size: int
    depth: int
    nodes: int
    yaml_size: int = 16 * 1024 * 1024


def documents_read(data: str | bytes, limits: Limits) -> list[Any]:
    """The documents in ``data``: JSON (one or several, concatenated) or YAML (separated by ``---``)."""
    if len(data) > limits.size:
        raise DocumentError(
            f"The text is larger than {size_text(limits.size)}, which is the most that is taken.", status=413
        )
    text = text_decode(data) if isinstance(data, bytes) else data
    if "\x00" in text:
        raise DocumentError("This is not text: it holds NUL bytes.")
    text = text.removeprefix("\ufeff")
    start = text.lstrip()[:1]
    if not start:
        raise DocumentError("The text is empty.")
    if start not in "{[" and len(text) > limits.yaml_size:
        raise DocumentError(
            f"This is more than {size_text(limits.yaml_size)} of YAML: send it as JSON (kubectl get … -o json).",
            status=413,
        )
    found = _json(text, limits) if start in "{[" else _yaml(text, limits)
    if not found:
        raise DocumentError("The text holds no document.")
    return found


def text_decode(data: bytes) -> str:
    """``data`` as text: UTF-8, or UTF-16 with a BOM, as some shells write it."""
    for magic, name in MAGIC.items():
        if data.startswith(magic):
            raise DocumentError(f"This is a {name} file: unpack it and send the JSON or YAML inside.")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(f"This is not text: byte {error.start + 1} is not {encoding.upper()}.") from None


def size_text(size: int) -> str:
    return f"{size // 1024 // 1024} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


def _whole(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**63:
        raise DocumentError(f"The number {text[:24]}… is too large: numbers have 64 bits.")
    return number


def _fraction(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DocumentError(f"The number {text[:24]} is too large.")
    return number


# JSON ---------------------------------------------------------------------------------------------------------------


def json_decoder() -> json.JSONDecoder:
    """A strict JSON decoder: no repeated keys, no numbers beyond 64 bits."""
    return json.JSONDecoder(
        object_pairs_hook=_mapping, parse_constant=_no_constant, parse_int=_whole, parse_float=_fraction
    )


def measured(value: Any, limits: Limits, depth: int, text: str, start: int, end: int) -> int:
    """The number of values in ``value``, which was read from ``text[start:end]`` at nesting ``depth``.

    Raises DocumentError if it exceeds ``limits``, or has text that cannot be stored.
    """
    strings = SUSPICIOUS.search(text, start, end) is not None
    if not strings and not isinstance(value, (dict, list)):
        return 1
    return _measure([value], replace(limits, depth=limits.depth - depth), strings=strings)


def _json(text: str, limits: Limits) -> list[Any]:
    decoder = json_decoder()
    found, position = [], 0
    try:
        while position < len(text):
            position += len(text[position : position + 64]) - len(text[position : position + 64].lstrip())
            if position < len(text) and not text[position].isspace():
                document, position = decoder.raw_decode(text, position)
                found.append(document)
    except json.JSONDecodeError as error:
        whole = "it ends in the middle" if error.pos >= len(text.rstrip()) else error.msg
        raise DocumentError(f"This is not JSON: {whole} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise DocumentError(f"The text is nested deeper than {limits.depth} levels.") from None
    _measure(found, limits, strings=bool(SUSPICIOUS.search(text)))
    return found


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = {intern(key): value for key, value in pairs}
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DocumentError(f"The key {twice[:80]!r} stands twice in one mapping.")
    return mapping


def _no_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name} is not a JSON value.")


def _measure(found: list[Any], limits: Limits, *, strings: bool) -> int:
    """The number of values.

    Raises DocumentError for too deep nesting, too many values, or (with ``strings``) text that cannot be stored.
    """
    level: list[Any] = found
    count = 0
    for _ in range(limits.depth + 1):
        count += len(level)
        if count > limits.nodes:
            raise DocumentError(f"The text holds more than {limits.nodes:,} values.", status=413)
        if strings:
            for value in level:
                _text_check(value)
        level = [inner for value in level if isinstance(value, (dict, list)) for inner in _inside(value)]
        if not level:
            return count
    raise DocumentError(f"The text is nested deeper than {limits.depth} levels.")


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _text_check(value: Any) -> None:
    """Refuse text, or a mapping with a key, that some databases refuse."""
    if isinstance(value, dict):
        value = "".join(value)
    if isinstance(value, str) and ("\x00" in value or any("\ud800" <= character <= "\udfff" for character in value)):
        raise DocumentError("The text holds characters that cannot be stored (NUL, or half of a surrogate pair).")


# YAML ---------------------------------------------------------------------------------------------------------------


def _yaml(text: str, limits: Limits) -> list[Any]:
    try:
        return documents(text, Bounds(limits.depth, limits.nodes))
    except RefusedError as refused:
        if refused.reason is Reason.VALUES:
            raise DocumentError(f"The text holds more than {limits.nodes:,} values.", status=413) from None
        place = f"line {refused.line}, column {refused.column}"
        if refused.reason is Reason.SYNTAX:
            raise DocumentError(f"This is not YAML: {refused.message} ({place}).") from None
        raise DocumentError(f"{place.capitalize()}: {refused.message}.") from None
