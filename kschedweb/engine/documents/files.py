"""Documents from files: JSON or YAML, possibly compressed with gzip. Errors name the line."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from typing import Any, NoReturn

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.api_conversion import upgrade_object
from kschedweb.engine.objects.json_access import ObjectError, describe_object
from kschedweb.engine.objects.lists import drop_logs, expand_lists

# The magic number at the start of a gzip file.
GZIP = b"\x1f\x8b"
DEEPEST = 100
NOT_SPACE = re.compile(r"[^ \t\r\n]")
# Bytes after decompression.
MOST_BYTES = 1 << 30
# Values of YAML, keys included.
MOST_VALUES = 50_000_000


class ReadError(ValueError):
    """A text that cannot be read; the message says where and why."""


def text_of(data: bytes) -> str:
    """Decompress and decode ``data``: UTF-8, or UTF-16 with a BOM, which some shells write. Raises ReadError."""
    if data.startswith(GZIP):
        data = _gunzip_data(data)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReadError(f"is not text: byte {error.start + 1} is not {encoding[:6].rstrip('-').upper()}") from None


def read_documents(data: bytes) -> list[Any]:
    """Return the documents of a file, JSON or YAML, without empty ones. Raises ReadError.

    The logs between the documents of `kubectl cluster-info dump` are skipped.
    """
    text = drop_logs(text_of(data))
    if not text.strip():
        raise ReadError("is empty")
    try:
        documents = _json_documents(text) if text.lstrip()[:1] in "{[" else _yaml_documents(text)
    except RecursionError:
        raise ReadError(f"is nested deeper than {DEEPEST} levels") from None
    if not documents:
        raise ReadError("holds no document")
    return documents


def read_document(data: bytes) -> Any:
    """Return the single document of a file. Raises ReadError."""
    documents = read_documents(data)
    if len(documents) > 1:
        raise ReadError(f"holds {len(documents)} documents; one is wanted")
    return documents[0]


def cluster_objects(documents: Iterable[Any]) -> list[Json]:
    """Return the objects in ``documents``, with lists expanded, in the versions that are read here.

    Raises ReadError for a value that is no object, and for an old version that cannot be converted. Other parts of a
    simulator's export are ignored.
    """
    return [_upgrade_raw(raw) for raw in expand_lists(documents, _raise_read_error, _pass_over)]


def _raise_read_error(subject: str, reason: str) -> None:
    raise ReadError(f"must hold Kubernetes objects: {subject} {reason}")


def _pass_over(key: str, reason: str) -> None:
    """Ignore the scheduler's configuration in a simulator's export: the policy is given beside it."""


def _upgrade_raw(raw: Json) -> Json:
    try:
        return upgrade_object(raw)
    except ObjectError as error:
        raise ReadError(f"{describe_object(raw)}: {error}") from None


def _gunzip_data(data: bytes) -> bytes:
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
    """Return the documents in ``text``: a single one, one on each line, or lists one after the other."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    documents, end = [], 0
    try:
        while begin := NOT_SPACE.search(text, end):
            document, end = decoder.raw_decode(text, begin.start())
            documents.append(document)
    except json.JSONDecodeError as error:
        raise ReadError(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise ReadError(f"is not JSON: {error}") from None
    return documents


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


def _yaml_documents(text: str) -> list[Any]:
    """Return YAML documents. Values that aliases repeat count as if they were written out. Times stay text."""
    from kschedweb.engine.documents import values, yaml_events

    try:
        return values.read_documents(text, yaml_events.Bounds(DEEPEST, MOST_VALUES), repeated_keys=True)
    except yaml_events.RefusedError as refused:
        if refused.reason is not yaml_events.Reason.SYNTAX:
            raise ReadError(f"line {refused.line}: {refused.message}") from None
        raise ReadError(f"is not YAML: line {refused.line}, column {refused.column}: {refused.message}") from None
