"""Reads untrusted JSON and YAML exactly, within limits. Values that YAML's aliases bring count as well.

Both formats give JSON values (mappings with text keys, lists, text, 64-bit integers, finite numbers, booleans, null),
so that the format does not matter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from sys import intern
from typing import Any, NoReturn

from kschedweb.engine.documents.values import read_documents
from kschedweb.engine.documents.yaml_events import Bounds, Reason, RefusedError
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError

# First bytes of files that people send by mistake, so that the message can name the format.
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
# Escapes that some databases refuse: a lone surrogate, or NUL. Only texts with one are searched value by value.
SUSPICIOUS = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


class UntrustedTextError(ApplicationError):
    """A refused text. The message says where and why."""


@dataclass(frozen=True)
class TextLimits:
    """Limits of a text."""

    # Bytes.
    size: int
    # Levels of nesting.
    depth: int
    # Values, keys not counted.
    nodes: int
    # Bytes of YAML, which is slower to read and needs more memory than JSON.
    yaml_size: int = 16 * 1024 * 1024


# A manifest comes from anybody who may view; a pod is far smaller than this.
MANIFEST = TextLimits(size=32 * 1024, depth=40, nodes=4_000, yaml_size=32 * 1024)


def manifest_read(text: str) -> Any:
    """Return the one document in the text of a manifest. Raises ApplicationError at "manifest"."""
    try:
        documents = documents_read(text, MANIFEST)
    except UntrustedTextError as error:
        raise ApplicationError.at("manifest", error.detail) from None
    if len(documents) != 1:
        raise ApplicationError.at("manifest", f"Write one object; here are {len(documents)}.")
    return documents[0]


def documents_read(data: str | bytes, limits: TextLimits) -> list[Any]:
    """Return the documents in ``data``: JSON (one or several, concatenated) or YAML (separated by ``---``)."""
    if len(data) > limits.size:
        raise UntrustedTextError(
            f"The text is larger than {size_text(limits.size)}, which is the most that is taken.", status=413
        )
    text = text_decode(data) if isinstance(data, bytes) else data
    if "\x00" in text:
        raise UntrustedTextError("This is not text: it holds NUL bytes.")
    text = text.removeprefix("\ufeff")
    start = text.lstrip()[:1]
    if not start:
        raise UntrustedTextError("The text is empty.")
    if start not in "{[" and len(text) > limits.yaml_size:
        raise UntrustedTextError(
            f"This is more than {size_text(limits.yaml_size)} of YAML: send it as JSON (kubectl get … -o json).",
            status=413,
        )
    parsed = _read_json(text, limits) if start in "{[" else _read_yaml(text, limits)
    if not parsed:
        raise UntrustedTextError("The text holds no document.")
    return parsed


def text_decode(data: bytes) -> str:
    """Return ``data`` as text: UTF-8, or UTF-16 with a BOM, as some shells write it."""
    for magic, name in MAGIC.items():
        if data.startswith(magic):
            raise UntrustedTextError(f"This is a {name} file: unpack it and send the JSON or YAML inside.")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UntrustedTextError(f"This is not text: byte {error.start + 1} is not {encoding.upper()}.") from None


def size_text(size: int) -> str:
    return f"{size // 1024 // 1024} MiB" if size >= 1024 * 1024 else f"{size // 1024} KiB"


def _parse_int(text: str) -> int:
    # The length is checked first: converting very long digits takes quadratic time.
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**63:
        raise UntrustedTextError(f"The number {text[:24]}… is too large: numbers have 64 bits.")
    return number


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UntrustedTextError(f"The number {text[:24]} is too large.")
    return number


# JSON ---------------------------------------------------------------------------------------------------------------


def json_decoder() -> json.JSONDecoder:
    """Return a strict JSON decoder: no repeated keys, no numbers beyond 64 bits."""
    return json.JSONDecoder(
        object_pairs_hook=_build_mapping, parse_constant=_no_constant, parse_int=_parse_int, parse_float=_parse_float
    )


def count_values(value: Any, limits: TextLimits, depth: int, text: str, start: int, end: int) -> int:
    """Return the number of values in ``value``, which was read from ``text[start:end]`` at nesting ``depth``.

    Raises UntrustedTextError if it exceeds ``limits``, or has text that cannot be stored.
    """
    strings = SUSPICIOUS.search(text, start, end) is not None
    if not strings and not isinstance(value, (dict, list)):
        return 1
    return _count_values([value], replace(limits, depth=limits.depth - depth), strings=strings)


def _read_json(text: str, limits: TextLimits) -> list[Any]:
    decoder = json_decoder()
    parsed, position = [], 0
    try:
        while position < len(text):
            # In steps, because lstrip of the whole rest would copy it for every document.
            position += len(text[position : position + 64]) - len(text[position : position + 64].lstrip())
            if position < len(text) and not text[position].isspace():
                document, position = decoder.raw_decode(text, position)
                parsed.append(document)
    except json.JSONDecodeError as error:
        whole = "it ends in the middle" if error.pos >= len(text.rstrip()) else error.msg
        raise UntrustedTextError(f"This is not JSON: {whole} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise UntrustedTextError(f"The text is nested deeper than {limits.depth} levels.") from None
    _count_values(parsed, limits, strings=bool(SUSPICIOUS.search(text)))
    return parsed


def _build_mapping(pairs: list[tuple[str, Any]]) -> Json:
    # Kubernetes' lists repeat the same keys thousands of times; interned, each is in memory once.
    mapping = {intern(key): value for key, value in pairs}
    if len(mapping) != len(pairs):
        seen_keys: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen_keys or seen_keys.add(key))  # type: ignore[func-returns-value]
        raise UntrustedTextError(f"The key {twice[:80]!r} stands twice in one mapping.")
    return mapping


def _no_constant(name: str) -> NoReturn:
    raise UntrustedTextError(f"{name} is not a JSON value.")


def _count_values(values: list[Any], limits: TextLimits, *, strings: bool) -> int:
    """Return the number of values.

    Raises UntrustedTextError for too deep nesting, too many values, or (with ``strings``) text that cannot be stored.
    """
    # Level by level instead of recursively, so that deep nesting cannot exhaust Python's stack.
    level: list[Any] = values
    count = 0
    for _ in range(limits.depth + 1):
        count += len(level)
        if count > limits.nodes:
            raise UntrustedTextError(f"The text holds more than {limits.nodes:,} values.", status=413)
        if strings:
            for value in level:
                _text_check(value)
        level = [inner for value in level if isinstance(value, (dict, list)) for inner in _inner_values(value)]
        if not level:
            return count
    raise UntrustedTextError(f"The text is nested deeper than {limits.depth} levels.")


def _inner_values(value: Json | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _text_check(value: Any) -> None:
    """Refuse text, or a mapping with a key, that some databases refuse."""
    if isinstance(value, dict):
        value = "".join(value)
    if isinstance(value, str) and ("\x00" in value or any("\ud800" <= character <= "\udfff" for character in value)):
        raise UntrustedTextError("The text holds characters that cannot be stored (NUL, or half of a surrogate pair).")


# YAML ---------------------------------------------------------------------------------------------------------------


def _read_yaml(text: str, limits: TextLimits) -> list[Any]:
    try:
        return read_documents(text, Bounds(limits.depth, limits.nodes))
    except RefusedError as refused:
        if refused.reason is Reason.VALUES:
            raise UntrustedTextError(f"The text holds more than {limits.nodes:,} values.", status=413) from None
        place = f"line {refused.line}, column {refused.column}"
        if refused.reason is Reason.SYNTAX:
            raise UntrustedTextError(f"This is not YAML: {refused.message} ({place}).") from None
        raise UntrustedTextError(f"{place.capitalize()}: {refused.message}.") from None
