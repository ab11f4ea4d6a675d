"""Reads documents from files: JSON or YAML, possibly compressed with gzip. Errors name the line."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NoReturn

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.lists import drop_logs
from kschedweb.engine.studies.document.document import KIND, VERSION, Document, DocumentError
from kschedweb.engine.studies.document.document import read as scenario
from kschedweb.engine.studies.document.limits import MOST_BYTES, MOST_VALUES
from kschedweb.engine.values import dataclass

EXPORT = "ScenarioExport"
GZIP = b"\x1f\x8b"
DEEPEST = 100
NOT_SPACE = re.compile(r"[^ \t\r\n]")
EMPTY = {"apiVersion": VERSION, "kind": KIND, "name": "gate"}


class ReadError(ValueError):
    """A text that cannot be read; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Brought:
    """A scenario with the content of its file: the objects of its base, when these were read, and its files."""

    document: Document
    objects: list[Json] = field(default_factory=list)
    now: float | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


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


def brought(data: bytes) -> Brought:
    """Read a scenario's file: a document of kind Scenario, or the site's export with everything it needs.

    Raises ReadError, and DocumentError for problems in the scenario.
    """
    raw = document(data)
    if not isinstance(raw, dict) or raw.get("kind") != EXPORT:
        return Brought(scenario(raw))
    text, snapshot = raw.get("scenario"), raw.get("snapshot")
    if not isinstance(text, str):
        raise ReadError("scenario: must be text")
    if snapshot is not None and (not isinstance(snapshot, dict) or not isinstance(snapshot.get("objects"), list)):
        raise ReadError("snapshot.objects: must be a list")
    files = raw.get("files") or []
    if not isinstance(files, list) or not all(_is_file(one) for one in files):
        raise ReadError("files: must be a list of objects with name and text")
    contents = {one["name"]: one["text"].encode() for one in files}
    taken = (snapshot or {}).get("takenAt")
    now = float(taken) if isinstance(taken, int | float) else None
    return Brought(scenario(document(text.encode())), (snapshot or {}).get("objects") or [], now, contents)


def _is_file(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("name"), str) and isinstance(raw.get("text"), str)


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


def problem(path: str, error: ReadError) -> DocumentError:
    """``error`` as a DocumentError at ``path``."""
    return DocumentError([DocumentProblem(path, str(error))])
