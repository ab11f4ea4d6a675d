"""Reads scenarios from files, with what an export of the site has beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.documents.files import ReadError, document
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.document.document import KIND, VERSION, Document, DocumentError
from kschedweb.engine.studies.document.document import read as scenario
from kschedweb.engine.values import dataclass

EXPORT = "ScenarioExport"
EMPTY = {"apiVersion": VERSION, "kind": KIND, "name": "gate"}


@dataclass(frozen=True, slots=True)
class Brought:
    """A scenario with the content of its file: the objects of its base, when these were read, and its files."""

    document: Document
    objects: list[Json] = field(default_factory=list)
    now: float | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


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


def problem(path: str, error: ReadError) -> DocumentError:
    """``error`` as a DocumentError at ``path``."""
    return DocumentError([DocumentProblem(path, str(error))])
