"""Export and import of a scenario as one file: its text, the objects of its snapshot, and its files."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

from kschedweb.clusters.importing.documents import DocumentError, Limits, documents_read
from kschedweb.clusters.importing.imports import files_read
from kschedweb.engine.documents.marked import as_yaml
from kschedweb.playground.scenarios import uploads
from kschedweb.playground.scenarios.models import FileKind
from kschedweb.playground.scenarios.validation import check
from kschedweb.web.errors import ApplicationError

API_VERSION, KIND = "kschedweb/v1", "ScenarioExport"
DEPTH, VALUES = 80, 20_000_000


def snapshot_file(snapshot: str) -> str:
    """The name of an imported scenario's file with the snapshot of this id."""
    return f"snapshot-{snapshot}.json" if snapshot else ""


@dataclass(frozen=True)
class Imported:
    """The content of a file: the scenario's text, its files, and remarks about what was left out."""

    text: str
    files: list[uploads.Upload] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def said(self) -> list[str]:
        """The remarks, and what an API server would refuse of the objects in the text."""
        return [*self.remarks, *(f"line {one.line}: {one.message}" for one in check(self.text).warnings)]


def packed(text: str, snapshot: dict[str, Any] | None, files: list[tuple[str, str, str]]) -> bytes:
    """The export: ``snapshot`` is ``{"id", "cluster", "takenAt", "objects"}``, ``files`` are (name, kind, text)."""
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "scenario": text,
        "snapshot": snapshot,
        "files": [{"name": name, "kind": kind, "text": content} for name, kind, content in files],
    }
    return gzip.compress(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), 6, mtime=0)


def read(name: str, content: bytes, *, limit: int) -> Imported:
    """Read an export or a bare scenario (YAML or JSON), possibly gzipped, of at most ``limit`` decompressed bytes.

    Raises ``ApplicationError`` for other content. Objects that cannot be read are left out with a remark.
    """
    plain = uploads.unpacked(name, content, limit)
    try:
        documents = documents_read(plain, Limits(size=limit, depth=DEPTH, nodes=VALUES))
    except DocumentError as error:
        raise ApplicationError(
            f"{name}: {error.detail}", errors=[{"path": "file", "message": error.detail}], status=error.status
        ) from None
    found = documents[0]
    if len(documents) == 1 and isinstance(found, dict) and found.get("kind") == "Scenario":
        # YAML is kept as written, with its comments.
        is_json = plain.lstrip()[:1] == b"{"
        return Imported(as_yaml(found) if is_json else plain.decode("utf-8-sig", errors="replace"))
    if len(documents) != 1 or not isinstance(found, dict) or found.get("kind") != KIND:
        raise uploads.refused("file", f"{name} is neither an exported scenario nor a document of kind Scenario.")
    if found.get("apiVersion") != API_VERSION:
        raise uploads.refused("file", f"{name} has apiVersion {found.get('apiVersion')}; {API_VERSION} is read here.")
    return _unpacked(found, limit)


def _unpacked(body: dict[str, Any], limit: int) -> Imported:
    text = body.get("scenario")
    if not isinstance(text, str):
        raise uploads.refused("file", "The export holds no scenario: its key scenario must be text.")
    files, remarks = [], list[str]()
    for index, item in enumerate(_list(body.get("files"), "files")):
        if not (isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("text"), str)):
            raise uploads.refused("file", f"The export's files[{index}] must have a name and a text.")
        files.append(uploads.read(item["name"], item["text"].encode(errors="replace"), limit=limit))
    if body.get("snapshot") is not None:
        files.append(_snapshot(body["snapshot"], limit, remarks))
    if len({one.name for one in files}) < len(files):
        raise uploads.refused("file", "The export has two files of the same name.")
    return Imported(text, files, remarks)


def _snapshot(said: Any, limit: int, remarks: list[str]) -> uploads.Upload:
    if not isinstance(said, dict) or not isinstance(said.get("id"), str):
        raise uploads.refused("file", "The export's snapshot must have an id and objects.")
    objects = _list(said.get("objects"), "snapshot.objects")
    read = files_read([("snapshot", json.dumps(objects))], limit=2 * limit)
    remarks += [f"{one['object']}: {one['reason']}" for one in read.problems]
    kept = {
        "id": said["id"],
        "cluster": str(said.get("cluster") or "")[:63],
        "takenAt": said.get("takenAt") if isinstance(said.get("takenAt"), (int, float)) else 0.0,
        "objects": read.objects,
    }
    content = json.dumps(kept, separators=(",", ":")).encode()
    return uploads.read(snapshot_file(said["id"]), content, limit=2 * limit, kind=FileKind.SNAPSHOT)


def _list(value: Any, path: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise uploads.refused("file", f"The export's {path} must be a list.")
    return value
