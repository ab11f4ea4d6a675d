"""Reads documents from files: JSON or YAML, possibly compressed with gzip. Errors name the line."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from typing import Any, NoReturn

from kschedweb.engine.objects.access import Json, ObjectError, reference
from kschedweb.engine.objects.lists import drop_logs, expand_lists
from kschedweb.engine.objects.versions import upgrade_object

GZIP = b"\x1f\x8b"
DEEPEST = 100
NOT_SPACE = re.compile(r"[^ \t\r\n]")
MOST_BYTES = 1 << 30  # after unpacking
MOST_VALUES = 50_000_000  # of YAML, keys included


class ReadError(ValueError):
    """A text that cannot be read; the message says where and why."""


def text_of(data: bytes) -> str:
    """Decompress and decode ``data``: UTF-8, or UTF-16 with a BOM, as some shells write it. Raises ReadError."""
    if data.startswith(GZIP):
        data = _unpacked(data)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReadError(f"is not text: byte {error.start + 1} is not {encoding[:6].rstrip('-').upper()}") from None


def documents(data: bytes) -> list[Any]:
    """The documents of a file, JSON or YAML, one after the other, without empty ones. Raises ReadError.

    The logs between those of `kubectl cluster-info dump` are skipped.
    """
    text = drop_logs(text_of(data))
    if not text.strip():
        raise ReadError("is empty")
    try:
        found = _json_documents(text) if text.lstrip()[:1] in "{[" else _yaml(text)
    except RecursionError:
        raise ReadError(f"is nested deeper than {DEEPEST} levels") from None
    if not found:
        raise ReadError("holds no document")
    return found


def document(data: bytes) -> Any:
    """The one document of a file. Raises ReadError."""
    found = documents(data)
    if len(found) > 1:
        raise ReadError(f"holds {len(found)} documents; one is wanted")
    return found[0]


def cluster_objects(documents: Iterable[Any]) -> list[Json]:
    """Return the objects in ``documents``, with lists expanded, as the versions that are read here.

    Raises ReadError for what is no object, or of a former version that cannot be read as a later one. What else a
    simulator's export holds beside its objects is none of the cluster's.
    """
    return [_upgraded(raw) for raw in expand_lists(documents, _refuse, _pass_over)]


def _refuse(subject: str, reason: str) -> None:
    raise ReadError(f"must hold Kubernetes objects: {subject} {reason}")


def _pass_over(key: str, reason: str) -> None:
    """The scheduler's configuration in a simulator's export: the policy is given beside it."""


def _upgraded(raw: Json) -> Json:
    try:
        return upgrade_object(raw)
    except ObjectError as error:
        raise ReadError(f"{reference(raw)}: {error}") from None


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        raise ReadError(f"is no whole gzip file: {error}") from None
    if len(plain) > MOST_BYTES:
        raise ReadError(f"is larger than {MOST_BYTES >> 20:,} MiB unpacked")
    if not unpacker.eof:
        raise ReadError("is no whole gzip file: it ends in the middle")
    return plain


def _json_documents(text: str) -> list[Any]:
    """The documents in ``text``: one, one a line, or lists one behind the other."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    found, end = [], 0
    try:
        while begin := NOT_SPACE.search(text, end):
            document, end = decoder.raw_decode(text, begin.start())
            found.append(document)
    except json.JSONDecodeError as error:
        raise ReadError(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise ReadError(f"is not JSON: {error}") from None
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


def _yaml(text: str) -> list[Any]:
    """YAML documents; what aliases bring counts as if it were written out. Times stay text."""
    from kschedweb.engine.documents import reading, values

    try:
        return values.documents(text, reading.Bounds(DEEPEST, MOST_VALUES), repeated_keys=True)
    except reading.RefusedError as refused:
        if refused.reason is not reading.Reason.SYNTAX:
            raise ReadError(f"line {refused.line}: {refused.message}") from None
        raise ReadError(f"is not YAML: line {refused.line}, column {refused.column}: {refused.message}") from None
