"""Export and import of a scenario as one file: its text, the objects of its snapshot, and its files."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

from kschedweb.clusters.importing.documents import TextLimits, UntrustedTextError, documents_read
from kschedweb.clusters.importing.imports import files_read
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.playground.scenarios import uploads
from kschedweb.playground.scenarios.models import FileKind
from kschedweb.playground.scenarios.validation import check_scenario
from kschedweb.web.errors import ApplicationError

API_VERSION, KIND = "kschedweb/v1", "ScenarioExport"
# Limits of the parser: levels of nesting and number of values. Kubernetes objects are far less deep.
DEPTH, VALUES = 80, 20_000_000


def snapshot_file(snapshot: str) -> str:
    """Return the name of an imported scenario's file with the snapshot of this id; "" for no id."""
    return f"snapshot-{snapshot}.json" if snapshot else ""


@dataclass(frozen=True)
class Imported:
    """The content of an imported file."""

    # Text of the scenario.
    text: str
    files: list[uploads.Upload] = field(default_factory=list)
    # Sentences about what was left out.
    remarks: list[str] = field(default_factory=list)

    @property
    def all_remarks(self) -> list[str]:
        """The remarks, and those of an API server's validation on the objects in the text."""
        return [
            *self.remarks,
            *(f"line {problem.line}: {problem.message}" for problem in check_scenario(self.text).warnings),
        ]


def pack_export(text: str, snapshot: Json | None, files: list[tuple[str, str, str]]) -> bytes:
    """Return the export as gzipped JSON.

    ``snapshot`` is ``{"id", "cluster", "takenAt", "objects"}``, ``files`` are (name, kind, text).
    """
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "scenario": text,
        "snapshot": snapshot,
        "files": [{"name": name, "kind": kind, "text": content} for name, kind, content in files],
    }
    # mtime=0 makes exports of one revision equal byte for byte.
    return gzip.compress(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), 6, mtime=0)


def read_export(name: str, content: bytes, *, limit: int) -> Imported:
    """Read an export or a bare scenario (YAML or JSON), possibly gzipped, of at most ``limit`` decompressed bytes.

    Raises ``ApplicationError`` for other content. Objects that cannot be read are left out with a remark.
    """
    plain = uploads.unpack_text(name, content, limit)
    try:
        documents = documents_read(plain, TextLimits(size=limit, depth=DEPTH, nodes=VALUES))
    except UntrustedTextError as error:
        raise ApplicationError(
            f"{name}: {error.detail}", errors=[{"path": "file", "message": error.detail}], status=error.status
        ) from None
    document = documents[0]
    if len(documents) == 1 and isinstance(document, dict) and document.get("kind") == "Scenario":
        # YAML is kept as written, with its comments.
        is_json = plain.lstrip()[:1] == b"{"
        return Imported(as_yaml(document) if is_json else plain.decode("utf-8-sig", errors="replace"))
    if len(documents) != 1 or not isinstance(document, dict) or document.get("kind") != KIND:
        raise uploads.field_error("file", f"{name} is neither an exported scenario nor a document of kind Scenario.")
    # A later format may mean other things by the same keys.
    if document.get("apiVersion") != API_VERSION:
        raise uploads.field_error(
            "file", f"{name} has apiVersion {document.get('apiVersion')}; {API_VERSION} is read here."
        )
    return _read_body(document, limit)


def _read_body(body: Json, limit: int) -> Imported:
    """Return the content of an export; raise ApplicationError with what is wrong with it."""
    text = body.get("scenario")
    if not isinstance(text, str):
        raise uploads.field_error("file", "The export holds no scenario: its key scenario must be text.")
    files, remarks = [], list[str]()
    for index, item in enumerate(_as_list(body.get("files"), "files")):
        if not (isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("text"), str)):
            raise uploads.field_error("file", f"The export's files[{index}] must have a name and a text.")
        files.append(uploads.read_upload(item["name"], item["text"].encode(errors="replace"), limit=limit))
    if body.get("snapshot") is not None:
        files.append(_read_snapshot(body["snapshot"], limit, remarks))
    if len({file.name for file in files}) < len(files):
        raise uploads.field_error("file", "The export has two files of the same name.")
    return Imported(text, files, remarks)


def _read_snapshot(raw: Any, limit: int, remarks: list[str]) -> uploads.Upload:
    """Return the snapshot of an export as a file; add to ``remarks`` what was left out."""
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        raise uploads.field_error("file", "The export's snapshot must have an id and objects.")
    objects = _as_list(raw.get("objects"), "snapshot.objects")
    # Read as an uploaded cluster is, so that nothing gets in by an import that an upload would refuse.
    read = files_read([("snapshot", json.dumps(objects))], limit=2 * limit)
    remarks += [f"{problem['object']}: {problem['reason']}" for problem in read.problems]
    snapshot = {
        "id": raw["id"],
        "cluster": str(raw.get("cluster") or "")[:63],
        "takenAt": raw.get("takenAt") if isinstance(raw.get("takenAt"), (int, float)) else 0.0,
        "objects": read.objects,
    }
    content = json.dumps(snapshot, separators=(",", ":")).encode()
    return uploads.read_upload(snapshot_file(raw["id"]), content, limit=2 * limit, kind=FileKind.SNAPSHOT)


def _as_list(value: Any, path: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise uploads.field_error("file", f"The export's {path} must be a list.")
    return value
